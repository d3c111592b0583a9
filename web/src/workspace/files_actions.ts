// What is done to files: made, sent, fetched, renamed, removed; asked before anything is lost.
import { signal } from "@preact/signals";
import { api, Refusal } from "../api/client";
import type { Entry } from "../api/types";
import { type Asking, confirmThat, overlay } from "../state/overlay";
import { attempt, tell, wordsOf } from "../state/toasts";
import { texts } from "../texts";
import { copyText } from "../ui/clipboard";
import { relativePath } from "../ui/folder";
import { baseName } from "../ui/format";
import type { MenuItem } from "../ui/menu";
import { saveFile } from "../ui/save";
import type { FilesState } from "./files_state";
import { isName, parentOf } from "./files_text";

const words = texts.files;
const NAMED = 5;

/** What is being sent; empty when nothing is. */
export const uploading = signal("");

const ask = (asking: Asking): void => {
  overlay.value = { name: "ask", ask: asking };
};

const shownFolder = (files: FilesState, folder: string): string => words.inFolder(folder === files.root ? baseName(folder) : relativePath(folder, files.root));

export function askNewFile(files: FilesState, folder = files.folderAt()): void {
  const make = async (name: string): Promise<string | void> => {
    if (!isName(name)) return words.badName;
    const path = `${folder}/${name}`;
    await api.writeFile(path, "", { fresh: true });
    await reveal(files, path);
    files.leave(() => void files.open(path, true));
  };
  ask({ title: words.newFile, label: words.newName, hint: shownFolder(files, folder), value: "", action: words.create, done: make });
}

export function askNewFolder(files: FilesState, folder = files.folderAt()): void {
  const make = async (name: string): Promise<string | void> => {
    if (!isName(name)) return words.badName;
    await api.makeFolder(`${folder}/${name}`);
    await reveal(files, `${folder}/${name}`);
  };
  ask({ title: words.newFolder, label: words.newName, hint: shownFolder(files, folder), value: "", action: words.create, done: make });
}

/** Opens the folders above it and puts the keyboard's place on it. */
export async function reveal(files: FilesState, path: string): Promise<void> {
  const above: string[] = [];
  for (let folder = parentOf(path); folder.length > files.root.length; folder = parentOf(folder)) above.unshift(folder);
  files.expanded.value = new Set([...files.expanded.value, ...above]);
  await Promise.all([files.root, ...above].map((folder) => files.list(folder)));
  files.at.value = path;
}

export function askRename(files: FilesState, entry: Entry): void {
  const rename = async (name: string): Promise<string | void> => {
    if (!isName(name)) return words.badName;
    if (name === entry.name) return;
    const to = `${parentOf(entry.path)}/${name}`;
    await api.moveEntry(entry.path, to);
    files.moved(entry.path, to);
    await reveal(files, to);
  };
  ask({ title: words.rename, label: words.renameLabel, value: entry.name, action: words.rename, done: rename });
}

export function askRemove(files: FilesState, entry: Entry): void {
  const folder = entry.entryType === "directory";
  const remove = async (): Promise<void> => {
    if (!(await attempt(api.removeEntry(entry.path, folder)))) return;
    files.removed(entry.path);
    await files.list(parentOf(entry.path));
  };
  confirmThat(folder ? words.removeFolderAsk(entry.name) : words.removeAsk(entry.name), words.remove, () => void remove());
}

export async function download(path: string): Promise<void> {
  const response = await attempt(api.readFile(path));
  if (!response) return;
  const blob = await attempt(response.blob());
  if (!blob) return;
  saveFile(blob, baseName(path));
}

/** A file on its way, with its path below the folder it goes to. */
export interface Sent {
  readonly name: string;
  readonly file: File;
}

/** Sends them; what is there already is replaced only after a yes. */
export async function upload(files: FilesState, folder: string, sent: readonly Sent[], over = false): Promise<void> {
  const there: Sent[] = [];
  let done = 0;
  for (const [place, each] of sent.entries()) {
    uploading.value = words.uploading(place + 1, sent.length, each.name);
    try {
      await api.writeFile(`${folder}/${each.name}`, each.file, { fresh: !over });
      done += 1;
    } catch (reason) {
      if (!over && reason instanceof Refusal && reason.status === 412) there.push(each);
      else tell(`${each.name}: ${wordsOf(reason)}`, "bad");
    }
  }
  uploading.value = "";
  if (done) tell(words.uploaded(done), "good");
  if (folder !== files.root) files.toggle(folder, true);
  await files.refresh();
  if (!there.length) return;
  const names = there.slice(0, NAMED).map((each) => each.name).join(", ") + (there.length > NAMED ? " …" : "");
  confirmThat(words.replaceAsk(names), words.replace, () => void upload(files, folder, there, true));
}

/** The files that were dropped, those in dropped folders too. */
export async function dropped(data: DataTransfer): Promise<Sent[]> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (!entries.length) return [...data.files].map((file) => ({ name: file.name, file }));
  return (await Promise.all(entries.map((entry) => walk(entry, "")))).flat();
}

async function walk(entry: FileSystemEntry, above: string): Promise<Sent[]> {
  const name = above + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ name, file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: Sent[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    for (const each of some) found.push(...(await walk(each, `${name}/`)));
  }
}

export function entryActions(files: FilesState, entry: Entry): MenuItem[] {
  const folder = files.isFolder(entry);
  const found: MenuItem[] = folder
    ? [
        { id: "new-file", text: words.newFile, icon: "newFile", act: () => askNewFile(files, entry.path) },
        { id: "new-folder", text: words.newFolder, icon: "newFolder", act: () => askNewFolder(files, entry.path) },
      ]
    : [{ id: "download", text: words.download, icon: "download", act: () => void download(entry.path) }];
  return [
    ...found,
    { id: "path", text: words.copyPath, icon: "copy", act: () => copyText(entry.path) },
    { id: "rename", text: words.rename, icon: "pencil", hint: "F2", act: () => askRename(files, entry) },
    { id: "remove", text: words.remove, icon: "trash", hint: "Del", danger: true, act: () => askRemove(files, entry) },
  ];
}
