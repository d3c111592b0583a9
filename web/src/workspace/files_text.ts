// What the bytes of a file are: text (and how its lines end), a picture, or neither; and which language its name tells.

const PICTURES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  bmp: "image/bmp",
  ico: "image/x-icon",
  svg: "image/svg+xml",
};
const LANGUAGES: Record<string, string> = { dockerfile: "dockerfile", makefile: "makefile", gnumakefile: "makefile", cfg: "ini", env: "ini", lock: "ini", vue: "xml", svelte: "xml", pyi: "python" };

export interface FileText {
  readonly text: string;
  /** `mixed`: both kinds of end are in it, so that what an editor saves has other ends. */
  readonly ends: "\n" | "\r\n" | "mixed";
}

function ending(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : name;
}

/** The type of a picture, by its name; empty for anything else. */
export const pictureType = (path: string): string => (/\.\w+$/.test(path) ? (PICTURES[ending(path)] ?? "") : "");

/** What the highlighter may know it as. */
export const languageOf = (path: string): string => LANGUAGES[ending(path)] ?? ending(path);

export const isMarkdown = (path: string): boolean => /^(md|markdown)$/.test(ending(path));

/** The text in it, with lines that end in a newline; nothing where it is not text. */
export function readText(bytes: Uint8Array): FileText | null {
  if (bytes.subarray(0, 8192).includes(0)) return null;
  let raw: string;
  try {
    raw = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
  const pairs = raw.split("\r\n").length - 1;
  const all = raw.split("\n").length - 1;
  const loose = raw.split("\r").length - 1 - pairs;
  const ends = pairs === 0 && loose === 0 ? "\n" : pairs === all && loose === 0 ? "\r\n" : "mixed";
  return { text: raw.replace(/\r\n?/g, "\n"), ends };
}

/** The text as it goes back to the disk. */
export function writeText({ text, ends }: FileText): string {
  return ends === "\r\n" ? text.replace(/\n/g, "\r\n") : text;
}

export function parentOf(path: string): string {
  return path.replace(/\/+$/, "").replace(/\/[^/]*$/, "") || "/";
}

/** A name that stays below its folder. */
export function isName(name: string): boolean {
  const parts = name.split("/");
  return name !== "" && !parts.some((part) => part === "" || part === "." || part === "..");
}
