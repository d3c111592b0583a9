// The raw events of a session as they come: all that is kept, then live, each with the time since the one before it.
import { signal } from "@preact/signals";
import { readJson, writeJson } from "../api/json";
import { follow } from "../api/stream";
import type { Envelope } from "../api/types";
import { isEphemeral } from "../state/reduce";
import { wordsOf } from "../state/toasts";

/** One event of the log. `gap`: seconds since the event before it (for one that lasts: that lasts), null for the first. */
export interface LogEntry {
  readonly key: string;
  readonly envelope: Envelope;
  readonly lasting: boolean;
  readonly gap: number | null;
  readonly summary: string;
}

export interface LogFilter {
  readonly type: string;
  readonly words: string;
  readonly passing: boolean;
}

const SUMMARY = 240;
const PASSING_KEPT = 2_000;

export class EventFeed {
  /** Grows by one per frame in which something came: read it, then `entries`. */
  readonly frame = signal(0);
  readonly connected = signal(false);
  readonly problem = signal("");
  /** How often the stream had to come back. */
  readonly drops = signal(0);
  readonly entries: LogEntry[] = [];
  lastSeq = 0;
  epoch = 0;
  private count = 0;
  private passing = 0;
  private lastTime: number | null = null;
  private lastingTime: number | null = null;
  private scheduled = 0;
  private readonly stop: () => void;

  constructor(session: string) {
    this.stop = follow({
      address: () => `/api/sessions/${encodeURIComponent(session)}/events?after=${this.lastSeq}${this.epoch ? `&epoch=${this.epoch}` : ""}`,
      take: (events) => {
        for (const event of events) {
          if (event.event === "reset") this.clear();
          else this.add(readJson(event.data) as Envelope);
        }
        this.schedule();
      },
      connected: (up) => {
        if (!up && this.connected.value) this.drops.value += 1;
        this.connected.value = up;
      },
      refused: (problem) => {
        this.problem.value = wordsOf(problem);
      },
    });
  }

  close(): void {
    cancelAnimationFrame(this.scheduled);
    this.stop();
  }

  private clear(): void {
    this.entries.length = 0;
    this.lastSeq = this.epoch = 0;
    this.passing = 0;
    this.lastTime = this.lastingTime = null;
  }

  private add(envelope: Envelope): void {
    const lasting = !isEphemeral(envelope.event);
    if (lasting && envelope.seq <= this.lastSeq) return; // it came before the stream broke
    if (lasting) {
      this.lastSeq = envelope.seq;
      this.epoch = envelope.epoch ?? 1;
    }
    this.count += 1;
    const before = lasting ? this.lastingTime : this.lastTime;
    const gap = before === null ? null : Math.max(0, envelope.time - before);
    this.lastTime = envelope.time;
    if (lasting) this.lastingTime = envelope.time;
    const key = lasting ? `e${envelope.seq}` : `p${this.count}`;
    this.entries.push({ key, envelope, lasting, gap, summary: summarise(envelope) });
    if (!lasting && (this.passing += 1) > PASSING_KEPT) this.thin();
  }

  /** Pieces that only passed by are not kept for ever: a long answer has a hundred thousand. */
  private thin(): void {
    const kept = this.entries.filter((entry) => entry.lasting);
    this.entries.splice(0, this.entries.length, ...kept);
    this.passing = 0;
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = requestAnimationFrame(() => {
      this.scheduled = 0;
      this.frame.value += 1;
    });
  }
}

/** The event in one line, without its type. */
function summarise(envelope: Envelope): string {
  const { type: _, ...fields } = envelope.event as { type: string };
  const text = writeJson(fields);
  return text.length > SUMMARY ? `${text.slice(0, SUMMARY)}…` : text;
}

/** How many events of each type there are, the names in order. */
export function countTypes(entries: readonly LogEntry[]): [string, number][] {
  const found = new Map<string, number>();
  for (const { envelope } of entries) found.set(envelope.event.type, (found.get(envelope.event.type) ?? 0) + 1);
  return [...found].sort(([one], [other]) => one.localeCompare(other));
}

const searched = new WeakMap<LogEntry, string>();

function searchText(entry: LogEntry): string {
  const known = searched.get(entry);
  if (known !== undefined) return known;
  const text = writeJson(entry.envelope).toLowerCase();
  searched.set(entry, text);
  return text;
}

/** What fits. Words are looked for in the whole event, each of them. */
export function filterLog(entries: readonly LogEntry[], filter: LogFilter): readonly LogEntry[] {
  const words = filter.words.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter((entry) => {
    if (!entry.lasting && !filter.passing) return false;
    if (filter.type && entry.envelope.event.type !== filter.type) return false;
    if (!words.length) return true;
    const text = searchText(entry);
    return words.every((word) => text.includes(word));
  });
}
