// `@anthropic-ai/claude-agent-sdk` for TypeScript: `query()` on the fake CLI, every message consumed.
import { query } from "@anthropic-ai/claude-agent-sdk";

const options = { pathToClaudeCodeExecutable: process.argv[2], includePartialMessages: true };
const begun = process.cpuUsage();
let events = 0;
for await (const _ of query({ prompt: "play", options })) events += 1;

const { user, system } = process.cpuUsage(begun);
console.log(JSON.stringify({ cpu_s: (user + system) / 1e6, events, rss_kb: [] }));
