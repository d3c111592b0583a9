// Runs before the page is built: vite does not start on an older Node, and does not say why in one sentence.
const version = process.argv[2] ?? process.versions.node;
const [major, minor] = version.split(".").map(Number);
if (!((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22)) {
  console.error(`cannot build the web page: Node ${version} is too old; install Node 20.19 or newer (22.12 or newer in the 22 line)`);
  process.exit(1);
}
