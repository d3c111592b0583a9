// The files of a checkout that are not as in the last commit, sorted into what a commit takes and what it leaves.
import type { FileState } from "../api/types";

/** One row of the panel. A file with a staged and an unstaged part has two. */
export interface GitFile {
  readonly path: string;
  readonly old: string;
  readonly letter: string;
}

export interface GitFiles {
  readonly conflicts: readonly GitFile[];
  readonly staged: readonly GitFile[];
  readonly unstaged: readonly GitFile[];
}

export function sortFiles(files: readonly FileState[]): GitFiles {
  const conflicts: GitFile[] = [];
  const staged: GitFile[] = [];
  const unstaged: GitFile[] = [];
  for (const file of files) {
    const row = { path: file.path, old: file.old_path ?? "" };
    const index = file.index ?? ".";
    const worktree = file.worktree ?? ".";
    if (file.kind === "conflict") conflicts.push({ ...row, letter: "!" });
    else if (file.kind === "untracked") unstaged.push({ ...row, letter: "?" });
    else {
      if (index !== ".") staged.push({ ...row, letter: index });
      if (worktree !== ".") unstaged.push({ ...row, letter: worktree });
    }
  }
  return { conflicts, staged, unstaged };
}
