// A change of a file as lines with numbers: from hunks where the tool told them, else from both texts.
// The twin of src/footplate/events/diffs.py; tests/fixtures/events/diffs.json holds the cases for both.
import { diffArrays } from "diff";
import type { FileChange, Hunk } from "../../api/types";
import { texts } from "../../texts";
import { formatChanges } from "../format";

export interface DiffLine {
  readonly kind: "same" | "added" | "removed" | "gap" | "note";
  readonly before: number | null;
  readonly after: number | null;
  readonly text: string;
}

type Edit = readonly [DiffLine["kind"], string];

const CONTEXT = 3;
/** Texts that differ in more lines than this are shown as removed and added whole: the cost grows with the square. */
const MOST_EDITS = 1000;
const NO_NEWLINE = "\\ No newline at end of file";
const KINDS: Record<string, DiffLine["kind"]> = { "+": "added", "-": "removed", " ": "same", "\\": "note" };

/** The lines of a change, all of them. */
export function diffLines(change: FileChange): DiffLine[] {
  const { hunks } = change;
  if (!hunks?.length) return withContext(edits(change.old_text ?? "", change.new_text ?? ""));
  const strip = hunks.every((hunk) => hunk.lines.every((line) => line.startsWith("\\") || line.endsWith("\r")));
  return hunks.flatMap((hunk) => hunkLines(hunk, strip));
}

function hunkLines(hunk: Hunk, strip: boolean): DiffLine[] {
  const head = `@@ -${hunk.old_start},${hunk.old_lines} +${hunk.new_start},${hunk.new_lines} @@`;
  const marked = hunk.lines.map((line): Edit => {
    const kind = KINDS[line.charAt(0)];
    const text = kind === undefined || kind === "note" ? line : line.slice(1);
    return [kind ?? "same", strip ? text.replace(/\r$/, "") : text];
  });
  return [{ kind: "gap", before: null, after: null, text: head }, ...numbered(marked, hunk.old_start, hunk.new_start)];
}

function numbered(marked: readonly Edit[], before: number, after: number): DiffLine[] {
  return marked.map(([kind, text]) => {
    const old = kind === "same" || kind === "removed";
    const fresh = kind === "same" || kind === "added";
    return { kind, text, before: old ? before++ : null, after: fresh ? after++ : null };
  });
}

/** Every line of both texts, marked. */
function edits(old: string, fresh: string): Edit[] {
  const [before, after] = [split(old), split(fresh)];
  if (old && fresh && old.endsWith("\n") !== fresh.endsWith("\n")) return script(keepEnds(old), keepEnds(fresh)).flatMap(noteEnd);
  if (returnsOnly(before, old) && returnsOnly(after, fresh)) return script(split(withoutReturns(old)), split(withoutReturns(fresh)));
  return script(before, after);
}

function split(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Whether each line break of the text is a carriage return and a line feed: then they need not be shown. */
function returnsOnly(lines: readonly string[], text: string): boolean {
  return (text.endsWith("\n") ? lines : lines.slice(0, -1)).every((line) => line.endsWith("\r"));
}

function withoutReturns(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

function keepEnds(text: string): string[] {
  const lines = split(text);
  return lines.map((line, place) => (place < lines.length - 1 || text.endsWith("\n") ? `${line}\n` : line));
}

function noteEnd([kind, text]: Edit): Edit[] {
  return text.endsWith("\n") ? [[kind, text.slice(0, -1)]] : [[kind, text], ["note", NO_NEWLINE]];
}

/** The shortest way from one list of lines to the other. */
function script(before: readonly string[], after: readonly string[]): Edit[] {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const old = before.slice(head, before.length - tail);
  const fresh = after.slice(head, after.length - tail);
  return [...marked("same", before.slice(0, head)), ...shortest(old, fresh), ...marked("same", before.slice(before.length - tail))];
}

function shortest(old: string[], fresh: string[]): Edit[] {
  const parts = old.length && fresh.length ? diffArrays(old, fresh, { maxEditLength: MOST_EDITS }) : undefined;
  if (!parts) return [...marked("removed", old), ...marked("added", fresh)];
  return parts.flatMap((part) => marked(part.added ? "added" : part.removed ? "removed" : "same", part.value));
}

function marked(kind: DiffLine["kind"], lines: readonly string[]): Edit[] {
  return lines.map((line) => [kind, line]);
}

/** The changed lines with a few around them; a gap marks lines between that are left out. */
function withContext(all: readonly Edit[]): DiffLine[] {
  const kept = new Uint8Array(all.length);
  all.forEach(([kind], place) => {
    if (kind !== "same") kept.fill(1, Math.max(0, place - CONTEXT), place + CONTEXT + 1);
  });
  const found: DiffLine[] = [];
  numbered(all, 1, 1).forEach((line, place) => {
    if (!kept[place]) return;
    if (found.length && !kept[place - 1]) found.push({ kind: "gap", before: null, after: null, text: "" });
    found.push(line);
  });
  return found;
}

export function countLines(lines: readonly DiffLine[]): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  for (const line of lines) {
    if (line.kind === "added") added += 1;
    else if (line.kind === "removed") removed += 1;
  }
  return { added, removed };
}

/** Whether the agent sends the text of a change: without it nobody knows how many lines change. */
export function hasText(change: FileChange): boolean {
  return Boolean(change.hunks?.length) || change.old_text != null || change.new_text != null;
}

/** The counts of a change, or a remark when the agent sends no text of it; a deletion or a move needs none. */
export function describeChange(change: FileChange, lines: readonly DiffLine[]): string {
  if (hasText(change)) {
    const { added, removed } = countLines(lines);
    return formatChanges(added, removed);
  }
  return change.kind === "delete" || change.kind === "move" ? "" : texts.tools.noText;
}

/** Pairs of what was and what is, side by side. */
export function sideBySide(lines: readonly DiffLine[]): [DiffLine | null, DiffLine | null][] {
  const pairs: [DiffLine | null, DiffLine | null][] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = (): void => {
    for (let place = 0; place < Math.max(removed.length, added.length); place += 1) pairs.push([removed[place] ?? null, added[place] ?? null]);
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "removed") removed.push(line);
    else if (line.kind === "added") added.push(line);
    else {
      flush();
      pairs.push([line, line]);
    }
  }
  flush();
  return pairs;
}
