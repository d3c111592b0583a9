// An editor on the official ACP SDK: starts an agent on standard input and output, plays scenarios, prints what it saw.
// usage: node acp_editor.mjs COMMAND(JSON) SCENARIOS(JSON)
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { client, ndJsonStream } from "@agentclientprotocol/sdk";

const [command, given] = process.argv.slice(2).map((each) => JSON.parse(each));
const { capabilities, scenarios } = given;
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => agent.on("exit", (code) => resolve(code)));
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));

const seen = { played: [] };
const names = {};
let current;
let waiting = [];

const app = client({ name: "footplate-test" })
  .onRequest("session/request_permission", (ctx) => {
    current.asked.push({ method: "session/request_permission", params: ctx.params });
    const option = ctx.params.options.find((each) => each.kind === current.answer);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onRequest("elicitation/create", (ctx) => {
    current.asked.push({ method: "elicitation/create", params: ctx.params });
    return { action: "accept", content: current.form };
  })
  .onNotification("session/update", (ctx) => {
    current.updates.push(ctx.params);
    waiting = waiting.filter((look) => !look(ctx.params.update));
  });

const filled = (value) =>
  JSON.parse(JSON.stringify(value), (_, each) => (typeof each === "string" && each in names ? names[each] : each));

const kind = (wanted) =>
  new Promise((resolve) => waiting.push((update) => update.sessionUpdate === wanted && (resolve(), true)));

await app.connectWith(stream, async (ctx) => {
  current = { updates: [], asked: [] };
  seen.initialize = await ctx.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: capabilities,
    clientInfo: { name: "footplate-test", version: "1" },
  });
  for (const scenario of scenarios) {
    current = { ...scenario, results: [], updates: [], asked: [] };
    const steps = scenario.steps.map((step) => async () => {
      const cancelled = step.cancelOn ? kind(step.cancelOn) : null;
      const asking = ctx.request(step.method, filled(step.params));
      if (cancelled) {
        await cancelled;
        await ctx.notify("session/cancel", { sessionId: names.$session });
      }
      const result = await asking.catch((error) => ({ error: { code: error.code, message: error.message } }));
      if (step.keep && result.sessionId) names[step.keep] = result.sessionId;
      return result;
    });
    if (scenario.together) current.results = await Promise.all(steps.map((step) => step()));
    else for (const step of steps) current.results.push(await step());
    seen.played.push(current);
  }
});
agent.stdin.end();
seen.exit = await ended;
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
