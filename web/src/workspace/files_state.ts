// The files of one session as the page knows them: folders that were opened, the file that is read, what is not saved.
// It outlives the panel, so that a look at another tab loses nothing.
import { computed, signal } from "@preact/signals";
import { api, Refusal } from "../api/client";
import type { Entry } from "../api/types";
import { confirmThat } from "../state/overlay";
import { remembered } from "../state/preferences";
import { tell, wordsOf } from "../state/toasts";
import { texts } from "../texts";
import { baseName } from "../ui/format";
import { type FileText, parentOf, pictureType, readText, writeText } from "./files_text";

const words = texts.files;
const SHOWN_BYTES = 2_000_000;
const PICTURE_BYTES = 30_000_000;

export const showHidden = remembered("hidden-files", false);

export interface Listing {
  readonly entries: readonly Entry[];
  readonly problem: string;
}

/** The file that is read. `what` says what can be shown of it. */
export interface OpenFile extends FileText {
  readonly path: string;
  readonly size: number;
  readonly etag: string;
  readonly what: "text" | "picture" | "binary" | "large";
  /** Of a picture: where the browser finds it. */
  readonly url: string;
}

/** A link that leads to a folder was opened like a file. */
class FolderFound extends Error {}

/** What lies on the disk instead of what was read; `file` null: nothing does. */
export interface Conflict {
  readonly file: OpenFile | null;
}

export class FilesState {
  readonly folders = signal<ReadonlyMap<string, Listing>>(new Map());
  readonly expanded = signal<ReadonlySet<string>>(new Set());
  /** Links that lead to a folder, as far as somebody followed them; a listing calls them files. */
  readonly links = signal<ReadonlySet<string>>(new Set());
  /** The row that the keyboard is at, by its path. */
  readonly at = signal("");
  readonly file = signal<OpenFile | null>(null);
  readonly opening = signal("");
  readonly problem = signal("");
  /** The text as it was changed; null while nobody edits. */
  readonly draft = signal<string | null>(null);
  readonly saving = signal(false);
  readonly conflict = signal<Conflict | null>(null);
  readonly dirty = computed(() => this.draft.value !== null && this.draft.value !== this.file.value?.text);

  constructor(readonly root: string) {}

  async list(folder: string): Promise<void> {
    let listing: Listing;
    try {
      const entries = await api.entries(folder);
      listing = { entries: [...entries].sort(inOrder), problem: "" };
    } catch (reason) {
      listing = { entries: this.folders.value.get(folder)?.entries ?? [], problem: wordsOf(reason) };
    }
    this.folders.value = new Map(this.folders.value).set(folder, listing);
  }

  entry(path: string): Entry | undefined {
    return this.folders.value.get(parentOf(path))?.entries.find((each) => each.path === path);
  }

  isFolder(entry: Entry): boolean {
    return entry.entryType === "directory" || this.links.value.has(entry.path);
  }

  /** The folder in which something new goes: the one that is chosen, or that of the chosen file. */
  folderAt(): string {
    const chosen = this.entry(this.at.value);
    if (!chosen) return this.root;
    return this.isFolder(chosen) ? chosen.path : parentOf(chosen.path);
  }

  toggle(folder: string, open = !this.expanded.value.has(folder)): void {
    const next = new Set(this.expanded.value);
    if (open) next.add(folder);
    else next.delete(folder);
    this.expanded.value = next;
    if (open) void this.list(folder);
  }

  /** Looks again at every folder that is open, and at the file unless somebody edits it. */
  async refresh(): Promise<void> {
    const open = [this.root, ...[...this.expanded.value].filter((folder) => folder.startsWith(this.root))];
    await Promise.all([...open.map((folder) => this.list(folder)), this.readAgain()]);
  }

  private async readAgain(): Promise<void> {
    const known = this.file.value;
    if (!known || this.draft.value !== null) return;
    try {
      const fresh = await readFile(known.path, known.etag);
      if (fresh && this.file.value === known && this.draft.value === null) this.show(fresh);
    } catch {
      return; // it is gone or cannot be read: what was read stays until it is closed
    }
  }

  private show(file: OpenFile | null): void {
    if (this.file.value?.url) URL.revokeObjectURL(this.file.value.url);
    this.file.value = file;
    this.conflict.value = null;
  }

  async open(path: string, edit = false): Promise<void> {
    this.at.value = path;
    this.opening.value = path;
    this.problem.value = "";
    try {
      const file = await readFile(path);
      if (this.opening.value !== path || !file) return;
      this.show(file);
      this.draft.value = edit && file.what === "text" ? file.text : null;
    } catch (reason) {
      if (this.opening.value !== path) return;
      if (reason instanceof FolderFound) {
        this.links.value = new Set([...this.links.value, path]);
        this.toggle(path, true);
        return;
      }
      this.show(null);
      this.draft.value = null;
      this.problem.value = wordsOf(reason);
    } finally {
      if (this.opening.value === path) this.opening.value = "";
    }
  }

