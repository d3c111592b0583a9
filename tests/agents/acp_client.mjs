// A client of `/acp` on the official ACP SDK, over HTTP or WebSocket: plays a scenario and prints what it saw as JSON.
// usage: node acp_client.mjs http|ws URL TOKEN CWD SCENARIO
import { client } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";

const [transport, url, token, cwd, scenario] = process.argv.slice(2);
const headers = { authorization: `Bearer ${token}` };
const stream =
  transport === "http" ? createHttpStream(url, { headers }) : createWebSocketStream(url, { headers, WebSocket });

const { prompts, answer, forms } = JSON.parse(scenario);
const seen = { updates: [], asked: [], answers: [], order: [] };

const app = client({ name: "footplate-test" })
  .onRequest("session/request_permission", (ctx) => {
    seen.asked.push({ method: "session/request_permission", params: ctx.params });
    return { outcome: answer ? { outcome: "selected", optionId: answer } : { outcome: "cancelled" } };
  })
  .onRequest("elicitation/create", (ctx) => {
    seen.asked.push({ method: "elicitation/create", params: ctx.params });
    return { action: "accept", content: { question_0: "Blue" } };
  })
  .onNotification("session/update", (ctx) => {
    seen.updates.push(ctx.params);
    seen.order.push(ctx.params.update.sessionUpdate);
  });

await app.connectWith(stream, async (ctx) => {
  seen.initialize = await ctx.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: forms ? { elicitation: { form: {} } } : {},
    clientInfo: { name: "footplate-test", version: "1" },
  });
  const opened = await ctx.request("session/new", { cwd, mcpServers: [] });
  const { sessionId } = opened;
  seen.opened = opened;
  await ctx.request("session/set_mode", { sessionId, modeId: "plan" });
  await ctx.request("session/set_mode", { sessionId, modeId: "default" });
  for (const text of prompts) {
    const prompting = ctx.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    if (text === "hang") {
      while (!seen.updates.some((each) => each.update.content?.text === "hang begin")) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await ctx.notify("session/cancel", { sessionId });
    }
    seen.answers.push(await prompting.catch((error) => ({ error: { code: error.code, message: error.message } })));
    seen.order.push("answer");
  }
  seen.listed = await ctx.request("session/list", {});
  seen.loadedFrom = seen.updates.length;
  await ctx.request("session/load", { sessionId, cwd, mcpServers: [] });
  seen.unknown = await ctx.request("session/load", { sessionId: "nobody", cwd, mcpServers: [] }).catch((error) => error.code);
});
process.stdout.write(JSON.stringify(seen));
process.exit(0);
