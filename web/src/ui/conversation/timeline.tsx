// The conversation: rows near the view, kept at the end while nobody scrolls away, searchable.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { memo } from "preact/compat";
import { useEffect, useRef } from "preact/hooks";
import type { RequestView } from "../../api/types";
import { onKey } from "../../state/keys";
import type { OpenSession } from "../../state/session";
import { texts } from "../../texts";
import { Icon } from "../icons";
import { askedOf } from "../requests/asked";
import { RequestCard } from "../requests/request_card";
import { Find } from "./find";
import { AgentMessage, AgentThought, CommandLine, CompactionLine, NoticeLine, RewindLine, SentPrompt, TurnLine, UserMessage } from "./messages";
import { type Row, rowsOf } from "./rows";
import { ToolCard, requestOf } from "./tool_card";
import { type ListHandle, VirtualList } from "./virtual_list";

const words = texts.conversation;

export function Timeline({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const handle = useRef<ListHandle | null>(null);
  const away = useSignal(false);
  const finding = useSignal(false);
  useEffect(() => {
    const stop = [
      onKey("find", () => {
        finding.value = true;
      }),
      onKey("latest", () => handle.current?.toEnd()),
    ];
    return () => stop.forEach((each) => each());
  }, []);
  const rows = rowsOf(session);
  return (
    <div class="conversation">
      {finding.value ? <Find session={session} go={(key) => handle.current?.toKey(key)} close={() => (finding.value = false)} /> : null}
      <VirtualList
        rows={rows}
        label={words.label}
        handle={handle}
        onAway={(is) => (away.value = is)}
        draw={(row) => <RowView row={row} session={session} held={heldOf(row, session)} />}
        empty={
          <div class="nothing-yet">
            <p>{words.empty}</p>
            <p class="hint">{words.emptyHint}</p>
          </div>
        }
      />
      {away.value ? (
        <button type="button" class="button to-latest" onClick={() => handle.current?.toEnd()}>
          <Icon name="down" size={14} />
          {words.latest}
        </button>
      ) : null}
    </div>
  );
}

function heldOf(row: Row, session: OpenSession): RequestView | undefined {
  return row.kind === "item" && row.item.type === "tool" ? requestOf(session, row.item.id) : undefined;
}

interface RowProps {
  row: Row;
  session: OpenSession;
  held: RequestView | undefined;
}

const RowView = memo(
  function RowView({ row, session, held }: RowProps): JSX.Element | null {
    switch (row.kind) {
      case "turn":
        return <TurnLine turn={row.turn} session={session} last={row.last} />;
      case "prompt":
        return <SentPrompt prompt={row.prompt} lost={row.lost} />;
      case "request":
        return <RequestCard asked={askedOf(row.held, session.id)} modes={session.choices.value.modes} />;
      case "live":
        return row.live[0]?.kind === "thought" ? <AgentThought item={null} live={row.live} /> : <AgentMessage item={null} live={row.live} />;
      case "item":
        break;
    }
    const { item, live } = row;
    switch (item.type) {
      case "user":
        return <UserMessage item={item} session={session} />;
      case "message":
        return <AgentMessage item={item} live={live} />;
      case "thought":
        return <AgentThought item={item} live={live} />;
      case "tool":
        return <ToolCard item={item} live={live} session={session} held={held} />;
      case "notice":
        return <NoticeLine item={item} />;
      case "compaction":
        return <CompactionLine item={item} />;
      case "command":
        return <CommandLine item={item} />;
      case "rewind":
        return <RewindLine item={item} />;
    }
  },
  (before, after) => sameRow(before.row, after.row) && before.held === after.held,
);

function sameRow(one: Row, other: Row): boolean {
  if (one === other) return true;
  if (one.kind === "item" && other.kind === "item") return one.item === other.item && one.live.length === 0 && other.live.length === 0;
  if (one.kind === "turn" && other.kind === "turn") return one.turn === other.turn && one.last === other.last;
  if (one.kind === "prompt" && other.kind === "prompt") return one.prompt === other.prompt && one.lost === other.lost;
  return one.kind === "request" && other.kind === "request" && one.held === other.held;
}
