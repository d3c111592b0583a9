// The raw lines between the service and a session's agents: filter by direction, type and words; each can be opened.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import { readJson, writeJson } from "../api/json";
import type { FrameLine } from "../api/types";
import { attempt, wordsOf } from "../state/toasts";
import { texts } from "../texts";
import { copyText } from "../ui/clipboard";
import { type ListHandle, VirtualList } from "../ui/conversation/virtual_list";
import { formatBytes } from "../ui/format";
import { Icon } from "../ui/icons";
import { MenuButton } from "../ui/menu";
import { showHidden } from "../ui/visible";
import { countFrameTypes, type Direction, filterFrames, FrameFeed, type FrameRow, wholeLines } from "./frame_feed";
import { clock, moveBetweenRows } from "./log_rows";

const words = texts.inspector.lines;
const DIRECTIONS: readonly Direction[] = ["in", "out", "err", "gap"];

export function RawLines({ session }: { session: string }): JSX.Element {
  const direction = useSignal<Direction | "">("");
  const [feed, setFeed] = useState<FrameFeed | null>(null);
  useEffect(() => {
    const made = new FrameFeed(session, direction.value);
    setFeed(made);
    return () => made.close();
  }, [session, direction.value]);
  const choose = (
    <select class="field" aria-label={words.direction} value={direction.value} onChange={(event) => (direction.value = event.currentTarget.value as Direction | "")}>
      <option value="">{words.allDirections}</option>
      {DIRECTIONS.map((each) => (
        <option key={each} value={each}>
          {words.directions[each]}
        </option>
      ))}
    </select>
  );
  return feed ? <Lines key={direction.value} feed={feed} session={session} choose={choose} /> : <p class="empty">{texts.loading}</p>;
}

function Lines({ feed, session, choose }: { feed: FrameFeed; session: string; choose: JSX.Element }): JSX.Element {
  const type = useSignal("");
  const search = useSignal("");
  const open = useSignal<ReadonlySet<string>>(new Set());
  const away = useSignal(false);
  const list = useRef<ListHandle | null>(null);
  const frame = feed.frame.value;
  const types = useMemo(() => countFrameTypes(feed.rows), [feed, frame]);
  const shown = useMemo(() => filterFrames(feed.rows, { type: type.value, words: search.value }), [feed, frame, type.value, search.value]);
  const toggle = (key: string): void => {
    const next = new Set(open.value);
    if (!next.delete(key)) next.add(key);
    open.value = next;
  };
  const older = async (load: () => Promise<void>): Promise<void> => {
    const before = feed.rows[0]?.key;
    await load();
    if (before) list.current?.toKey(before); // the list stays where it was
  };
  return (
    <div class="event-log" onKeyDown={moveBetweenRows}>
      <div class="event-tools">
        <input class="field" type="search" aria-label={words.search} placeholder={words.search} value={search.value} onInput={(event) => (search.value = event.currentTarget.value)} />
        {choose}
        <select class="field" aria-label={words.type} value={type.value} onChange={(event) => (type.value = event.currentTarget.value)}>
          <option value="">{texts.inspector.allTypes}</option>
          {types.map(([name, number]) => (
            <option key={name} value={name}>{`${name} (${number})`}</option>
          ))}
        </select>
        <MenuButton
          label={texts.inspector.copy}
          icon="copy"
          text={texts.inspector.copy}
          quiet={false}
          items={[{ id: "shown", text: words.copyShown(shown.length), act: () => void copyLines(session, shown) }]}
        />
      </div>
      <p class="stream-state">
        <span role="status">{words.counted(shown.length, feed.rows.length)}</span>
        {feed.problem.value ? <span class="bad">{feed.problem.value}</span> : null}
        {feed.older.value ? (
          <>
            <button type="button" class="button small" disabled={feed.loading.value} onClick={() => void older(() => feed.loadOlder())}>
              {words.older}
            </button>
            <button type="button" class="button small" disabled={feed.loading.value} onClick={() => void older(() => feed.loadAll())}>
              {words.all}
            </button>
          </>
        ) : null}
        {!feed.older.value && feed.first > 1 ? <span>{words.removed(feed.first)}</span> : null}
      </p>
      <VirtualList
        rows={shown}
        label={words.log}
        handle={list}
        onAway={(now) => (away.value = now)}
        empty={<p class="empty">{feed.loading.value ? texts.loading : feed.rows.length ? words.noneFits : words.none}</p>}
        draw={(each) => <Line line={each} session={session} open={open.value.has(each.key)} toggle={() => toggle(each.key)} />}
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

function Line({ line, session, open, toggle }: { line: FrameRow; session: string; open: boolean; toggle: () => void }): JSX.Element {
  return (
    <div class="event raw-line" data-direction={line.direction}>
      <button type="button" class="event-line" aria-expanded={open} onClick={toggle}>
        <span class="seq">{line.number}</span>
        <time dateTime={new Date(line.time * 1000).toISOString()}>{clock(line.time)}</time>
        <span class="gap">{formatBytes(line.size)}</span>
        <strong>
          <span class="direction">{words.directions[line.direction]}</span> {line.direction === "in" || line.direction === "out" ? line.type : ""}
        </strong>
        <code dir="ltr">{showHidden(line.raw)}</code>
      </button>
      {open ? <Whole line={line} session={session} /> : null}
    </div>
  );
}

/** The whole line, loaded when it is opened. */
function Whole({ line, session }: { line: FrameRow; session: string }): JSX.Element {
  const [whole, setWhole] = useState<FrameLine | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let here = true;
    api.frames(session, { after: line.number - 1, before: line.number + 1, limit: 1 }).then(
      (page) => {
        if (!here) return;
        const found = page.frames[0];
        if (found) setWhole(found);
        else setProblem(words.gone);
      },
      (refusal: unknown) => here && setProblem(wordsOf(refusal)),
    );
    return () => {
      here = false;
    };
  }, [session, line.number]);
  if (!whole) return <p class="empty">{problem || texts.loading}</p>;
  return (
    <div class="payload">
      <pre tabIndex={0} dir="ltr">
        {showHidden(pretty(whole.raw))}
      </pre>
      {whole.cut ? <p class="cut">{words.cut(formatBytes(whole.size))}</p> : null}
      <p class="cut">{words.after(whole.seq)}</p>
      <button type="button" class="button small" onClick={() => copyText(whole.raw)}>
        <Icon name="copy" size={14} />
        {texts.copy}
      </button>
    </div>
  );
}

/** JSON indented; anything else as it is. */
function pretty(raw: string): string {
  try {
    return writeJson(readJson(raw, true), 2);
  } catch {
    return raw;
  }
}

async function copyLines(session: string, rows: readonly FrameRow[]): Promise<void> {
  const text = await attempt(wholeLines(session, rows));
  if (text !== undefined) copyText(text);
}
