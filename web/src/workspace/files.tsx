// The files of a session's folder: the tree, and beside it (or in its place, where there is no room) the file.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { OpenSession } from "../state/session";
import "../styles/files.css";
import "../styles/workspace.css";
import { texts } from "../texts";
import { Folder } from "../ui/folder";
import { Icon, type IconName } from "../ui/icons";
import { MenuButton } from "../ui/menu";
import { askNewFile, askNewFolder, entryActions, upload, uploading } from "./files_actions";
import { type FilesState, filesOf, rootOf, showHidden } from "./files_state";
import { FilesTree } from "./files_tree";
import { FilesView } from "./files_view";
import { Needs } from "./scope";

const words = texts.files;

export default function Files({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const { cwd } = session.draft.facts;
  return (
    <Needs scope="files">
      <Folder.Provider value={cwd}>{cwd ? <Inside session={session} files={filesOf(session.id, rootOf(cwd))} /> : null}</Folder.Provider>
    </Needs>
  );
}

function Inside({ session, files }: { session: OpenSession; files: FilesState }): JSX.Element {
  void session.frame.value;
  const { state } = session.draft.facts;
  useEffect(() => {
    void files.refresh();
  }, [files, state]);
  useEffect(() => {
    const look = (): void => {
      if (!document.hidden) void files.refresh();
    };
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [files]);
  const open = files.file.value !== null || files.problem.value !== "";
  return (
    <div class="work files" data-open={open}>
      <div class="files-side">
        <Tools files={files} />
        <FilesTree files={files} />
        <p class="upload-words" role="status">
          {uploading.value}
        </p>
      </div>
      <div class="files-main">
        <FilesView files={files} />
      </div>
    </div>
  );
}

function Tools({ files }: { files: FilesState }): JSX.Element {
  const picker = useRef<HTMLInputElement>(null);
  const chosen = files.entry(files.at.value);
  return (
    <div class="work-tools" role="toolbar" aria-label={words.tools}>
      <Tool icon="newFile" label={words.newFile} act={() => askNewFile(files)} />
      <Tool icon="newFolder" label={words.newFolder} act={() => askNewFolder(files)} />
      <Tool icon="upload" label={words.upload} act={() => picker.current?.click()} />
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label={words.upload}
        onChange={(event) => {
          const sent = [...(event.currentTarget.files ?? [])].map((file) => ({ name: file.name, file }));
          event.currentTarget.value = "";
          void upload(files, files.folderAt(), sent);
        }}
      />
      <Tool icon="eye" label={words.hidden} pressed={showHidden.value} act={() => (showHidden.value = !showHidden.value)} />
      <Tool icon="refresh" label={texts.workspace.refresh} act={() => void files.refresh()} />
      {chosen ? <MenuButton label={words.actions(chosen.name)} icon="more" small items={entryActions(files, chosen)} /> : null}
    </div>
  );
}

function Tool({ icon, label, act, pressed }: { icon: IconName; label: string; act: () => void; pressed?: boolean }): JSX.Element {
  return (
    <button type="button" class="button quiet small only-icon" aria-label={label} title={label} aria-pressed={pressed} onClick={act}>
      <Icon name={icon} size={14} />
    </button>
  );
}
