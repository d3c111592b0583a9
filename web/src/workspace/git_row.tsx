// One changed file of a checkout: its diff on demand, a button that stages or unstages it, and the way to the file.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import type { DiffQuery } from "../api/types";
import type { OpenSession } from "../state/session";
import { wordsOf } from "../state/toasts";
import { texts } from "../texts";
import { Icon } from "../ui/icons";
import { ChangeRow, PatchView } from "./change_row";
import { OpenFileButton } from "./files_button";
import type { GitFile } from "./git_files";
import { type Patch, readPatches } from "./git_patch";

const words = texts.git;

interface GitRowProps {
  session: OpenSession;
  file: GitFile;
  cwd: string;
  root: string;
  staged: boolean;
  /** Grows when the checkout was looked at again: an open diff is asked for anew. */
  version: number;
  move: () => void;
}

export function GitRow({ session, file, cwd, root, staged, version, move }: GitRowProps): JSX.Element {
  const label = staged ? words.unstageFile(file.path) : words.stageFile(file.path);
  const files = file.old ? [file.path, file.old] : [file.path];
  return (
    <ChangeRow
      path={`${root}/${file.path}`}
      mark={{ text: file.letter, title: words.states[file.letter] ?? file.letter }}
      actions={
        <>
          {file.letter === "D" ? null : <OpenFileButton session={session} path={`${root}/${file.path}`} />}
          <button type="button" class="button quiet small only-icon" aria-label={label} title={label} onClick={move}>
            <Icon name={staged ? "minus" : "plus"} size={14} />
          </button>
        </>
      }
    >
      {() => <GitDiff query={{ path: cwd, file: files, staged }} version={version} />}
    </ChangeRow>
  );
}

/** What git tells of these files, or of a commit. */
export function GitDiff({ query, version = 0 }: { query: DiffQuery; version?: number }): JSX.Element {
  const [patches, setPatches] = useState<readonly Patch[] | null>(null);
  const [cut, setCut] = useState(false);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let here = true;
    api.gitDiff(query).then(
      (diff) => {
        if (!here) return;
        setPatches(readPatches(diff));
        setCut(diff.cut);
        setProblem("");
      },
      (reason: unknown) => here && setProblem(wordsOf(reason)),
    );
    return () => {
      here = false;
    };
  }, [version, JSON.stringify(query)]);
  if (problem) return <p class="hint">{problem}</p>;
  if (!patches) return <p class="hint">{texts.loading}</p>;
  return (
    <>
      {patches.length ? null : <p class="hint">{texts.changes.noText}</p>}
      {patches.map((patch) => (
        <PatchView key={patch.change.moved_to || patch.change.path} patch={patch} />
      ))}
      {cut ? <p class="hint">{texts.changes.cut}</p> : null}
    </>
  );
}
