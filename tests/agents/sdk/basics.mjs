// Drives a running Footplate with the published SDK: everything but sessions, files and processes.
// Arguments: address, token, a folder. Prints one JSON object.
import { SandboxAgent, SandboxAgentError } from "sandbox-agent";

const [baseUrl, token, folder] = process.argv.slice(2);
const found = {};

const refused = async (call) => {
  try {
    await call();
    return { refused: false };
  } catch (error) {
    return {
      refused: true,
      sdk: error instanceof SandboxAgentError,
      status: error.status,
      type: error.problem?.type,
      detail: error.problem?.detail,
    };
  }
};

const client = await SandboxAgent.connect({ baseUrl, token });
found.health = await client.getHealth();
found.agents = (await client.listAgents()).agents.map((agent) => agent.id);
found.mock = await client.getAgent("mock", { config: true });
found.install = await client.installAgent("mock");
found.unknown = await refused(() => client.getAgent("nobody"));

const mcp = { directory: folder, mcpName: "files" };
found.noMcp = await refused(() => client.getMcpConfig(mcp));
await client.setMcpConfig(mcp, { type: "local", command: "node", args: ["server.js"] });
found.mcp = await client.getMcpConfig(mcp);
await client.deleteMcpConfig(mcp);
found.mcpGone = await refused(() => client.getMcpConfig(mcp));

const skills = { directory: folder, skillName: "writing" };
await client.setSkillsConfig(skills, { sources: [{ type: "local", source: "/skills" }] });
found.skills = await client.getSkillsConfig(skills);
await client.deleteSkillsConfig(skills);

found.desktop = await client.getDesktopStatus();
found.screenshot = await refused(() => client.takeDesktopScreenshot());
found.recordings = await client.listDesktopRecordings();
await client.dispose();

const stranger = await SandboxAgent.connect({ baseUrl, token: "wrong", skipHealthCheck: true });
found.stranger = await refused(() => stranger.listAgents());
await stranger.dispose();
console.log(JSON.stringify(found));
