// Drives sessions of a running Footplate with the published SDK, unchanged. Prints one JSON object.
// Arguments: address, token, a folder, an agent, the prompts as JSON.
import { SandboxAgent } from "sandbox-agent";

const [baseUrl, token, folder, agent, given] = process.argv.slice(2);
const prompts = JSON.parse(given);
const found = { answers: [], permissions: [] };

const client = await SandboxAgent.connect({ baseUrl, token });
const session = await client.createSession({ agent, sessionInit: { cwd: folder, mcpServers: [] } });
const events = [];
session.onEvent((event) => events.push(event));
session.onPermissionRequest((request) => {
  found.permissions.push(request);
  session.respondPermission(request.id, "once");
});

for (const text of prompts) {
  try {
    found.answers.push(await session.prompt([{ type: "text", text }]));
  } catch (error) {
    found.answers.push({ error: error.message });
  }
}
await session.setMode("plan");
found.mode = (await session.getModes()).currentModeId;
await session.setMode("default");
const models = (await session.getConfigOptions()).find((option) => option.category === "model");
await session.setModel(models.options[1].value);
found.wantedModel = models.options[1].value;
// The SDK takes updates from one connection and answers from another: an update of before may come to it last, until the next.
for (let left = 100; left > 0 && found.model !== found.wantedModel; left -= 1) {
  found.model = (await session.getConfigOptions()).find((option) => option.category === "model").currentValue;
  if (found.model !== found.wantedModel) await new Promise((done) => setTimeout(done, 50));
}
found.noMode = await session.setMode("nonsense").then(() => "set", (error) => error.name);

const again = await client.resumeSession(session.id);
found.resumed = await again.prompt([{ type: "text", text: prompts[0] }]);

const { HANG, HANG_SIGN } = process.env;
const hanging = session.prompt([{ type: "text", text: HANG }]);
while (!events.some((event) => event.sender === "agent" && JSON.stringify(event.payload).includes(HANG_SIGN))) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}
await client.destroySession(session.id); // the SDK's way to cancel
found.cancelled = await hanging;

const turned = events.findIndex((event) => event.payload.method === "session/set_mode");
found.text = events
  .slice(0, turned)
  .map((event) => event.payload.params?.update)
  .filter((update) => update?.sessionUpdate === "agent_message_chunk")
  .map((update) => update.content.text)
  .join("");

found.order = events.map(({ sender, payload }) => ({
  sender,
  id: payload.id,
  method: payload.method,
  update: payload.params?.update?.sessionUpdate,
}));
const indexes = events.map((event) => event.eventIndex);
found.dense = indexes.every((index, at) => at === 0 || index === indexes[at - 1] + 1);
const before = Date.now();
await client.dispose();
found.disposeMs = Date.now() - before;
process.stdout.write(JSON.stringify(found) + "\n");
process.exit(0);
