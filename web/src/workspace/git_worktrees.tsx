// The worktrees of the repository: the branch of each, where it lies, what the server knows of it; new ones, and away.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, Refusal } from "../api/client";
import type { Branch, ProjectInfo, Worktree } from "../api/types";
import { confirmThat, openStart, overlay } from "../state/overlay";
import { attempt, tell, wordsOf } from "../state/toasts";
import { texts } from "../texts";
import { Icon } from "../ui/icons";

const words = texts.git;

interface Tree {
  readonly branch: Branch;
  readonly known: Worktree | undefined;
}

interface Trees {
  readonly trees: readonly Tree[];
  /** The short name under which the server knows the repository; without one it makes no worktrees. */
  readonly alias: string;
}

async function load(cwd: string, root: string): Promise<Trees> {
  const [{ branches }, told, list] = await Promise.all([
    api.gitBranches(cwd),
    api.worktrees().catch(() => null),
    api.projects().catch(() => null),
  ]);
  const trees = branches
    .filter((branch) => branch.worktree)
    .map((branch) => ({ branch, known: told?.worktrees.find((each) => each.path === branch.worktree) }));
  const named = list?.projects.find((each: ProjectInfo) => each.alias && trees.some(({ branch }) => branch.worktree === each.cwd));
  return { trees, alias: named?.alias ?? trees.find(({ branch }) => branch.worktree === root)?.known?.project ?? "" };
}

export function Worktrees({ cwd, root, head }: { cwd: string; root: string; head: string }): JSX.Element | null {
  const [{ trees, alias }, setTrees] = useState<Trees>({ trees: [], alias: "" });
  const [round, setRound] = useState(0);
  const again = (): void => setRound((before) => before + 1);
  useEffect(() => {
    let here = true;
    load(cwd, root).then(
      (found) => here && setTrees(found),
      () => here && setTrees({ trees: [], alias: "" }), // the status above tells what is wrong
    );
    return () => {
      here = false;
    };
  }, [cwd, root, head, round]);
  if (!trees.length) return null;
  return (
    <section aria-label={words.worktrees}>
      <header class="git-group">
        <h3>{words.worktrees}</h3>
        {alias ? (
          <button type="button" class="button small" onClick={() => askBranch(alias, again)}>
            {words.newWorktree}
          </button>
        ) : null}
      </header>
      {alias ? null : <p class="hint">{words.noProject}</p>}
      <ul class="worktrees">
        {trees.map((tree) => (
          <Row key={tree.branch.name} tree={tree} here={tree.branch.worktree === root} again={again} />
        ))}
      </ul>
    </section>
  );
}

function Row({ tree: { branch, known }, here, again }: { tree: Tree; here: boolean; again: () => void }): JSX.Element {
  return (
    <li>
      <Icon name="branch" size={14} />
      <div>
        <strong>{branch.name}</strong>
        {here ? <span class="badge">{words.worktreeHere}</span> : null}
        {known?.uncommitted ? <span class="hint">{words.uncommitted(known.uncommitted)}</span> : null}
        {known?.sessions.length ? <span class="hint">{words.sessionsIn(known.sessions.length)}</span> : null}
        <code class="path">{branch.worktree}</code>
      </div>
      <span class="spacer" />
      <button type="button" class="button quiet small only-icon" aria-label={words.sessionIn(branch.name)} title={words.sessionIn(branch.name)} onClick={() => openStart("fresh", branch.worktree)}>
        <Icon name="plus" />
      </button>
      {known && !here ? (
        <button type="button" class="button quiet small only-icon" aria-label={words.removeWorktree(branch.name)} title={words.removeWorktree(branch.name)} onClick={() => remove(known, again)}>
          <Icon name="trash" />
        </button>
      ) : null}
    </li>
  );
}

/** A branch that is not there yet is made, too; then a session may begin in its folder. */
function askBranch(project: string, again: () => void): void {
  const done = async (branch: string): Promise<string | void> => {
    try {
      const { cwd } = await api.makeWorktree({ project, branch: branch.trim() });
      again();
      openStart("fresh", cwd);
    } catch (problem) {
      return wordsOf(problem);
    }
  };
  const { newWorktree: title, branchName: label, branchHint: hint, make: action } = words;
  overlay.value = { name: "ask", ask: { title, label, hint, value: "", action, done } };
}

/** Work that would be lost is told by the server, in a question of its own. */
function remove(tree: Worktree, again: () => void): void {
  const go = async (force: boolean): Promise<void> => {
    try {
      await api.removeWorktree(tree.project, tree.branch, force);
      tell(words.worktreeRemoved(tree.branch), "good");
      again();
    } catch (problem) {
      if (problem instanceof Refusal && problem.status === 409 && !force) {
        confirmThat(wordsOf(problem), words.removeAnyway, () => void go(true));
      } else await attempt(Promise.reject(problem));
    }
  };
  confirmThat(words.removeAsk(tree.branch), words.remove, () => void go(false));
}
