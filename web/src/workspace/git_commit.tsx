// The message of a commit, and the button that makes it: of what is staged, else of everything.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api } from "../api/client";
import type { Status } from "../api/types";
import { remembered } from "../state/preferences";
import { attempt, tell } from "../state/toasts";
import { texts } from "../texts";
import { sortFiles } from "./git_files";

const words = texts.git;
/** What was typed and not committed yet, by checkout. */
const messages = remembered<Record<string, string>>("commit-messages", {});

export function CommitForm({ status, cwd, done }: { status: Status; cwd: string; done: () => void }): JSX.Element | null {
  const [busy, setBusy] = useState(false);
  const [amend, setAmend] = useState(false);
  const message = messages.value[status.root] ?? "";
  const put = (text: string): void => {
    const { [status.root]: _, ...others } = messages.value;
    messages.value = text ? { ...others, [status.root]: text } : others;
  };
  const { staged, conflicts } = sortFiles(status.files);
  const all = staged.length === 0;
  const possible = message.trim() !== "" && conflicts.length === 0 && (status.files.length > 0 || amend) && !busy;
  const commit = async (): Promise<void> => {
    if (!possible) return;
    setBusy(true);
    const made = await attempt(api.gitCommit({ path: cwd, message, all: all && !amend, amend }));
    setBusy(false);
    if (made) {
      put("");
      setAmend(false);
      tell(words.committed(made.subject, made.id.slice(0, 8)), "good");
    }
    done();
  };
  if (!status.files.length && !status.head) return null;
  return (
    <form
      class="commit-form"
      onSubmit={(event) => {
        event.preventDefault();
        void commit();
      }}
    >
      <label class="visually-hidden" for="commit-message">
        {words.message}
      </label>
      <textarea
        id="commit-message"
        class="field"
        rows={2}
        placeholder={words.message}
        value={message}
        onInput={(event) => put(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void commit();
        }}
      />
      <div class="commit-foot">
        <label class="check">
          <input type="checkbox" checked={amend} disabled={!status.head} onChange={(event) => setAmend(event.currentTarget.checked)} />
          {words.amend}
        </label>
        {all && status.files.length && !amend ? <span class="hint">{words.commitHint}</span> : null}
        <button type="submit" class="button primary small" disabled={!possible}>
          {all && !amend ? words.commitAll : words.commit}
        </button>
      </div>
    </form>
  );
}
