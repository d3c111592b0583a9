// The small dialogs: rename a session, ask for one line, confirm what cannot be undone.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api } from "../../api/client";
import type { SessionInfo } from "../../api/types";
import { putSession } from "../../state/attention";
import { type Asking, closeOverlay, overlay } from "../../state/overlay";
import { attempt, wordsOf } from "../../state/toasts";
import { texts } from "../../texts";
import { Dialog } from "./dialog";

export function RenameDialog({ session }: { session: SessionInfo }): JSX.Element {
  const [title, setTitle] = useState(session.title);
  const save = async (): Promise<void> => {
    const changed = await attempt(api.rename(session.id, title.trim()));
    if (!changed) return;
    putSession(changed);
    closeOverlay();
  };
  return (
    <Dialog
      title={texts.actions.renameTitle}
      onSubmit={() => void save()}
      foot={
        <>
          <button type="button" class="button" onClick={closeOverlay}>
            {texts.cancel}
          </button>
          <button type="submit" class="button primary">
            {texts.actions.save}
          </button>
        </>
      }
    >
      <div>
        <label class="label" for="new-title">
          {texts.actions.newTitle}
        </label>
        <input id="new-title" class="field" value={title} maxLength={500} autoFocus onInput={(event) => setTitle(event.currentTarget.value)} />
      </div>
    </Dialog>
  );
}

export function AskDialog({ ask }: { ask: Asking }): JSX.Element {
  const [value, setValue] = useState(ask.value);
  const [problem, setProblem] = useState("");
  const done = async (): Promise<void> => {
    const wrong = await ask.done(value.trim()).catch(wordsOf);
    if (wrong) setProblem(wrong);
    else if (overlay.value?.name === "ask") closeOverlay(); // it may have led to another question
  };
  return (
    <Dialog
      title={ask.title}
      onSubmit={() => void done()}
      foot={
        <>
          <button type="button" class="button" onClick={closeOverlay}>
            {texts.cancel}
          </button>
          <button type="submit" class="button primary" disabled={!value.trim()}>
            {ask.action}
          </button>
        </>
      }
    >
      <div>
        <label class="label" for="asked">
          {ask.label}
        </label>
        <input id="asked" class="field" value={value} autoFocus autocomplete="off" spellcheck={false} onInput={(event) => setValue(event.currentTarget.value)} />
        {ask.hint ? <p class="hint">{ask.hint}</p> : null}
      </div>
      {problem ? (
        <p class="bad-words" role="alert">
          {problem}
        </p>
      ) : null}
    </Dialog>
  );
}

export function ConfirmDialog({ text, action, done }: { text: string; action: string; done: () => void }): JSX.Element {
  const act = (): void => {
    closeOverlay();
    done();
  };
  return (
    <Dialog
      title={action}
      onSubmit={act}
      foot={
        <>
          <button type="button" class="button" onClick={closeOverlay}>
            {texts.cancel}
          </button>
          <button type="submit" class="button primary" autoFocus>
            {action}
          </button>
        </>
      }
    >
      <p>{text}</p>
    </Dialog>
  );
}
