// What was committed, the newest first; each commit opens into what it brought.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import type { Commit } from "../api/types";
import { attempt } from "../state/toasts";
import { texts } from "../texts";
import { formatAge, formatMoment } from "../ui/format";
import { Icon } from "../ui/icons";
import { GitDiff } from "./git_row";

const words = texts.git;
const PAGE = 10;

export function Commits({ cwd, head }: { cwd: string; head: string }): JSX.Element {
  const [commits, setCommits] = useState<readonly Commit[]>([]);
  const [more, setMore] = useState(false);
  const load = async (skip: number): Promise<void> => {
    const found = await attempt(api.gitLog(cwd, PAGE, skip));
    if (!found) return;
    setCommits((known) => [...known.slice(0, skip), ...found.commits]);
    setMore(found.commits.length === PAGE);
  };
  useEffect(() => void load(0), [cwd, head]);
  return (
    <section aria-label={words.log}>
      <header class="git-group">
        <h3>{words.log}</h3>
      </header>
      {head ? null : <p class="hint">{words.noLog}</p>}
      <ul class="change-list">
        {commits.map((commit) => (
          <CommitRow key={commit.id} commit={commit} cwd={cwd} />
        ))}
      </ul>
      {more ? (
        <button type="button" class="more" onClick={() => void load(commits.length)}>
          {words.older}
        </button>
      ) : null}
    </section>
  );
}

function CommitRow({ commit, cwd }: { commit: Commit; cwd: string }): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <li class="change">
      <div class="change-head">
        <button type="button" class="change-name" aria-expanded={open} title={`${commit.author}, ${formatMoment(commit.time)}`} onClick={() => setOpen(!open)}>
          <span class={`turner${open ? " open" : ""}`}>
            <Icon name="chevron" size={12} />
          </span>
          <span class="commit-subject">{commit.subject}</span>
          {commit.refs.slice(0, 2).map((ref) => (
            <span key={ref} class="badge">
              {ref.replace("HEAD -> ", "")}
            </span>
          ))}
          <code class="hint">{commit.id.slice(0, 8)}</code>
          <span class="hint commit-age">{formatAge(commit.time, Date.now())}</span>
        </button>
      </div>
      {open ? (
        <div class="change-body">
          {commit.body.trim() ? <p class="commit-body">{commit.body.trim()}</p> : null}
          <GitDiff query={{ path: cwd, commit: commit.id }} />
        </div>
      ) : null}
    </li>
  );
}
