// What people and agents say: messages, thoughts, commands of a person, notices, the ends of turns.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, newKey } from "../../api/client";
import type * as t from "../../api/types";
import { confirmThat } from "../../state/overlay";
import { showThinking } from "../../state/preferences";
import type { OpenSession } from "../../state/session";
import { attempt, tell } from "../../state/toasts";
import { texts } from "../../texts";
import { copyText } from "../clipboard";
import { formatClock, formatTokens } from "../format";
import { Icon, type IconName } from "../icons";
import { MenuButton } from "../menu";
import { showHidden } from "../visible";
import { Blocks } from "./blocks";
import { LiveMarkdown, Markdown } from "./markdown";
import { Output } from "./output";

const words = texts.conversation;

export function UserMessage({ item, session }: { item: t.UserItem; session: OpenSession }): JSX.Element {
  const text = item.content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
  const rewind = async (): Promise<void> => {
    try {
      await api.rewind(session.id, item.id);
      tell(texts.actions.rewound, "good");
    } catch (problem) {
      await attempt(Promise.reject(problem));
    }
  };
  if (item.synthetic) {
    return (
      <details class="aside-note">
        <summary>{words.synthetic}</summary>
        <Blocks blocks={item.content} />
      </details>
    );
  }
  return (
    <article class="said you" aria-label={words.you}>
      <div class="bubble">
        <Blocks blocks={item.content} plain />
      </div>
      <div class="said-foot">
        <time>{formatClock(item.at)}</time>
        <MenuButton
          label={texts.more}
          icon="more"
          small
          items={[
            { id: "copy", text: texts.copy, icon: "copy", act: () => copyText(text) },
            { id: "rewind", text: texts.actions.rewind, icon: "back", act: () => confirmThat(texts.actions.rewind, texts.actions.rewind, () => void rewind()) },
          ]}
        />
      </div>
    </article>
  );
}

/** The finished parts and the one being written, in the order of their numbers. */
function partsOf(item: t.MessageItem | t.ThoughtItem | null, live: readonly t.LivePart[]): { part: number; text: string; live: boolean }[] {
  const done = (item?.parts ?? []).map((part) => ({ ...part, live: false }));
  const now = live.map((part) => ({ part: part.part, text: part.text, live: true }));
  return [...done, ...now].sort((one, other) => one.part - other.part);
}

export function AgentMessage({ item, live }: { item: t.MessageItem | null; live: readonly t.LivePart[] }): JSX.Element {
  const parts = partsOf(item, live);
  const text = parts.map((part) => part.text).join("\n\n");
  return (
    <article class="said agent" aria-label={words.agent} aria-busy={live.length > 0}>
      {parts.map((part) => (part.live ? <LiveMarkdown key={part.part} text={part.text} /> : <Markdown key={part.part} text={part.text} />))}
      {live.length ? <span class="caret" aria-hidden="true" /> : null}
      {item && !live.length ? (
        <div class="said-foot">
          <button type="button" class="button quiet small only-icon" aria-label={texts.copy} title={texts.copy} onClick={() => copyText(text)}>
            <Icon name="copy" size={14} />
          </button>
        </div>
      ) : null}
    </article>
  );
}

