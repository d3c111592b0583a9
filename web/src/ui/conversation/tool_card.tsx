// One call of a tool: what it is at a glance, its details on demand, and the request that waits for it.
import type { JSX } from "preact";
import { useContext, useState } from "preact/hooks";
import type * as t from "../../api/types";
import type { OpenSession } from "../../state/session";
import { texts } from "../../texts";
import { formatSpan, shortFolder } from "../format";
import { Folder, relativePath } from "../folder";
import { Icon, type IconName } from "../icons";
import { RequestCard } from "../requests/request_card";
import { askedOf } from "../requests/asked";
import { changeRequest } from "../requests/input_parts";
import { RequestOutcome } from "../requests/outcome";
import { showLine } from "../visible";
import { ToolBody } from "./tool_body";

const ICONS: Record<t.ToolItem["kind"], IconName> = {
  command: "terminal",
  file_change: "edit",
  read: "file",
  search: "search",
  web: "globe",
  subagent: "agent",
  todo: "list",
  question: "question",
  plan: "map",
  mcp: "plug",
  other: "tool",
};
const OPEN_AT_FIRST = new Set<t.ToolItem["kind"]>(["command", "file_change", "todo", "plan", "question"]);

interface ToolCardProps {
  item: t.ToolItem;
  live: readonly t.LivePart[];
  session: OpenSession;
  /** The request that waits, or waited, for this call. */
  held: t.RequestView | undefined;
}

export function requestOf(session: OpenSession, call: string): t.RequestView | undefined {
  for (const held of session.draft.requests.values()) if (held.request.call === call) return held;
  for (let place = session.draft.closed.length - 1; place >= 0; place -= 1) {
    const held = session.draft.closed[place];
    if (held?.request.call === call) return held;
  }
  return undefined;
}

export function ToolCard({ item, live, session, held }: ToolCardProps): JSX.Element {
  const asks = held?.state === "open";
  const [open, setOpen] = useState<boolean | null>(null);
  const shown = asks || (open ?? (OPEN_AT_FIRST.has(item.kind) || item.status === "failed"));
  const edited = held !== undefined && changeRequest(held.request, held.answer, held.state) !== null;
  const running = item.status === "running";
  const title = titleOf(item, useContext(Folder));
  return (
    <section class={`card ${item.kind}`} data-status={item.status} data-asks={asks} aria-label={`${texts.tools.kinds[item.kind]}: ${title}`}>
      <button type="button" class="card-head" aria-expanded={shown} onClick={() => setOpen(!shown)}>
        <Icon name={ICONS[item.kind]} />
        <span class="card-kind">{item.kind === "mcp" || item.kind === "other" ? showLine(item.name) : texts.tools.kinds[item.kind]}</span>
        <span class="card-title">{title}</span>
        {edited ? <span class="hint">{texts.requests.edited}</span> : null}
        <Figures item={item} />
        <span class={`status ${item.status}`}>
          {running && !asks ? <span class="spinner" aria-hidden="true" /> : null}
          {item.status === "completed" ? <Icon name="check" size={14} /> : null}
          <span class={item.status === "completed" ? "visually-hidden" : undefined}>{asks ? texts.states.waiting : texts.tools.status[item.status]}</span>
        </span>
        <Icon name={shown ? "up" : "down"} size={12} />
      </button>
      {edited && shown && !saysWhatRan(item) ? <p class="hint as-asked">{texts.requests.asAsked}</p> : null}
      {shown && !asks ? <ToolBody item={item} live={live} session={session} /> : null}
      {held && asks ? <RequestCard asked={askedOf(held, session.id)} headed={title} modes={session.choices.value.modes} /> : null}
      {held && !asks ? <RequestOutcome held={held} /> : null}
    </section>
  );
}

/** Whether the detail is that of what ran: engines tell the hunks of a changed file afterwards, and nothing else. */
function saysWhatRan({ ok, detail }: t.ToolItem): boolean {
  return ok === true && detail?.kind === "file_change" && (detail.changes ?? []).every((change) => change.hunks?.length);
}

function titleOf(item: t.ToolItem, folder: string): string {
  return showLine(plainTitle(item, folder));
}

function plainTitle(item: t.ToolItem, folder: string): string {
  const detail = item.detail;
  if (detail?.kind === "command") return detail.command.split("\n", 1)[0] ?? "";
  if (detail?.kind === "file_change" && detail.changes?.length === 1) return shortPath(detail.changes[0]?.path ?? "", folder);
  if (detail?.kind === "read") return shortPath(detail.path, folder);
  return item.title || item.name;
}

function shortPath(path: string, folder: string): string {
  const near = relativePath(path, folder);
  return near === path ? shortFolder(path) : near;
}

function Figures({ item }: { item: t.ToolItem }): JSX.Element {
  const detail = item.detail;
  const seconds = item.ended_at === null ? item.elapsed_s : item.ended_at - item.at;
  return (
    <span class="figures">
      {item.counts.calls ? <span>{texts.tools.calls(item.counts.calls)}</span> : null}
      {item.counts.running ? <span class="accent">{texts.tools.running(item.counts.running)}</span> : null}
      {item.counts.failed ? <span class="removed">{texts.tools.failed(item.counts.failed)}</span> : null}
      {detail?.kind === "command" && detail.background ? <span>{texts.tools.background}</span> : null}
      {detail?.kind === "command" && detail.exit_code != null ? (
        <span class={`exit ${detail.exit_code ? "bad" : "good"}`}>{texts.tools.exit(detail.exit_code)}</span>
      ) : null}
      {seconds !== null && seconds >= 1 ? <span>{formatSpan(seconds)}</span> : null}
    </span>
  );
}
