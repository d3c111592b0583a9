// The inspector of a session: its event log (filter, payloads, the time between events, a fixture), and the raw lines.
import "../styles/inspector.css";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import { writeJson } from "../api/json";
import { reconnectNow } from "../api/stream";
import { remembered } from "../state/preferences";
import type { OpenSession } from "../state/session";
import { attempt } from "../state/toasts";
import { texts } from "../texts";
import { copyText } from "../ui/clipboard";
import { type ListHandle, VirtualList } from "../ui/conversation/virtual_list";
import { formatSpan } from "../ui/format";
import { Icon } from "../ui/icons";
import { MenuButton } from "../ui/menu";
import { showHidden } from "../ui/visible";
import { Needs } from "../workspace/scope";
import { countTypes, EventFeed, filterLog, type LogEntry } from "./event_feed";
import { clock, moveBetweenRows } from "./log_rows";
import { RawLines } from "./raw_lines";

const words = texts.inspector;
const SLOW_S = 1;

const view = remembered<"events" | "lines">("inspector-view", "events");

export default function Inspector({ session }: { session: OpenSession }): JSX.Element {
  const lines = view.value === "lines";
  return (
    <div class="inspector">
      <span class="switch" role="group" aria-label={words.view}>
        <button type="button" aria-pressed={!lines} onClick={() => (view.value = "events")}>
          {words.title}
        </button>
        <button type="button" aria-pressed={lines} onClick={() => (view.value = "lines")}>
          {words.lines.title}
        </button>
      </span>
      {lines ? (
        <Needs scope="drive">
          <RawLines session={session.id} />
        </Needs>
      ) : (
        <Events session={session.id} />
      )}
    </div>
  );
}

function Events({ session }: { session: string }): JSX.Element {
  const [feed, setFeed] = useState<EventFeed | null>(null);
  useEffect(() => {
    const made = new EventFeed(session);
    setFeed(made);
    return () => made.close();
  }, [session]);
  return feed ? <Log feed={feed} session={session} /> : <p class="empty">{texts.loading}</p>;
}

function Log({ feed, session }: { feed: EventFeed; session: string }): JSX.Element {
  const type = useSignal("");
  const search = useSignal("");
  const passing = useSignal(false);
  const open = useSignal<ReadonlySet<string>>(new Set());
  const away = useSignal(false);
  const list = useRef<ListHandle | null>(null);
  const frame = feed.frame.value;
  const types = useMemo(() => countTypes(feed.entries), [feed, frame]);
  const shown = useMemo(
    () => filterLog(feed.entries, { type: type.value, words: search.value, passing: passing.value }),
    [feed, frame, type.value, search.value, passing.value],
  );
  const toggle = (key: string): void => {
    const next = new Set(open.value);
    if (!next.delete(key)) next.add(key);
    open.value = next;
  };
  return (
    <div class="event-log" onKeyDown={moveBetweenRows}>
      <div class="event-tools">
        <input class="field" type="search" aria-label={words.search} placeholder={words.search} value={search.value} onInput={(event) => (search.value = event.currentTarget.value)} />
        <select class="field" aria-label={words.type} value={type.value} onChange={(event) => (type.value = event.currentTarget.value)}>
          <option value="">{words.allTypes}</option>
          {types.map(([name, number]) => (
            <option key={name} value={name}>{`${name} (${number})`}</option>
          ))}
        </select>
        <label class="tick">
          <input type="checkbox" checked={passing.value} onChange={(event) => (passing.value = event.currentTarget.checked)} />
          {words.passing}
        </label>
        <MenuButton
          label={words.copy}
          icon="copy"
          text={words.copy}
          quiet={false}
          items={[
            { id: "fixture", text: words.fixture, hint: words.fixtureHint, act: () => void copyFixture(session) },
            { id: "shown", text: words.copyShown(shown.length), act: () => copyText(shown.map((entry) => `${writeJson(entry.envelope)}\n`).join("")) },
          ]}
        />
      </div>
      <StreamState feed={feed} shown={shown.length} />
      <VirtualList
        rows={shown}
        label={words.log}
        handle={list}
        onAway={(now) => (away.value = now)}
        empty={<p class="empty">{feed.problem.value || (feed.entries.length ? words.noneFits : texts.loading)}</p>}
        draw={(entry) => <Entry entry={entry} open={open.value.has(entry.key)} toggle={() => toggle(entry.key)} />}
      />
      {away.value ? (
        <button type="button" class="button small to-end" onClick={() => list.current?.toEnd()}>
          <Icon name="down" size={12} />
          {texts.conversation.latest}
        </button>
      ) : null}
    </div>
  );
}

function StreamState({ feed, shown }: { feed: EventFeed; shown: number }): JSX.Element {
  const up = feed.connected.value;
  void feed.frame.value;
  return (
    <p class="stream-state">
      <span class="link-state" data-state={up ? "up" : "down"} role="status">
        <span class="dot" aria-hidden="true" />
        {up ? texts.connection.up : texts.connection.down}
      </span>
      <span>{words.counted(shown, feed.entries.length)}</span>
      <span>{words.cursor(feed.lastSeq, feed.epoch)}</span>
      {feed.drops.value ? <span>{words.drops(feed.drops.value)}</span> : null}
      {up ? null : (
        <button type="button" class="button small" onClick={reconnectNow}>
          {texts.connection.now}
        </button>
      )}
    </p>
  );
}

function Entry({ entry, open, toggle }: { entry: LogEntry; open: boolean; toggle: () => void }): JSX.Element {
  const { envelope, gap } = entry;
  const payload = open ? writeJson(envelope, 2) : "";
  return (
    <div class="event" data-lasting={entry.lasting} data-source={envelope.source}>
      <button type="button" class="event-line" aria-expanded={open} onClick={toggle}>
        <span class="seq">{entry.lasting ? envelope.seq : "·"}</span>
        <time dateTime={new Date(envelope.time * 1000).toISOString()}>{clock(envelope.time)}</time>
        <span class="gap" data-slow={gap !== null && gap >= SLOW_S}>
          {gap === null ? "" : words.gap(formatGap(gap))}
        </span>
        <strong>{envelope.event.type}</strong>
        <code>{showHidden(entry.summary)}</code>
      </button>
      {open ? (
        <div class="payload">
          <pre tabIndex={0}>{showHidden(payload)}</pre>
          <button type="button" class="button small" onClick={() => copyText(payload)}>
            <Icon name="copy" size={14} />
            {texts.copy}
          </button>
        </div>
      ) : null}
    </div>
  );
}

/** The whole log as an export is: `footplate store import` takes it, and so do tests. */
async function copyFixture(session: string): Promise<void> {
  const answer = await attempt(api.exported(session));
  if (answer) copyText(await answer.text());
}

function formatGap(seconds: number): string {
  if (seconds < 1) return texts.time.milliseconds(Math.round(seconds * 1000));
  return formatSpan(seconds);
}
