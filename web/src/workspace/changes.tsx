// The changes of a session: what its edits did, by its log; and what git sees in its folder since it began.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { api } from "../api/client";
import type { Changes as FolderChanges } from "../api/types";
import { remembered } from "../state/preferences";
import type { OpenSession } from "../state/session";
import { wordsOf } from "../state/toasts";
import "../styles/workspace.css";
import { texts } from "../texts";
import { countLines, diffLines, hasText } from "../ui/conversation/diff_lines";
import { DiffView } from "../ui/conversation/diff_view";
import { Folder } from "../ui/folder";
import { Icon } from "../ui/icons";
import { ChangeRow, PatchView } from "./change_row";
import { OpenFileButton } from "./files_button";
import { readPatches } from "./git_patch";
import { Needs } from "./scope";
import { type EditedFile, sessionEdits } from "./session_edits";

const words = texts.changes;
const source = remembered<"edits" | "folder">("changes-source", "edits");

export default function Changes({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const { cwd } = session.draft.facts;
  const folder = source.value === "folder";
  return (
    <Folder.Provider value={cwd}>
      <div class="work">
        <div class="work-tools">
          <span class="switch" role="group" aria-label={words.source}>
            <button type="button" aria-pressed={!folder} onClick={() => (source.value = "edits")}>
              {words.edits}
            </button>
            <button type="button" aria-pressed={folder} onClick={() => (source.value = "folder")}>
              {words.folder}
            </button>
          </span>
        </div>
        <div class="work-body">
          {folder ? (
            <Needs scope="drive">
              <SinceItBegan session={session} />
            </Needs>
          ) : (
            <Edits session={session} />
          )}
        </div>
      </div>
    </Folder.Provider>
  );
}

function Edits({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const { items, itemsVersion } = session.draft;
  const files = useMemo(() => sessionEdits(items), [items, itemsVersion]);
  if (!files.length) return <p class="empty">{words.none}</p>;
  return (
    <>
      <p class="hint">
        {words.files(files.length)}. {words.editsHint}
      </p>
      <ul class="change-list">
        {files.map((file) => (
          <EditedRow key={file.path} session={session} file={file} first={files.length === 1} />
        ))}
      </ul>
    </>
  );
}

function EditedRow({ session, file, first }: { session: OpenSession; file: EditedFile; first: boolean }): JSX.Element {
  const counts = useMemo(() => file.edits.filter(({ change }) => hasText(change)).map(({ change }) => countLines(diffLines(change))), [file]);
  const running = file.edits.some((edit) => edit.status === "running");
  return (
    <ChangeRow
      path={file.path}
      hint={running ? words.notDone : file.edits.length > 1 ? words.edited(file.edits.length) : ""}
      added={counts.length ? counts.reduce((sum, each) => sum + each.added, 0) : null}
      removed={counts.length ? counts.reduce((sum, each) => sum + each.removed, 0) : null}
      first={first}
      actions={file.edits.at(-1)?.change.kind === "delete" ? null : <OpenFileButton session={session} path={file.path} />}
    >
      {() => (
        <>
          {file.edits.map((edit, place) => (
            <DiffView key={`${edit.call} ${place}`} change={edit.change} />
          ))}
        </>
      )}
    </ChangeRow>
  );
}

function SinceItBegan({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const { state } = session.draft.facts;
  const [found, setFound] = useState<FolderChanges | null>(null);
  const [problem, setProblem] = useState("");
  const [again, setAgain] = useState(0);
  useEffect(() => {
    let here = true;
    api.changes(session.id).then(
      (changes) => here && (setFound(changes), setProblem("")),
      (reason: unknown) => here && setProblem(wordsOf(reason)),
    );
    return () => {
      here = false;
    };
  }, [session.id, state, again]);
  const patches = useMemo(() => (found ? readPatches(found.diff) : []), [found]);
  if (problem) return <p class="empty">{problem}</p>;
  if (!found) return <p class="empty">{texts.loading}</p>;
  return (
    <>
      <p class="hint with-button">
        <span>{words.folderHint}</span>
        <button type="button" class="button quiet small only-icon" aria-label={texts.workspace.refresh} title={texts.workspace.refresh} onClick={() => setAgain(again + 1)}>
          <Icon name="refresh" size={14} />
        </button>
      </p>
      {patches.length ? null : <p class="empty">{words.noneInFolder}</p>}
      <ul class="change-list">
        {patches.map((patch) => {
          const path = patch.change.moved_to || patch.change.path;
          return (
            <ChangeRow key={path} path={`${found.root}/${path}`} added={patch.added} removed={patch.removed} first={patches.length === 1} actions={patch.change.kind === "delete" ? null : <OpenFileButton session={session} path={`${found.root}/${path}`} />}>
              {() => <PatchView patch={patch} />}
            </ChangeRow>
          );
        })}
      </ul>
      {found.diff.cut ? <p class="hint">{words.cut}</p> : null}
    </>
  );
}
