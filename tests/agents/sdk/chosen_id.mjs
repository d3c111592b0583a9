// What the published SDK does with an id of the caller's choice. Arguments: address, token, agent, folder, id.
import { SandboxAgent } from "sandbox-agent";

const [baseUrl, token, agent, cwd, id] = process.argv.slice(2);
const client = await SandboxAgent.connect({ baseUrl, token });
const shape = (options) =>
  options.map((option) => ({
    category: option.category,
    value: option.currentValue,
    values: option.options.map((each) => each.value),
  }));
const first = await client.resumeOrCreateSession({ id, agent, cwd });
const options = shape(await first.getConfigOptions());
await first.prompt([{ type: "text", text: "hello" }]);
const second = await client.resumeOrCreateSession({ id, agent, cwd, mode: "plan" });
const found = {
  ids: [first.id, second.id],
  sameAgentSession: first.agentSessionId === second.agentSessionId,
  listed: (await client.listSessions()).items.map((each) => each.id),
  options,
  mode: (await second.getModes()).currentModeId,
  unknown: await client.resumeSession("nobody").then(
    () => "",
    (error) => error.message,
  ),
};
await client.dispose();
console.log(JSON.stringify(found));
