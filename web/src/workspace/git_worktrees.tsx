// The worktrees of the repository: the branch of each, where it lies, and what the server knows of it.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import type { Branch, Worktree } from "../api/types";
import { texts } from "../texts";
import { Icon } from "../ui/icons";

const words = texts.git;

interface Tree {
  readonly branch: Branch;
  readonly known: Worktree | undefined;
}

async function load(cwd: string): Promise<Tree[]> {
  const [{ branches }, told] = await Promise.all([api.gitBranches(cwd), api.worktrees().catch(() => null)]);
  return branches
    .filter((branch) => branch.worktree)
    .map((branch) => ({ branch, known: told?.worktrees.find((each) => each.path === branch.worktree) }));
}

export function Worktrees({ cwd, root, head }: { cwd: string; root: string; head: string }): JSX.Element | null {
  const [trees, setTrees] = useState<readonly Tree[]>([]);
  useEffect(() => {
    let here = true;
    load(cwd).then(
      (found) => here && setTrees(found),
      () => here && setTrees([]), // the status above tells what is wrong
    );
    return () => {
      here = false;
    };
  }, [cwd, head]);
  if (!trees.length) return null;
  return (
    <section aria-label={words.worktrees}>
      <header class="git-group">
        <h3>{words.worktrees}</h3>
      </header>
      <ul class="worktrees">
        {trees.map(({ branch, known }) => (
          <li key={branch.name}>
            <Icon name="branch" size={14} />
            <div>
              <strong>{branch.name}</strong>
              {branch.worktree === root ? <span class="badge">{words.worktreeHere}</span> : null}
              {known?.uncommitted ? <span class="hint">{words.uncommitted(known.uncommitted)}</span> : null}
              {known?.sessions.length ? <span class="hint">{words.sessionsIn(known.sessions.length)}</span> : null}
              <code class="path">{branch.worktree}</code>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
