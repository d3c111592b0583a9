// A session's view in the making: the same facts as src/footplate/events/draft.py, in lists and maps that grow.
import type {
  CompactionItem,
  Envelope,
  Item,
  LimitView,
  LivePart,
  QueuedPrompt,
  RequestView,
  SessionView,
  TaskView,
  ToolItem,
  TurnView,
} from "../api/types";

export const CLOSED_KEPT = 50;

type Facts = Omit<
  SessionView,
  "items" | "turns" | "tasks" | "requests" | "closed_requests" | "queue" | "limits" | "live" | "last_seq" | "updated_at" | "epoch"
>;
type LiveKind = LivePart["kind"];
type ItemOf<K extends Item["type"]> = Extract<Item, { type: K }>;

interface Stream {
  kind: LiveKind;
  id: string;
  part: number;
  text: string;
  parent: string | null;
}

export class Draft {
  facts: Facts;
  lastSeq: number;
  updatedAt: number | null;
  epoch: number;
  readonly turns = new Map<string, TurnView>();
  readonly tasks = new Map<string, TaskView>();
  readonly requests = new Map<string, RequestView>();
  readonly limits = new Map<string, LimitView>();
  closed: RequestView[];
  queue: QueuedPrompt[];
  items: Item[];
  /** Counts changes of `items`, so that a reader knows cheaply whether to look again. */
  itemsVersion = 0;
  private readonly places = new Map<string, number>();
  private readonly live = new Map<string, Stream>();

  constructor(view: SessionView) {
    const { items, turns, tasks, requests, closed_requests, queue, limits, live, last_seq, updated_at, epoch, ...facts } = view;
    this.facts = facts;
    this.lastSeq = last_seq;
    this.updatedAt = updated_at;
    this.epoch = epoch;
    for (const turn of turns) this.turns.set(turn.id, turn);
    for (const task of tasks) this.tasks.set(task.id, task);
    for (const held of requests) this.requests.set(held.request.id, held);
    for (const limit of limits) this.limits.set(limitKey(limit.kind, limit.name), limit);
    this.closed = [...closed_requests];
    this.queue = [...queue];
    this.items = [...items];
    this.items.forEach((item, place) => this.places.set(`${item.type}:${item.id}`, place));
    for (const part of live) this.live.set(liveKey(part.kind, part.id, part.part), { ...part });
  }

  /** The view as it stands; later events do not touch it. */
  snapshot(): SessionView {
    return {
      ...this.facts,
      last_seq: this.lastSeq,
      updated_at: this.updatedAt,
      epoch: this.epoch,
      turns: [...this.turns.values()],
      tasks: [...this.tasks.values()],
      requests: [...this.requests.values()],
      closed_requests: [...this.closed],
      queue: [...this.queue],
      limits: [...this.limits.values()],
      items: [...this.items],
      live: this.liveParts(),
    };
  }

  liveParts(): LivePart[] {
    return [...this.live.values()].map((stream) => ({ ...stream }));
  }

  set(change: Partial<Facts>): void {
    this.facts = { ...this.facts, ...change };
  }

  turnOf(at: Envelope): string | null {
    return at.turn ?? this.facts.turn;
  }

  item<K extends Item["type"]>(type: K, id: string): ItemOf<K> | undefined {
    const place = this.places.get(`${type}:${id}`);
    return place === undefined ? undefined : (this.items[place] as ItemOf<K>);
  }

  put(item: Item): void {
    const key = `${item.type}:${item.id}`;
    const place = this.places.get(key);
    if (place === undefined) {
      this.places.set(key, this.items.length);
      this.items.push(item);
    } else {
      this.items[place] = item;
    }
    this.itemsVersion += 1;
  }

  runningCompaction(): CompactionItem | undefined {
    for (let place = this.items.length - 1; place >= 0; place -= 1) {
      const item = this.items[place];
      if (item?.type === "compaction") return item.status === "running" ? item : undefined;
    }
    return undefined;
  }

  adopt(call: string, parent: string): void {
    const item = this.item("tool", parent);
    if (item) this.put({ ...item, children: [...item.children, call] });
  }

  /** Add to the counts of the call and of all above it. */
  count(parent: string | null, change: { calls?: number; running?: number; failed?: number }): void {
    let above: ToolItem | undefined = parent === null ? undefined : this.item("tool", parent);
    while (above) {
      const counts = {
        calls: above.counts.calls + (change.calls ?? 0),
        running: above.counts.running + (change.running ?? 0),
        failed: above.counts.failed + (change.failed ?? 0),
      };
      this.put({ ...above, counts });
      above = above.parent === null ? undefined : this.item("tool", above.parent);
    }
  }

  stream(kind: LiveKind, id: string, part: number, text: string, parent: string | null, reset: boolean): void {
    const key = liveKey(kind, id, part);
    const known = this.live.get(key);
    if (!known) this.live.set(key, { kind, id, part, text, parent });
    else known.text = reset ? text : known.text + text;
  }

  settle(kind: LiveKind, id: string, part: number): void {
    this.live.delete(liveKey(kind, id, part));
  }

  dropLive(mainOnly: boolean): void {
    for (const [key, stream] of [...this.live]) {
      const main = stream.parent === null && (stream.kind === "message" || stream.kind === "thought");
      if (!mainOnly || main) this.live.delete(key);
    }
  }

  leaveQueue(prompts: readonly string[]): void {
    if (this.queue.length && prompts.length) this.queue = this.queue.filter((waiting) => !prompts.includes(waiting.id));
  }

  /** Remove these prompts from the queue; those that were in it. */
  takeQueued(prompts: readonly string[]): QueuedPrompt[] {
    const taken = this.queue.filter((waiting) => prompts.includes(waiting.id));
    this.leaveQueue(prompts);
    return taken;
  }

  closeRequest(held: RequestView): void {
    this.requests.delete(held.request.id);
    this.closed.push(held);
    if (this.closed.length > CLOSED_KEPT) this.closed.splice(0, this.closed.length - CLOSED_KEPT);
  }
}

export function limitKey(kind: string, name: string): string {
  return `${kind}\n${name}`;
}

function liveKey(kind: LiveKind, id: string, part: number): string {
  return `${kind}\n${id}\n${part}`;
}
