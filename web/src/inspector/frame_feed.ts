// The raw lines of a session's agents: the newest first, older ones on demand, new ones by looking again and again.
import { signal } from "@preact/signals";
import { api, Refusal } from "../api/client";
import type { FrameLine } from "../api/types";
import { wordsOf } from "../state/toasts";

export type Direction = FrameLine["direction"];

/** One line of the list. `raw` is the beginning of the line only. */
export interface FrameRow extends FrameLine {
  readonly key: string;
}

const FIRST = 1_000;
const MORE = 5_000;
const PREVIEW = 160;
const LOOK_MS = 1_500;

export class FrameFeed {
  /** Grows by one when lines have come. */
  readonly frame = signal(0);
  readonly problem = signal("");
  readonly loading = signal(true);
  /** Whether older lines can be loaded. */
  readonly older = signal(false);
  rows: readonly FrameRow[] = [];
  /** The number of the oldest line that the server still has. */
  first = 1;
  private after = 0;
  private before: number | null = null;
  private closed = false;
  /** The session was deleted, or may not be read: to ask again changes nothing. */
  private refused = false;
  private timer = 0;

  constructor(
    private readonly session: string,
    private readonly direction: Direction | "",
  ) {
    void this.begin();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  /** Load a page of older lines. */
  async loadOlder(): Promise<void> {
    if (this.loading.value) return;
    this.loading.value = true;
    await this.attempt(() => this.readOlder(MORE));
    this.loading.value = false;
  }

  /** Load all older lines, a page at a time. */
  async loadAll(): Promise<void> {
    if (this.loading.value) return;
    this.loading.value = true;
    while (this.older.value && !this.closed && (await this.attempt(() => this.readOlder(MORE))));
    this.loading.value = false;
  }

  private async begin(): Promise<void> {
    await this.attempt(() => this.readOlder(FIRST));
    this.loading.value = false;
    this.lookLater();
  }

  private async readOlder(limit: number): Promise<void> {
    const page = await this.read({ order: "newest", limit, before: this.before });
    if (this.before === null) this.after = page.last;
    this.before = page.cursor;
    this.first = page.first;
    this.older.value = page.more;
    this.rows = [...page.frames.map(row).reverse(), ...this.rows];
    this.frame.value += 1;
  }

  private lookLater(): void {
    if (this.closed || this.refused) return;
    this.timer = window.setTimeout(() => void this.look(), LOOK_MS);
  }

  /** Ask for lines that are new. A page in the background does not ask. */
  private async look(): Promise<void> {
    const read = (): Promise<void> => (this.before === null ? this.readOlder(FIRST) : this.readNewer());
    if (document.visibilityState === "visible") await this.attempt(read);
    this.lookLater();
  }

  private async readNewer(): Promise<void> {
    for (;;) {
      const page = await this.read({ after: this.after, limit: MORE });
      this.after = page.cursor;
      this.first = page.first;
      if (page.frames.length) {
        this.rows = [...this.rows, ...page.frames.map(row)];
        this.frame.value += 1;
      }
      if (!page.more || this.closed) return;
    }
  }

  private read(query: Parameters<typeof api.frames>[1]): ReturnType<typeof api.frames> {
    return api.frames(this.session, { ...query, direction: this.direction ? [this.direction] : [], chars: PREVIEW });
  }

  /** Whether it went well; what went wrong is shown, and nothing is lost by that. */
  private async attempt(read: () => Promise<void>): Promise<boolean> {
    try {
      await read();
      this.problem.value = "";
      return true;
    } catch (problem) {
      if (!this.closed) this.problem.value = wordsOf(problem);
      this.refused = problem instanceof Refusal && isFinal(problem.status);
      return false;
    }
  }
}

/** Not when the server is away (0), has a problem of its own (5xx), or wants to be asked later. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

function row(frame: FrameLine): FrameRow {
  return { ...frame, key: `f${frame.number}` };
}

export interface FrameFilter {
  readonly type: string;
  readonly words: string;
}

/** How many lines of each type there are, the names in order. */
export function countFrameTypes(rows: readonly FrameRow[]): [string, number][] {
  const found = new Map<string, number>();
  for (const { type } of rows) found.set(type, (found.get(type) ?? 0) + 1);
  return [...found].sort(([one], [other]) => one.localeCompare(other));
}

/** What fits. Words are looked for in the type and in the beginning of the line, each of them. */
export function filterFrames(rows: readonly FrameRow[], filter: FrameFilter): readonly FrameRow[] {
  const words = filter.words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length && !filter.type) return rows;
  return rows.filter((frame) => {
    if (filter.type && frame.type !== filter.type) return false;
    if (!words.length) return true;
    const text = `${frame.type} ${frame.raw}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The whole text of lines, as far as it is stored, each with a newline. */
export async function wholeLines(session: string, rows: readonly FrameRow[]): Promise<string> {
  const wanted = new Set(rows.map((frame) => frame.number));
  const end = (rows.at(-1)?.number ?? 0) + 1;
  const lines: string[] = [];
  let after = (rows[0]?.number ?? 1) - 1;
  for (;;) {
    const page = await api.frames(session, { after, before: end, limit: MORE });
    for (const frame of page.frames) if (wanted.has(frame.number)) lines.push(`${frame.raw}\n`);
    if (!page.more) return lines.join("");
    after = page.cursor;
  }
}
