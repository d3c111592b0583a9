// git in the session's folder: what changed, what the next commit takes, the commit, what was committed, worktrees.
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { api, Refusal } from "../api/client";
import type { Status } from "../api/types";
import type { OpenSession } from "../state/session";
import { attempt, wordsOf } from "../state/toasts";
import "../styles/git.css";
import "../styles/workspace.css";
import { texts } from "../texts";
import { Folder } from "../ui/folder";
import { Icon } from "../ui/icons";
import { CommitForm } from "./git_commit";
import { type GitFile, sortFiles } from "./git_files";
import { Commits } from "./git_log";
import { GitRow } from "./git_row";
import { Worktrees } from "./git_worktrees";
import { Needs } from "./scope";

const words = texts.git;

export default function Git({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const { cwd } = session.draft.facts;
  return <Needs scope="drive">{cwd ? <Inside key={cwd} session={session} cwd={cwd} /> : null}</Needs>;
}

function Inside({ session, cwd }: { session: OpenSession; cwd: string }): JSX.Element {
  void session.frame.value;
  const { state } = session.draft.facts;
  const [status, setStatus] = useState<Status | null>(null);
  const [problem, setProblem] = useState("");
  const [version, setVersion] = useState(0);
  const take = useCallback((next: Status | undefined) => {
    if (!next) return;
    setStatus(next);
    setProblem("");
    setVersion((number) => number + 1);
  }, []);
  const look = useCallback(() => {
    api.gitStatus(cwd).then(take, (reason: unknown) => {
      setStatus(null);
      setProblem(reason instanceof Refusal && reason.problem.type?.endsWith("git_refused") && /not a git repository|no checkout/.test(reason.detail) ? words.notHere : wordsOf(reason));
    });
  }, [cwd]);
  useEffect(look, [look, state]);
  if (problem) {
    return (
      <div class="work">
        <p class="empty">{problem}</p>
      </div>
    );
  }
  if (!status) return <p class="empty">{texts.loading}</p>;
  return (
    <Folder.Provider value={status.root}>
      <div class="work">
        <Head status={status} look={look} />
        <div class="work-body git">
          <Files session={session} status={status} cwd={cwd} version={version} take={take} />
          <CommitForm status={status} cwd={cwd} done={look} />
          <Commits cwd={cwd} head={status.head} />
          <Worktrees cwd={cwd} root={status.root} head={status.head} />
        </div>
      </div>
    </Folder.Provider>
  );
}

function Head({ status, look }: { status: Status; look: () => void }): JSX.Element {
  return (
    <div class="work-tools">
      <Icon name="branch" size={14} />
      <strong class="git-branch">{status.branch || words.detached}</strong>
      <span class="hint spacer">
        {status.ahead ? `${words.ahead(status.ahead)} ` : ""}
        {status.behind ? `${words.behind(status.behind)} ` : ""}
        {status.upstream && (status.ahead || status.behind) ? words.of(status.upstream) : ""}
      </span>
      <button type="button" class="button quiet small only-icon" aria-label={texts.workspace.refresh} title={texts.workspace.refresh} onClick={look}>
        <Icon name="refresh" size={14} />
      </button>
    </div>
  );
}

interface FilesProps {
  session: OpenSession;
  status: Status;
  cwd: string;
  version: number;
  take: (status: Status | undefined) => void;
}

function Files({ session, status, cwd, version, take }: FilesProps): JSX.Element {
  const sorted = useMemo(() => sortFiles(status.files), [status]);
  if (!status.files.length) return <p class="hint git-clean">{words.clean}</p>;
  const stage = async (files: readonly string[]): Promise<void> => take(await attempt(api.gitStage(cwd, files)));
  const unstage = async (files: readonly string[]): Promise<void> => take(await attempt(api.gitUnstage(cwd, files)));
  const row = (file: GitFile, staged: boolean): JSX.Element => (
    <GitRow key={file.path} session={session} file={file} cwd={cwd} root={status.root} staged={staged} version={version} move={() => void (staged ? unstage([file.path]) : stage([file.path]))} />
  );
  return (
    <>
      <Group title={words.conflicts} files={sorted.conflicts} row={(file) => row(file, false)} />
      <Group title={words.staged} files={sorted.staged} row={(file) => row(file, true)} all={words.unstageAll} move={() => void unstage([])} />
      <Group title={words.unstaged} files={sorted.unstaged} row={(file) => row(file, false)} all={words.stageAll} move={() => void stage([])} />
    </>
  );
}

interface GroupProps {
  title: string;
  files: readonly GitFile[];
  row: (file: GitFile) => JSX.Element;
  all?: string;
  move?: () => void;
}

function Group({ title, files, row, all, move }: GroupProps): JSX.Element | null {
  if (!files.length) return null;
  return (
    <section aria-label={title}>
      <header class="git-group">
        <h3>
          {title} <span class="count">{files.length}</span>
        </h3>
        {move ? (
          <button type="button" class="button quiet small" onClick={move}>
            {all}
          </button>
        ) : null}
      </header>
      <ul class="change-list">{files.map(row)}</ul>
    </section>
  );
}
