// Drives sessions of an agent with the published SDK. Arguments: address, token, agent, folder, prompts as JSON.
import { InMemorySessionPersistDriver, SandboxAgent } from "sandbox-agent";

const [baseUrl, token, agent, cwd, given] = process.argv.slice(2);
const prompts = JSON.parse(given);
const found = {};
const persist = InMemorySessionPersistDriver ? new InMemorySessionPersistDriver() : undefined;
const client = await SandboxAgent.connect({ baseUrl, token, persist });
const session = await client.createSession({ agent, sessionInit: { cwd, mcpServers: [] } });
const events = [];
session.onEvent((event) => events.push(event));

const text = () =>
  events
    .filter((event) => event.payload?.params?.update?.sessionUpdate === "agent_message_chunk")
    .map((event) => event.payload.params.update.content.text)
    .join("");
const say = async (words) => {
  const from = text().length;
  const answer = await session.prompt([{ type: "text", text: words }]);
  return { stopReason: answer.stopReason, text: text().slice(from) };
};

found.hello = await say(prompts.hello);
found.order = events.map((event) => event.eventIndex);

session.onPermissionRequest((request) => {
  found.asked = request.availableReplies;
  session.respondPermission(request.id, "once");
});
found.permission = await say(prompts.permission);

found.modes = (await session.getModes())?.availableModes?.map((mode) => mode.id);
await session.setMode("plan");
found.mode = (await session.getModes())?.currentModeId;
const options = await session.getConfigOptions();
const model = options.find((option) => option.category === "model");
if (model) {
  await session.setModel(model.options[model.options.length - 1].value);
  found.model = true;
}

const hanging = session.prompt([{ type: "text", text: prompts.hang }]);
while (!text().includes(prompts.hangs)) await new Promise((done) => setTimeout(done, 20));
found.servers = (await client.listAcpServers()).servers.map((server) => server.agent);
await client.destroySession(session.id);
found.cancelled = (await hanging).stopReason;

const again = await client.resumeSession(session.id);
found.resumed = (await again.prompt([{ type: "text", text: prompts.again }])).stopReason;
found.total = (await client.getEvents({ sessionId: session.id, limit: 1000 })).items.length;
const began = Date.now();
await client.dispose();
found.disposeMs = Date.now() - began;
console.log(JSON.stringify(found));
