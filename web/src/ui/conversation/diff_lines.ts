// A change of a file as lines with numbers: from hunks where the tool told them, else from both texts.
import { structuredPatch } from "diff";
import type { FileChange } from "../../api/types";

export interface DiffLine {
  readonly kind: "same" | "added" | "removed" | "gap";
  readonly before: number | null;
  readonly after: number | null;
  readonly text: string;
}

interface PlainHunk {
  readonly old_start: number;
  readonly new_start: number;
  readonly lines: readonly string[];
}

const CONTEXT = 3;
const TOO_LONG = 400_000;

function hunksOf(change: FileChange): readonly PlainHunk[] {
  if (change.hunks?.length) return change.hunks;
  const before = change.old_text ?? "";
  const after = change.new_text ?? "";
  if (before.length + after.length > TOO_LONG) {
    const lines = [...before.split("\n").map((line) => `-${line}`), ...after.split("\n").map((line) => `+${line}`)];
    return [{ old_start: 1, new_start: 1, lines }];
  }
  const patch = structuredPatch("", "", before, after, "", "", { context: CONTEXT });
  return patch.hunks.map((hunk) => ({ old_start: hunk.oldStart, new_start: hunk.newStart, lines: hunk.lines }));
}

export function diffLines(change: FileChange): DiffLine[] {
  const found: DiffLine[] = [];
  for (const hunk of hunksOf(change)) {
    if (found.length) found.push({ kind: "gap", before: null, after: null, text: "" });
    let before = hunk.old_start;
    let after = hunk.new_start;
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line.startsWith("+")) found.push({ kind: "added", before: null, after: after++, text });
      else if (line.startsWith("-")) found.push({ kind: "removed", before: before++, after: null, text });
      else if (!line.startsWith("\\")) found.push({ kind: "same", before: before++, after: after++, text });
    }
  }
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
