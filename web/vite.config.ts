// How the page is built: one small entry, parts on demand in chunks named lazy-*, every file packed beside itself.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, defineConfig, type Plugin } from "vite";

const OUT = "../src/footplate/interfaces/http/page";
const PACKED = /\.(js|css|html|svg|webmanifest)$/;

/** Builds the service worker into one file without imports: its name and place stay the same for ever. */
function worker(): Plugin {
  return {
    name: "worker",
    async closeBundle() {
      const lib = { entry: "worker/worker.ts", formats: ["iife" as const], name: "worker", fileName: () => "worker.js" };
      await build({ configFile: false, publicDir: false, logLevel: "warn", build: { outDir: OUT, emptyOutDir: false, target: "es2022", lib } });
    },
  };
}

/** Writes file.gz beside each file that gets smaller by it; the server sends that to whoever can unpack it. */
function pack(): Plugin {
  return {
    name: "pack",
    closeBundle: { order: "post", sequential: true, handler: () => {
      for (const entry of readdirSync(OUT, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !PACKED.test(entry.name)) continue;
        const path = join(entry.parentPath, entry.name);
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    } },
  };
}

export default defineConfig({
  base: "/ui/",
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [worker(), pack()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: {
        entryFileNames: "assets/page-[hash].js",
        chunkFileNames: "assets/lazy-[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
});
