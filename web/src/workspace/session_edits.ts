// Which files the edits of a session touched, from its reduced log: in the order in which they were first touched.
import type { FileChange, Item, ToolItem } from "../api/types";

/** One change, and whether the call that makes it is over. */
export interface Edit {
  readonly call: string;
  readonly status: ToolItem["status"];
  readonly change: FileChange;
}

export interface EditedFile {
  readonly path: string;
  readonly edits: readonly Edit[];
}

/** What was denied, failed or was called off did not happen to any file. */
const HAPPENED: ReadonlySet<ToolItem["status"]> = new Set(["completed", "running", "lost"]);

export function sessionEdits(items: readonly Item[]): EditedFile[] {
  const found = new Map<string, Edit[]>();
  for (const item of items) {
    if (item.type !== "tool" || item.detail?.kind !== "file_change" || !HAPPENED.has(item.status) || item.ok === false) continue;
    for (const change of item.detail.changes ?? []) {
      const path = change.moved_to || change.path;
      const edits = found.get(path) ?? (change.moved_to ? found.get(change.path) : undefined) ?? [];
      if (change.moved_to) found.delete(change.path);
      edits.push({ call: item.id, status: item.status, change });
      found.set(path, edits);
    }
  }
  return [...found].map(([path, edits]) => ({ path, edits }));
}
