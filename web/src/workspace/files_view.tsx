// The file that was chosen: its text in colours, a picture, or why neither can be shown; and the way into the editor.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { remembered } from "../state/preferences";
import { texts } from "../texts";
import { Markdown } from "../ui/conversation/markdown";
import { useRelative } from "../ui/folder";
import { baseName } from "../ui/format";
import { Icon } from "../ui/icons";
import { download } from "./files_actions";
import { FilesEditor } from "./files_editor";
import type { FilesState, OpenFile } from "./files_state";
import { UnsavedDot } from "./files_tree";
import { formatBytes } from "../ui/format";
import { isMarkdown, languageOf } from "./files_text";

const words = texts.files;
const COLOURED_AT_MOST = 300_000;
const wrapped = remembered("wrap-files", false);
const rendered = signal(false);

export function FilesView({ files }: { files: FilesState }): JSX.Element {
  const file = files.file.value;
  if (files.problem.value) return <Outside files={files} text={files.problem.value} />;
  if (!file) return <p class="empty">{files.opening.value ? texts.loading : words.choose}</p>;
  const editing = files.draft.value !== null;
  return (
    <section class="file" aria-label={baseName(file.path)}>
      <FileHead files={files} file={file} editing={editing} />
      {editing ? <FilesEditor key={file.path} files={files} file={file} /> : <FileBody file={file} />}
    </section>
  );
}

function Outside({ files, text }: { files: FilesState; text: string }): JSX.Element {
  return (
    <div class="file">
      <p class="empty bad-words" role="alert">
        {text}
      </p>
      <p class="file-back">
        <button type="button" class="button small" onClick={() => files.close()}>
          {words.backToTree}
        </button>
      </p>
    </div>
  );
}

function FileHead({ files, file, editing }: { files: FilesState; file: OpenFile; editing: boolean }): JSX.Element {
  const path = useRelative(file.path);
  const markdown = file.what === "text" && isMarkdown(file.path) && !editing;
  return (
    <header class="file-head">
      <button type="button" class="button quiet small only-icon narrow-only" aria-label={words.backToTree} onClick={() => files.leave(() => files.close())}>
        <Icon name="back" size={14} />
      </button>
      <span class="path" title={file.path}>
        <bdi>{path}</bdi>
      </span>
      {files.dirty.value ? <UnsavedDot /> : <span class="hint file-size">{formatBytes(file.size)}</span>}
      {markdown ? (
        <span class="switch" role="group" aria-label={words.markdown}>
          <button type="button" aria-pressed={!rendered.value} onClick={() => (rendered.value = false)}>
            {words.source}
          </button>
          <button type="button" aria-pressed={rendered.value} onClick={() => (rendered.value = true)}>
            {words.rendered}
          </button>
        </span>
      ) : null}
      {editing ? <EditButtons files={files} /> : <ReadButtons files={files} file={file} />}
    </header>
  );
}

function EditButtons({ files }: { files: FilesState }): JSX.Element {
  return (
    <>
      <button type="button" class="button small" onClick={() => files.leave(() => files.stopEditing())}>
        {words.stopEditing}
      </button>
      <button type="button" class="button small primary" disabled={!files.dirty.value || files.saving.value} onClick={() => void files.save()}>
        {words.save}
      </button>
    </>
  );
}

function ReadButtons({ files, file }: { files: FilesState; file: OpenFile }): JSX.Element {
  return (
    <>
      {file.what === "text" ? (
        <>
          <button type="button" class="button quiet small only-icon" aria-label={words.wrap} title={words.wrap} aria-pressed={wrapped.value} onClick={() => (wrapped.value = !wrapped.value)}>
            <Icon name="wrap" size={14} />
          </button>
          <button type="button" class="button small" disabled={files.opening.value !== ""} onClick={() => files.edit()}>
            <Icon name="edit" size={12} />
            {words.edit}
          </button>
        </>
      ) : null}
      <button type="button" class="button quiet small only-icon" aria-label={words.download} title={words.download} onClick={() => void download(file.path)}>
        <Icon name="download" size={14} />
      </button>
      <button type="button" class="button quiet small only-icon wide-only" aria-label={words.closeFile} title={words.closeFile} onClick={() => files.close()}>
        <Icon name="close" size={14} />
      </button>
    </>
  );
}

function FileBody({ file }: { file: OpenFile }): JSX.Element {
  if (file.what === "large") return <p class="empty">{words.tooLarge(formatBytes(file.size))}</p>;
  if (file.what === "binary") return <p class="empty">{words.notText}</p>;
  if (file.what === "picture") {
    return (
      <div class="file-picture">
        <img src={file.url} alt={baseName(file.path)} />
      </div>
    );
  }
  if (isMarkdown(file.path) && rendered.value) {
    return (
      <div class="file-prose" tabIndex={0}>
        <Markdown text={file.text} />
      </div>
    );
  }
  return <Source file={file} />;
}

/** Numbers of lines, for a column beside the text. */
export function numbersOf(text: string): string {
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  return Array.from({ length: Math.max(1, lines) }, (_, place) => place + 1).join("\n");
}

function Source({ file }: { file: OpenFile }): JSX.Element {
  const code = useRef<HTMLElement>(null);
  const numbers = useMemo(() => numbersOf(file.text), [file.text]);
  useEffect(() => {
    const element = code.current;
    if (!element) return;
    element.replaceChildren(file.text);
    if (file.text.length > COLOURED_AT_MOST) return;
    let here = true;
    void import("../ui/conversation/highlight").then(({ highlight }) => here && highlight(element, file.text, languageOf(file.path)));
    return () => {
      here = false;
    };
  }, [file.path, file.text]);
  return (
    <div class={`source${wrapped.value ? " wrapped" : ""}`} tabIndex={0} role="group" aria-label={words.editLabel(baseName(file.path))}>
      {wrapped.value ? null : (
        <pre class="gutter" aria-hidden="true">
          {numbers}
        </pre>
      )}
      <pre class="code prose-code">
        <code ref={code} />
      </pre>
    </div>
  );
}
