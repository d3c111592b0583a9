// The field to talk to the agent: queue, steer, stop; commands, files, pictures; what it works with, and what it costs.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { api, newKey } from "../../api/client";
import type { PromptBody } from "../../api/types";
import { onKey } from "../../state/keys";
import { drafts, promptHistory } from "../../state/preferences";
import type { OpenSession } from "../../state/session";
import { attempt } from "../../state/toasts";
import { texts } from "../../texts";
import { Icon } from "../icons";
import { type Attachment, AttachmentList, readFiles, toBlocks } from "./attachments";
import { Completions, type Completing } from "./completions";
import { Meters } from "./meters";
import { QueueList } from "./queue_list";
import { Switches } from "./switches";

const words = texts.composer;
const HISTORY_KEPT = 100;
export const COMPOSER_ID = "composer";

function keepDraft(session: string, text: string): void {
  const { [session]: _, ...others } = drafts.value;
  drafts.value = text ? { ...others, [session]: text } : others;
}

export function Composer({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const { facts } = session.draft;
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const text = useSignal(drafts.peek()[session.id] ?? "");
  const files = useSignal<readonly Attachment[]>([]);
  const dragging = useSignal(false);
  const recalled = useRef(-1);
  const completing = useRef<Completing | null>(null);
  const running = facts.turn !== null;
  const closed = facts.state === "closed";
  const shell = text.value.startsWith("!");

  const write = (value: string): void => {
    text.value = value;
    keepDraft(session.id, value);
  };
  useEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, innerHeight * 0.4)}px`;
  }, [text.value]);
  useEffect(() => {
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
    return onKey("composer", () => field.current?.focus());
  }, []);
  useEffect(
    () =>
      onKey("stop", () => {
        if (session.draft.facts.turn === null) return false;
        void attempt(api.interrupt(session.id));
        return true;
      }),
    [],
  );

  const send = async (mode: PromptBody["mode"] = "queue"): Promise<void> => {
    const said = text.value.trim();
    if (!said && !files.value.length) return;
    const sentFiles = files.value;
    write("");
    files.value = [];
    recalled.current = -1;
    if (said) promptHistory.value = [...promptHistory.value.filter((each) => each !== said), said].slice(-HISTORY_KEPT);
    const doing: Promise<unknown> = shell
      ? api.command(session.id, said.slice(1).trim())
      : api.prompt(session.id, { content: sentFiles.length ? toBlocks(said, sentFiles) : said, mode, idempotency_key: newKey() });
    if ((await attempt(doing)) === undefined) {
      if (!text.value) write(said);
      files.value = sentFiles;
    }
  };

  const add = async (list: Iterable<File>): Promise<void> => {
    const read = await readFiles(list);
    files.value = [...files.value, ...read]; // as they are now: others may have been read meanwhile
  };
  const recall = (step: number): void => {
    const past = promptHistory.value;
    const at = recalled.current < 0 ? past.length : recalled.current;
    const next = at + step;
    if (next < 0 || next > past.length) return;
    recalled.current = next;
    write(past[next] ?? "");
  };
  const onFieldKey = (event: KeyboardEvent): void => {
    if (completing.current?.press(event)) return;
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      void send((event.ctrlKey || event.metaKey) && running ? "steer" : "queue");
    } else if ((event.key === "ArrowUp" || event.key === "ArrowDown") && (text.value === "" || recalled.current >= 0) && !event.shiftKey) {
      event.preventDefault();
      recall(event.key === "ArrowUp" ? -1 : 1);
    }
  };
  const onPaste = (event: ClipboardEvent): void => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (!pasted.length) return;
    event.preventDefault();
    void add(pasted);
  };
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    dragging.value = false;
    void add(event.dataTransfer?.files ?? []);
  };
  if (closed) return <p class="composer-closed">{texts.sessions.closedNote}</p>;
  const hasWords = text.value.trim() !== "" || files.value.length > 0;
  return (
    <div class="composer-wrap">
      <QueueList session={session} />
      <form
        class="composer"
        data-shell={shell}
        data-dragging={dragging.value}
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
        onDragOver={(event) => {
          event.preventDefault();
          dragging.value = true;
        }}
        onDragLeave={() => (dragging.value = false)}
        onDrop={onDrop}
      >
        <Completions session={session} text={text.value} field={field} write={write} handle={completing} />
        <AttachmentList files={files.value} remove={(place) => (files.value = files.value.filter((_, each) => each !== place))} />
        <textarea
          ref={field}
          id={COMPOSER_ID}
          rows={1}
          aria-label={words.label}
          placeholder={dragging.value ? words.dropHere : shell ? words.placeholderShell : running ? words.placeholderRunning : words.placeholder}
          value={text.value}
          onInput={(event) => {
            recalled.current = -1;
            write(event.currentTarget.value);
          }}
          onKeyDown={onFieldKey}
          onPaste={onPaste}
        />
        <div class="composer-tools">
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            onChange={(event) => {
              void add(event.currentTarget.files ?? []);
              event.currentTarget.value = "";
            }}
          />
          <button type="button" class="button quiet only-icon small" aria-label={words.attach} title={words.attach} onClick={() => picker.current?.click()}>
            <Icon name="clip" />
          </button>
          <Switches session={session} />
          <span class="spacer" />
          <Meters session={session} />
          <span class="composer-actions">
            {running ? (
              <button type="button" class="button small stop" title={words.interruptHint} onClick={() => void attempt(api.interrupt(session.id))}>
                <Icon name="stop" size={14} />
                {words.interrupt}
              </button>
            ) : null}
            {running && hasWords && !shell ? (
              <button type="button" class="button small" title={`${words.steerHint} (Ctrl Enter)`} onClick={() => void send("steer")}>
                {words.steer}
              </button>
            ) : null}
            <button type="submit" class="button primary small send" disabled={!hasWords}>
              <Icon name="send" size={14} />
              <span>{shell ? words.run : running ? words.queue : words.send}</span>
            </button>
          </span>
        </div>
      </form>
    </div>
  );
}
