// Files, archives, processes and terminals with the published SDK. Arguments: address, token, folder, a tar file.
import { readFile } from "node:fs/promises";
import { SandboxAgent } from "sandbox-agent";
import WebSocket from "ws";

const [baseUrl, token, folder, tar] = process.argv.slice(2);
const found = {};
const client = await SandboxAgent.connect({ baseUrl, token });
const decode = (bytes) => new TextDecoder().decode(bytes);

found.written = await client.writeFsFile({ path: `${folder}/a/b.txt` }, "hello");
found.read = decode(await client.readFsFile({ path: `${folder}/a/b.txt` }));
found.moved = await client.moveFs({ from: `${folder}/a/b.txt`, to: `${folder}/c.txt` });
await client.mkdirFs({ path: `${folder}/made` });
found.stat = await client.statFs({ path: `${folder}/c.txt` });
found.batch = await client.uploadFsBatch(await readFile(tar), { path: `${folder}/unpacked` });
found.entries = (await client.listFsEntries({ path: folder })).map((entry) => entry.name).sort();
await client.deleteFsEntry({ path: `${folder}/c.txt` });
found.missing = await client.statFs({ path: `${folder}/c.txt` }).catch((error) => error.status);

found.ran = await client.runProcess({ command: "sh", args: ["-c", "echo out; echo err >&2; exit 3"] });
const child = await client.createProcess({ command: "sh", args: ["-c", "read line; echo got $line; sleep 600"] });
const lines = [];
const heard = new Promise((done) => {
  found.follow = client.followProcessLogs(child.id, (entry) => {
    lines.push(Buffer.from(entry.data, "base64").toString());
    if (lines.join("").includes("got hello")) done();
  });
});
const subscription = await found.follow;
delete found.follow;
await client.sendProcessInput(child.id, { data: "hello\n", encoding: "utf8" });
await heard;
subscription.close();
found.logs = lines.join("");
found.killed = (await client.killProcess(child.id, { waitMs: 10000 })).status;
await client.deleteProcess(child.id);

const shell = await client.createProcess({ command: "sh", args: ["-c", "stty -echo; read word; echo said $word"], tty: true });
const terminal = client.connectProcessTerminal(shell.id, { WebSocket });
const screen = [];
const ended = new Promise((done) => terminal.onExit(done));
terminal.onData((data) => screen.push(decode(data)));
await new Promise((done) => terminal.onReady(done));
terminal.resize?.({ cols: 100, rows: 30 });
terminal.sendInput("world\n");
found.exit = (await ended).exitCode;
found.screen = screen.join("");
terminal.close();
await client.deleteProcess(shell.id);
found.left = (await client.listProcesses()).processes.length;
await client.dispose();
console.log(JSON.stringify(found));
