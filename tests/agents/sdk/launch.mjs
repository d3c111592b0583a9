// Has the published SDK start our executable through its local provider, then stops it again.
import { SandboxAgent } from "sandbox-agent";
import { local } from "sandbox-agent/local";

const client = await SandboxAgent.start({ sandbox: local({ log: "silent" }) });
const agents = (await client.listAgents()).agents.map((agent) => agent.id);
const inspector = client.inspectorUrl;
await client.destroySandbox();
console.log(JSON.stringify({ agents, inspector }));
