// A unified diff of git as changes of files, so that it is shown like the edits of an agent.
import type { Diff, FileChange, FileDiff, Hunk } from "../api/types";

/** A change with what git counted; `hunks` are empty where there is no text to compare. */
export interface Patch {
  readonly change: FileChange;
  readonly added: number | null;
  readonly removed: number | null;
  readonly binary: boolean;
}

/** Of a file in conflict, compared with both sides at once: two marks before each line. */
const BOTH = /^@@@ -(\d+)(?:,(\d+))? -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@@/;
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Every section of the text with its file; git counts the files in the same order as it shows them. */
export function readPatches(diff: Diff): Patch[] {
  const sections = splitSections(diff.text);
  const paired = sections.length === diff.files.length;
  const patches = sections.map((lines, place) => readSection(lines, paired ? diff.files[place] : undefined));
  const told = new Set(patches.map((patch) => patch.change.moved_to || patch.change.path));
  const rest = diff.files.filter((file) => !told.has(file.path)).map((file) => readSection([], file));
  return [...patches, ...rest];
}

function splitSections(text: string): string[][] {
  const sections: string[][] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("diff --")) sections.push([line]);
    else sections.at(-1)?.push(line);
  }
  return sections;
}

function readSection(lines: readonly string[], file: FileDiff | undefined): Patch {
  const hunks = readHunks(lines);
  const head = lines.slice(0, lines.findIndex((line) => line.startsWith("@@")) + 1 || lines.length);
  const after = file?.path ?? nameAfter(head, "+++ b/") ?? nameAfter(head, "rename to ") ?? nameAfter(head, "--- a/") ?? nameInHead(head);
  const before = file?.old_path || nameAfter(head, "rename from ") || "";
  const kind = head.some((line) => line.startsWith("new file")) ? "add" : head.some((line) => line.startsWith("deleted file")) ? "delete" : before ? "move" : "update";
  return {
    change: { path: before || after, kind, hunks, moved_to: before ? after : "" },
    added: file ? (file.added ?? null) : count(hunks, "+"),
    removed: file ? (file.removed ?? null) : count(hunks, "-"),
    binary: head.some((line) => line.startsWith("Binary files ")) || (file !== undefined && file.added == null && !hunks.length),
  };
}

function readHunks(lines: readonly string[]): Hunk[] {
  const hunks: (Hunk & { lines: string[] })[] = [];
  const both = /^diff --(cc|combined) /.test(lines[0] ?? "");
  for (const line of lines) {
    const found = (both ? BOTH : HUNK).exec(line);
    if (found) {
      const [, from, length, to, wide] = found;
      hunks.push({ old_start: Number(from), old_lines: Number(length ?? 1), new_start: Number(to), new_lines: Number(wide ?? 1), lines: [] });
    } else if (hunks.length && /^[ +\-\\]/.test(line)) hunks.at(-1)?.lines.push(both ? oneMark(line) : line);
  }
  return hunks;
}

function oneMark(line: string): string {
  const marks = line.slice(0, 2);
  return (marks.includes("+") ? "+" : marks.includes("-") ? "-" : " ") + line.slice(2);
}

function nameAfter(head: readonly string[], mark: string): string | undefined {
  return head.find((line) => line.startsWith(mark))?.slice(mark.length).replace(/\t$/, "");
}

/** `diff --git a/name b/name`, where nothing else tells the name: both halves are the same. */
function nameInHead(head: readonly string[]): string {
  const both = head[0]?.replace(/^diff --\w+ /, "") ?? "";
  const half = /^a\/(.*) b\/\1$/.exec(both)?.[1];
  return half ?? both;
}

function count(hunks: readonly Hunk[], mark: string): number {
  return hunks.reduce((sum, hunk) => sum + hunk.lines.filter((line) => line.startsWith(mark)).length, 0);
}