  close(): void {
    this.show(null);
    this.draft.value = null;
    this.problem.value = "";
  }

  /** Does it at once, or after a yes where that loses what was not saved. */
  leave(then: () => void): void {
    if (this.dirty.value) confirmThat(words.discardAsk(baseName(this.file.value?.path ?? "")), words.discard, then);
    else then();
  }

  edit(): void {
    const file = this.file.value;
    if (file?.what === "text") this.draft.value = file.text;
  }

  stopEditing(): void {
    this.draft.value = null;
    this.conflict.value = null;
  }

  /** Writes what was changed over the version that was read, and over no other. */
  async save(): Promise<void> {
    const file = this.file.value;
    const text = this.draft.value;
    if (!file || text === null || this.saving.value) return;
    this.saving.value = true;
    try {
      const response = await api.writeFile(file.path, writeText({ text, ends: file.ends }), file.etag ? { over: file.etag } : { fresh: true });
      const { bytesWritten } = (await response.json()) as { bytesWritten: number };
      this.file.value = { ...file, text, size: bytesWritten, etag: response.headers.get("etag") ?? "", ends: file.ends === "mixed" ? "\n" : file.ends };
      this.conflict.value = null;
      tell(words.saved, "good");
      void this.list(parentOf(file.path));
    } catch (reason) {
      if (reason instanceof Refusal && reason.status === 412) await this.meet(file.path);
      else tell(wordsOf(reason), "bad");
    } finally {
      this.saving.value = false;
    }
  }

  private async meet(path: string): Promise<void> {
    try {
      this.conflict.value = { file: await readFile(path) };
    } catch {
      this.conflict.value = { file: null };
    }
  }

  takeTheirs(): void {
    const found = this.conflict.value?.file ?? null;
    this.draft.value = null;
    this.show(found);
  }

  /** Mine over what is there now; should that change once more, it is asked again. */
  async saveMine(): Promise<void> {
    const file = this.file.value;
    const found = this.conflict.value;
    if (!file || !found) return;
    this.file.value = { ...file, etag: found.file?.etag ?? "" };
    await this.save();
  }

  /** Something has another name now. */
  moved(from: string, to: string): void {
    const rename = (path: string): string => (path === from || path.startsWith(`${from}/`) ? to + path.slice(from.length) : path);
    this.expanded.value = new Set([...this.expanded.value].map(rename));
    this.at.value = rename(this.at.value);
    if (this.file.value) this.file.value = { ...this.file.value, path: rename(this.file.value.path) };
  }

  removed(path: string): void {
    const shown = this.file.value?.path ?? "";
    if (shown === path || shown.startsWith(`${path}/`)) this.close();
    this.at.value = "";
    this.toggle(path, false);
  }
}

function inOrder(one: Entry, other: Entry): number {
  if (one.entryType !== other.entryType) return one.entryType === "directory" ? -1 : 1;
  return one.name.localeCompare(other.name, undefined, { numeric: true, sensitivity: "base" });
}

/** The file as it can be shown; null when it is still the one of the `known` tag. */
async function readFile(path: string, known = ""): Promise<OpenFile | null> {
  const { size, entryType } = await api.stat(path);
  if (entryType === "directory") throw new FolderFound();
  const type = pictureType(path);
  const plain = { path, size, etag: "", text: "", ends: "\n", url: "" } as const;
  if (size > (type ? PICTURE_BYTES : SHOWN_BYTES)) return { ...plain, what: "large" };
  let response: Response;
  try {
    response = await api.readFile(path, known);
  } catch (reason) {
    if (reason instanceof Refusal && reason.status === 304) return null;
    throw reason;
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  const found = { ...plain, size: bytes.length, etag: response.headers.get("etag") ?? "" };
  if (type) return { ...found, what: "picture", url: URL.createObjectURL(new Blob([bytes], { type })) };
  const text = readText(bytes);
  return text ? { ...found, ...text, what: "text" } : { ...found, what: "binary" };
}

/** A folder without a slash at its end; the one at the top keeps it. */
export const rootOf = (folder: string): string => folder.replace(/(.)\/+$/, "$1");

const states = new Map<string, FilesState>();

/** The files of a session, as they were left. */
export function filesOf(session: string, root: string): FilesState {
  const known = states.get(session);
  if (known?.root === root) return known;
  const made = new FilesState(root);
  states.set(session, made);
  return made;
}

addEventListener("beforeunload", (event) => {
  if ([...states.values()].some((state) => state.dirty.value)) event.preventDefault();
});
