// The tree of files: a folder is read when it is opened. Arrows, Home, End, Enter; F2 renames, Delete removes.
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Entry } from "../api/types";
import { texts } from "../texts";
import { baseName } from "../ui/format";
import { Icon } from "../ui/icons";
import { askRemove, askRename, dropped, upload } from "./files_actions";
import { type FilesState, showHidden } from "./files_state";
import { parentOf, pictureType } from "./files_text";

const words = texts.files;
const SHOWN_AT_FIRST = 500;

/** One line of the tree. Without an entry it stands for what is not shown: more files, a problem, nothing. */
interface Row {
  readonly path: string;
  readonly level: number;
  readonly entry: Entry | null;
  readonly words: string;
  readonly place: number;
  readonly of: number;
  readonly folder: string;
}

function rowsOf(files: FilesState, whole: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const add = (folder: string, level: number): void => {
    const listing = files.folders.value.get(folder);
    const tell = (text: string, path: string): void => void rows.push({ path, level, entry: null, words: text, place: 1, of: 1, folder });
    if (!listing) return tell(texts.loading, `${folder}/`);
    if (listing.problem) tell(listing.problem, `${folder}/`);
    const all = showHidden.value ? listing.entries : listing.entries.filter((entry) => !entry.name.startsWith("."));
    const shown = whole.has(folder) ? all : all.slice(0, SHOWN_AT_FIRST);
    shown.forEach((entry, place) => {
      rows.push({ path: entry.path, level, entry, words: "", place: place + 1, of: all.length, folder });
      if (files.isFolder(entry) && files.expanded.value.has(entry.path)) add(entry.path, level + 1);
    });
    if (shown.length < all.length) tell(words.moreHere(all.length - shown.length), `${folder}/…`);
    if (!all.length && !listing.problem) tell(words.emptyFolder, `${folder}/`);
  };
  add(files.root, 1);
  return rows;
}

const placeOf = (rows: readonly Row[], path: string): number => Math.max(0, rows.findIndex((row) => row.path === path));

export function FilesTree({ files }: { files: FilesState }): JSX.Element {
  const [whole, setWhole] = useState<ReadonlySet<string>>(new Set());
  const [over, setOver] = useState<string | null>(null);
  const box = useRef<HTMLUListElement>(null);
  const rows = rowsOf(files, whole);
  const at = placeOf(rows, files.at.value);
  const wanted = useRef(false);
  useLayoutEffect(() => {
    const row = box.current?.querySelector<HTMLElement>('[tabindex="0"]');
    if (!wanted.current || row?.dataset["path"] !== files.at.value) return; // a later drawing has it
    wanted.current = false;
    row.focus();
  });
  const act = (row: Row): void => {
    files.at.value = row.path;
    if (!row.entry) setWhole(new Set([...whole, row.folder]));
    else if (files.isFolder(row.entry)) files.toggle(row.path);
    else if (row.path !== files.file.value?.path) files.leave(() => void files.open(row.path));
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || !pressed(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  /** Keys may come faster than the tree is drawn: each begins where the one before has ended. */
  const pressed = (key: string): boolean => {
    const now = rowsOf(files, whole);
    const here = placeOf(now, files.at.value);
    const row = now[here];
    if (!row) return false;
    const to = (place: number): void => {
      wanted.current = true;
      files.at.value = now[Math.max(0, Math.min(now.length - 1, place))]?.path ?? "";
    };
    const folder = row.entry !== null && files.isFolder(row.entry);
    const open = files.expanded.value.has(row.path);
    const up = now.findIndex((each) => each.path === parentOf(row.path));
    if (key === "ArrowDown") to(here + 1);
    else if (key === "ArrowUp") to(here - 1);
    else if (key === "Home") to(0);
    else if (key === "End") to(now.length - 1);
    else if (key === "ArrowRight" && folder) open ? to(here + 1) : files.toggle(row.path, true);
    else if (key === "ArrowLeft" && folder && open) files.toggle(row.path, false);
    else if (key === "ArrowLeft" && up >= 0) to(up);
    else if (key === "Enter" || key === " ") act(row);
    else if (key === "F2" && row.entry) askRename(files, row.entry);
    else if (key === "Delete" && row.entry) askRemove(files, row.entry);
    else return false;
    return true;
  };
  const folderUnder = (event: DragEvent): string => {
    const path = (event.target as HTMLElement).closest<HTMLElement>("[data-folder]")?.dataset["folder"];
    return path ?? files.root;
  };
  const onDrop = async (event: DragEvent): Promise<void> => {
    event.preventDefault();
    setOver(null);
    const folder = folderUnder(event);
    if (event.dataTransfer) await upload(files, folder, await dropped(event.dataTransfer));
  };
  return (
    <div
      class="tree-box"
      data-drop={over !== null}
      onDragOver={(event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        setOver(folderUnder(event));
      }}
      onDragLeave={(event) => !event.currentTarget.contains(event.relatedTarget as Node | null) && setOver(null)}
      onDrop={(event) => void onDrop(event)}
    >
      <ul ref={box} class="tree" role="tree" aria-label={words.tree} onKeyDown={onKey}>
        {rows.map((row, place) => (
          <TreeRow key={row.path} row={row} files={files} current={place === at} aimed={over !== null && over !== files.root && over === row.path} act={act} />
        ))}
      </ul>
      {over !== null ? (
        <p class="drop-words">
          {words.uploadDrop} <span class="hint">{words.inFolder(baseName(over))}</span>
        </p>
      ) : null}
    </div>
  );
}

/** Says that a file was changed here and not saved. */
export function UnsavedDot(): JSX.Element {
  return (
    <span class="unsaved-dot" title={words.unsaved}>
      <span class="visually-hidden">{words.unsaved}</span>
    </span>
  );
}

interface TreeRowProps {
  row: Row;
  files: FilesState;
  current: boolean;
  /** What is dropped now goes into it. */
  aimed: boolean;
  act: (row: Row) => void;
}

function TreeRow({ row, files, current, aimed, act }: TreeRowProps): JSX.Element {
  const folder = row.entry !== null && files.isFolder(row.entry);
  const open = folder && files.expanded.value.has(row.path);
  const shown = files.file.value?.path === row.path;
  return (
    <li
      class="tree-row"
      role="treeitem"
      aria-level={row.level}
      aria-posinset={row.place}
      aria-setsize={row.of}
      aria-expanded={folder ? open : undefined}
      aria-selected={shown}
      aria-label={folder ? `${row.entry?.name}, ${words.folder}` : row.entry?.name}
      tabIndex={current ? 0 : -1}
      data-path={row.path}
      data-chosen={files.at.value === row.path}
      data-aimed={aimed}
      data-folder={folder ? row.path : row.folder}
      data-plain={row.entry === null}
      style={{ paddingLeft: `${0.4 + (row.level - 1) * 0.9}rem` }}
      onFocus={() => (files.at.value = row.path)}
      onClick={() => act(row)}
    >
      {row.entry ? (
        <>
          <span class={`turner${open ? " open" : ""}`}>{folder ? <Icon name="chevron" size={12} /> : null}</span>
          <Icon name={folder ? "folder" : pictureType(row.path) ? "picture" : "file"} size={14} />
          <span class="tree-name">{row.entry.name}</span>
          {shown && files.dirty.value ? <UnsavedDot /> : null}
        </>
      ) : (
        <span class="tree-name">{row.words}</span>
      )}
    </li>
  );
}
