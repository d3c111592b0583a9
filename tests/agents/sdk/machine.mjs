// Drives a running Footplate with the published SDK: files, archives, processes and a terminal.
// Arguments: address, token, a folder, an archive to send. Prints one JSON object.
import { readFileSync } from "node:fs";
import { SandboxAgent } from "sandbox-agent";

const [baseUrl, token, folder, archive] = process.argv.slice(2);
const found = {};
const text = (bytes) => new TextDecoder().decode(bytes);
const client = await SandboxAgent.connect({ baseUrl, token });

await client.mkdirFs({ path: `${folder}/a` });
found.written = await client.writeFsFile({ path: `${folder}/a/big` }, new Uint8Array(5_000_000).fill(7));
found.read = (await client.readFsFile({ path: `${folder}/a/big` })).length;
found.stat = await client.statFs({ path: `${folder}/a/big` });
found.moved = await client.moveFs({ from: `${folder}/a/big`, to: `${folder}/b/big` });
found.entries = (await client.listFsEntries({ path: folder })).map((entry) => entry.name);
found.unpacked = await client.uploadFsBatch(readFileSync(archive), { path: `${folder}/up` });
found.unpackedText = text(await client.readFsFile({ path: `${folder}/up/hello.txt` }));
found.missing = await client.readFsFile({ path: `${folder}/nope` }).catch((error) => error.problem);
found.deleted = await client.deleteFsEntry({ path: `${folder}/b`, recursive: true });

found.config = await client.getProcessConfig();
found.ran = await client.runProcess({ command: "sh", args: ["-c", "echo out; echo err >&2; exit 3"] });
const started = await client.createProcess({ command: "sh", args: ["-c", "echo one; read x; echo got $x"] });
found.followed = "";
const followed = new Promise((done) => {
  client.followProcessLogs(started.id, (entry) => {
    found.followed += atob(entry.data);
    if (found.followed.includes("got it")) done();
  });
});
found.input = await client.sendProcessInput(started.id, { data: btoa("it\n") });
await followed;
found.ended = (await client.stopProcess(started.id, { waitMs: 30000 })).status;
found.tail = (await client.getProcessLogs(started.id, { stream: "stdout", tail: 1 })).entries.length;
await client.deleteProcess(started.id);
const sleeper = await client.createProcess({ command: "sleep", args: ["300"] });
found.killed = (await client.killProcess(sleeper.id, { waitMs: 30000 })).status;
found.listed = (await client.listProcesses()).processes.map((each) => each.id);

const shell = await client.createProcess({ command: "sh", tty: true, interactive: true });
await client.resizeProcessTerminal(shell.id, { cols: 90, rows: 20 });
const terminal = client.connectProcessTerminal(shell.id);
let screen = "";
terminal.onData((data) => { screen += text(data); });
terminal.onReady((ready) => {
  found.ready = ready;
  terminal.sendInput("stty size; exit 7\r");
});
found.exit = await new Promise((done) => terminal.onExit(done));
// The SDK decodes frames beside one another: what came before the end may be there a moment after it.
for (let turn = 0; turn < 200 && !screen.includes("20 90"); turn++) await new Promise((done) => setTimeout(done, 50));
found.size = screen.includes("20 90");
await client.dispose();
console.log(JSON.stringify(found));
process.exit(0);