export function AgentThought({ item, live }: { item: t.ThoughtItem | null; live: readonly t.LivePart[] }): JSX.Element | null {
  const [open, setOpen] = useState(false);
  const parts = partsOf(item, live);
  const text = parts.map((part) => part.text).join("\n\n");
  const writing = live.length > 0;
  const shown = open || (writing && showThinking.value);
  if (!text && !item?.redacted) return null;
  return (
    <section class="thought" aria-busy={writing}>
      <button type="button" class="thought-head" aria-expanded={shown} onClick={() => setOpen(!shown)}>
        <Icon name="brain" size={14} />
        <span>{writing ? words.thinking : words.thought}</span>
        {shown ? null : <span class="thought-first">{item?.redacted ? words.redacted : firstLine(text)}</span>}
        <Icon name={shown ? "up" : "down"} size={12} />
      </button>
      {shown ? <div class="thought-text">{item?.redacted && !text ? words.redacted : writing ? <LiveMarkdown text={text} /> : <Markdown text={text} />}</div> : null}
    </section>
  );
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0]?.replace(/[*_#`]/g, "").slice(0, 160) ?? "";
}

const LEVELS: Record<t.NoticeItem["level"], IconName> = { debug: "info", info: "info", warning: "warning", error: "warning" };

export function NoticeLine({ item }: { item: t.NoticeItem }): JSX.Element {
  return (
    <div class={`notice ${item.level}`}>
      <Icon name={LEVELS[item.level]} size={14} />
      {item.detail && item.code !== "limit" ? (
        <details>
          <summary>{showHidden(item.text)}</summary>
          <pre tabIndex={0}>{item.detail}</pre>
        </details>
      ) : (
        <span>{showHidden(item.text)}</span>
      )}
    </div>
  );
}

export function CompactionLine({ item }: { item: t.CompactionItem }): JSX.Element {
  const before = item.tokens_before === null ? "?" : formatTokens(item.tokens_before);
  const after = item.tokens_after === null ? "?" : formatTokens(item.tokens_after);
  const text = { running: words.compacting, done: words.compacted(before, after), failed: words.compactFailed(item.error) }[item.status];
  return (
    <div class={`notice ${item.status === "failed" ? "error" : "info"}`}>
      <Icon name="archive" size={14} />
      <span>{text}</span>
    </div>
  );
}

export function CommandLine({ item }: { item: t.CommandItem }): JSX.Element {
  return (
    <section class="card command" aria-label={`${words.command}: ${item.command}`}>
      <header class="card-head plain">
        <Icon name="terminal" />
        <span class="card-kind">{words.command}</span>
        <code class="card-title">{item.command}</code>
        {item.exit_code === null ? null : <span class={`exit ${item.exit_code ? "bad" : "good"}`}>{texts.tools.exit(item.exit_code)}</span>}
      </header>
      <div class="card-body">
        <Output text={item.output} />
        {item.truncated ? <p class="hint">{texts.tools.truncated}</p> : null}
      </div>
    </section>
  );
}

export function RewindLine({ item }: { item: t.RewindItem }): JSX.Element {
  return (
    <div class="notice info">
      <Icon name="back" size={14} />
      <span title={item.files.join("\n")}>{words.rewound(item.files.length)}</span>
    </div>
  );
}

/** A message that its agent has not repeated: it is on its way, or the agent never got it. */
export function SentPrompt({ prompt, lost }: { prompt: t.QueuedPrompt; lost: boolean }): JSX.Element {
  return (
    <article class="said you" aria-label={words.you}>
      <div class="bubble">
        <Blocks blocks={prompt.content} plain />
      </div>
      <div class="said-foot">
        <time>{formatClock(prompt.at)}</time>
        {lost ? <span>{words.notDelivered}</span> : null}
      </div>
    </article>
  );
}

interface TurnLineProps {
  turn: t.TurnView;
  session: OpenSession;
  /** No turn came after it. */
  last: boolean;
}

export function TurnLine({ turn, session, last }: TurnLineProps): JSX.Element {
  const [sending, setSending] = useState(false);
  const stopped = turn.stop_reason === "interrupted";
  const again = async (): Promise<void> => {
    setSending(true);
    const content = turn.unconfirmed.flatMap((prompt) => prompt.content);
    await attempt(api.prompt(session.id, { content, mode: "queue", idempotency_key: newKey() }));
    setSending(false);
  };
  return (
    <div class={`notice turn-end ${stopped ? "info" : "error"}`} role={stopped ? undefined : "alert"}>
      <Icon name={stopped ? "stop" : "warning"} size={14} />
      <span class="verbatim">{stopped ? words.interrupted : words.turnFailed(showHidden(turn.error))}</span>
      {last && turn.unconfirmed.length ? (
        <button type="button" class="button small" disabled={sending} onClick={() => void again()}>
          <Icon name="refresh" size={14} />
          {words.tryAgain}
        </button>
      ) : null}
    </div>
  );
}
