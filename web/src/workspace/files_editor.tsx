// A plain editor: a text field with numbers beside it. Ctrl S saves, Enter keeps the indent, Ctrl ] and Ctrl [ change it.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { texts } from "../texts";
import { DiffView } from "../ui/conversation/diff_view";
import { baseName } from "../ui/format";
import { Icon } from "../ui/icons";
import type { FilesState, OpenFile } from "./files_state";

const words = texts.files;

/** Types in place of the chosen text, so that the browser's own undo knows of it. */
function type(field: HTMLTextAreaElement, text: string): void {
  if (!document.execCommand("insertText", false, text)) field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
}

/** What one step of indent is in this text. */
function stepOf(text: string): string {
  const found = /^(\t| {2,8})\S/m.exec(text)?.[1];
  return found ?? "  ";
}

function indent(field: HTMLTextAreaElement, step: string, inward: boolean): void {
  const { value, selectionStart, selectionEnd } = field;
  const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
  const end = value.indexOf("\n", Math.max(selectionStart, selectionEnd - 1));
  const to = end < 0 ? value.length : end;
  const lines = value.slice(from, to).split("\n");
  const changed = lines.map((line) => (inward ? (line ? step + line : line) : line.startsWith(step) ? line.slice(step.length) : line.replace(/^\s/, "")));
  field.setSelectionRange(from, to);
  type(field, changed.join("\n"));
  field.setSelectionRange(from, from + changed.join("\n").length);
}

export function FilesEditor({ files, file }: { files: FilesState; file: OpenFile }): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLPreElement>(null);
  const text = files.draft.value ?? "";
  const lines = useMemo(() => text.split("\n").length, [text]);
  const numbers = useMemo(() => Array.from({ length: lines }, (_, place) => place + 1).join("\n"), [lines]);
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(0, 0);
  }, []);
  const onKey = (event: KeyboardEvent): void => {
    const at = field.current;
    if (!at) return;
    const mod = event.ctrlKey || event.metaKey;
    if (mod && event.key.toLowerCase() === "s") void files.save();
    else if (mod && (event.key === "]" || event.key === "[")) indent(at, stepOf(text), event.key === "]");
    else if (event.key === "Enter" && !mod && !event.shiftKey && !event.isComposing) {
      const line = at.value.slice(at.value.lastIndexOf("\n", at.selectionStart - 1) + 1, at.selectionStart);
      type(at, `\n${/^[ \t]*/.exec(line)?.[0] ?? ""}`);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <ConflictBar files={files} />
      {file.ends === "mixed" ? (
        <p class="file-note hint">
          <Icon name="warning" size={12} /> {words.mixedEnds}
        </p>
      ) : null}
      <div class="editor">
        <pre ref={gutter} class="gutter" aria-hidden="true">
          {numbers}
        </pre>
        <textarea
          ref={field}
          aria-label={words.editLabel(baseName(file.path))}
          value={text}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          onKeyDown={onKey}
          onInput={(event) => (files.draft.value = event.currentTarget.value)}
          onScroll={(event) => gutter.current && (gutter.current.scrollTop = event.currentTarget.scrollTop)}
        />
      </div>
    </>
  );
}

function ConflictBar({ files }: { files: FilesState }): JSX.Element | null {
  const conflict = files.conflict.value;
  const file = files.file.value;
  if (!conflict || !file) return null;
  const theirs = conflict.file;
  return (
    <div class="conflict" role="alert">
      <p>
        <Icon name="warning" size={14} /> {theirs ? words.conflict : words.conflictGone}
      </p>
      {theirs?.what === "text" ? (
        <details>
          <summary>{words.difference}</summary>
          <DiffView change={{ path: file.path, kind: "update", old_text: theirs.text, new_text: files.draft.value ?? "" }} />
        </details>
      ) : null}
      <div class="conflict-foot">
        <button type="button" class="button small" onClick={() => files.takeTheirs()}>
          {theirs ? words.theirs : words.discard}
        </button>
        <button type="button" class="button small primary" onClick={() => void files.saveMine()}>
          {words.mine}
        </button>
      </div>
    </div>
  );
}
