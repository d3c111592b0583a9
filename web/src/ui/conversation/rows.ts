// The lines of a conversation, made from a session's items: top level only, with what is still being written.
import { writeJson } from "../../api/json";
import type { Item, LivePart, QueuedPrompt, RequestView, TurnView } from "../../api/types";
import type { Draft } from "../../state/draft";
import type { OpenSession } from "../../state/session";

export type Row =
  | { readonly kind: "item"; readonly key: string; readonly item: Item; readonly live: readonly LivePart[] }
  | { readonly kind: "live"; readonly key: string; readonly live: readonly LivePart[] }
  | { readonly kind: "turn"; readonly key: string; readonly turn: TurnView; readonly last: boolean }
  | { readonly kind: "prompt"; readonly key: string; readonly prompt: QueuedPrompt; readonly lost: boolean }
  | { readonly kind: "request"; readonly key: string; readonly held: RequestView };

const NONE: readonly LivePart[] = [];

interface Settled {
  draft: Draft;
  version: number;
  turns: number;
  rows: Row[];
}

const settledRows = new WeakMap<OpenSession, Settled>();
const rowOfItem = new WeakMap<Item, Row>();

export function keyOf(item: Pick<Item, "type" | "id">): string {
  return `${item.type}:${item.id}`;
}

function isTop(item: Item): boolean {
  return !("parent" in item) || item.parent === null;
}

function ended(draft: Draft): number {
  let number = 0;
  for (const turn of draft.turns.values()) if (turn.ok !== null) number += 1;
  return number;
}

/** Rows of what is durable; the same array as long as nothing durable changed. */
function settled(session: OpenSession): Row[] {
  const { draft } = session;
  const known = settledRows.get(session);
  const turns = ended(draft);
  if (known && known.draft === draft && known.version === draft.itemsVersion && known.turns === turns) return known.rows;
  const rows: Row[] = [];
  const told = new Set(draft.items.filter(isTop).map((item) => item.turn));
  const latest = [...draft.turns.keys()].at(-1);
  // A turn that failed before its first item has nothing but what was asked and how it ended.
  const bare = [...draft.turns.values()].filter((turn) => turn.ok === false && !told.has(turn.id));
  let last: string | null = null;
  const endTurn = (turn: TurnView | undefined): void => {
    if (turn?.ok !== false) return;
    rows.push(...promptRows(turn));
    rows.push({ kind: "turn", key: `turn:${turn.id}`, turn, last: turn.id === latest });
  };
  const turnOf = (id: string | null): TurnView | undefined => (id === null ? undefined : draft.turns.get(id));
  const endBare = (until: number): void => {
    while (bare[0] && bare[0].started_at <= until) endTurn(bare.shift());
  };
  for (const item of draft.items) {
    if (!isTop(item)) continue;
    if (item.turn !== last) {
      endTurn(turnOf(last));
      last = item.turn;
    }
    endBare(item.at);
    let row = rowOfItem.get(item);
    if (!row) {
      row = { kind: "item", key: keyOf(item), item, live: NONE };
      rowOfItem.set(item, row);
    }
    rows.push(row);
  }
  endTurn(turnOf(last));
  endBare(Infinity);
  settledRows.set(session, { draft, version: draft.itemsVersion, turns, rows });
  return rows;
}

function promptRows(turn: TurnView): Row[] {
  return turn.unconfirmed.map((prompt) => ({ kind: "prompt", key: `prompt:${prompt.id}`, prompt, lost: turn.ok === false }));
}

function itemType(part: LivePart): "message" | "thought" | "tool" {
  return part.kind === "message" || part.kind === "thought" ? part.kind : "tool";
}

/** All rows as they are to be shown now. */
export function rowsOf(session: OpenSession): readonly Row[] {
  const { draft } = session;
  const base = settled(session);
  const live = new Map<string, LivePart[]>();
  for (const part of draft.liveParts()) {
    if (part.parent !== null) continue;
    const key = `${itemType(part)}:${part.id}`;
    const parts = live.get(key);
    if (parts) parts.push(part);
    else live.set(key, [part]);
  }
  const loose = looseRequests(draft);
  const running = draft.facts.turn === null ? undefined : draft.turns.get(draft.facts.turn);
  const sent = running ? promptRows(running) : [];
  if (!live.size && !loose.length && !sent.length) return base;
  const rows = [...base, ...sent];
  const from = Math.max(0, rows.length - 400); // what is being written is near the end
  for (let place = from; place < rows.length; place += 1) {
    const row = rows[place];
    const parts = row && live.get(row.key);
    if (row?.kind !== "item" || !parts) continue;
    rows[place] = { ...row, live: parts };
    live.delete(row.key);
  }
  for (const [key, parts] of live) if (itemType(parts[0] as LivePart) !== "tool") rows.push({ kind: "live", key, live: parts });
  for (const held of loose) rows.push({ kind: "request", key: `request:${held.request.id}`, held });
  return rows;
}

/** Open requests that no card on the top level shows. */
function looseRequests(draft: Draft): RequestView[] {
  return [...draft.requests.values()].filter((held) => {
    const call = held.request.call;
    const item = call == null ? undefined : draft.item("tool", call);
    return !item || item.parent !== null;
  });
}

/** What a search looks at. */
export function textOf(item: Item): string {
  switch (item.type) {
    case "user":
      return item.content.map((block) => ("text" in block ? (block.text ?? "") : "")).join("\n");
    case "message":
    case "thought":
      return item.parts.map((part) => part.text).join("\n");
    case "tool":
      return [item.name, item.title, item.input === null ? "" : writeJson(item.input), ...item.content.map(blockText)].join("\n");
    case "notice":
      return `${item.text}\n${item.detail}`;
    case "command":
      return `${item.command}\n${item.output}`;
    case "compaction":
    case "rewind":
      return "";
  }
}

function blockText(block: { readonly type: string }): string {
  const known = block as { text?: string; output?: string; new_text?: string; path?: string };
  return [known.text, known.output, known.path, known.new_text].filter(Boolean).join("\n");
}
