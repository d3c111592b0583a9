// Server-sent events over fetch, so that the token travels in a header. Comes back by itself with the last cursor.
import { signal } from "@preact/signals";
import { callHeaders, Refusal } from "./client";

export interface StreamEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

export interface StreamHandlers {
  /** Where to begin, asked at every (re)connect. */
  address: () => string;
  /** All events of one piece that came from the wire. */
  take: (events: readonly StreamEvent[]) => void;
  /** The server refused for good (no such session, no token): no more attempts. */
  refused: (problem: Refusal) => void;
  /** Told at each change. */
  connected?: (up: boolean) => void;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
const SILENCE_MS = 45_000;

/** When a visitor says so (the network came back, the page is looked at again), every waiting stream tries at once. */
const nudge = signal(0);

export function reconnectNow(): void {
  nudge.value += 1;
}

/** Splits the wire's text into events; an unfinished one waits in pieces, so that a large one is looked at once. */
export class EventParser {
  private pieces: string[] = [];
  private held = "";

  feed(text: string): StreamEvent[] {
    const found: StreamEvent[] = [];
    const all = this.held + text;
    let from = 0;
    for (;;) {
      const end = all.indexOf("\n\n", from);
      if (end < 0) break;
      const event = parseBlock(this.pieces.join("") + all.slice(from, end));
      this.pieces = [];
      if (event) found.push(event);
      from = end + 2;
    }
    this.held = all.length > from && all.endsWith("\n") ? "\n" : "";
    const rest = all.slice(from, all.length - this.held.length);
    if (rest) this.pieces.push(rest);
    return found;
  }
}

function parseBlock(block: string): StreamEvent | null {
  let id = "";
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("data: ")) data.push(line.slice(6));
    else if (line.startsWith("event: ")) event = line.slice(7);
    else if (line.startsWith("id: ")) id = line.slice(4);
  }
  return data.length ? { id, event, data: data.join("\n") } : null;
}

/** Follows a stream until the returned function is called. */
export function follow(handlers: StreamHandlers): () => void {
  const ending = new AbortController();
  void keepFollowing(handlers, ending.signal);
  return () => ending.abort();
}

async function keepFollowing(handlers: StreamHandlers, ending: AbortSignal): Promise<void> {
  let wait = FIRST_WAIT_MS;
  while (!ending.aborted) {
    const outcome = await readOnce(handlers, ending);
    if (ending.aborted) return;
    handlers.connected?.(false);
    if (outcome instanceof Refusal) {
      handlers.refused(outcome);
      return;
    }
    wait = outcome === "read" ? FIRST_WAIT_MS : Math.min(wait * 2, LONGEST_WAIT_MS);
    await pause(wait, ending);
  }
}

function pause(ms: number, ending: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let first = true;
    const stop = nudge.subscribe(() => {
      if (!first) done();
      first = false;
    });
    const timer = setTimeout(done, ms);
    ending.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(timer);
      ending.removeEventListener("abort", done);
      queueMicrotask(() => stop());
      resolve();
    }
  });
}

const FOR_GOOD = new Set([401, 403, 404, 410]);

/** One connection: "read" when something was read, "failed" when not, the refusal when it is for good. */
async function readOnce(handlers: StreamHandlers, ending: AbortSignal): Promise<"read" | "failed" | Refusal> {
  const silent = new AbortController();
  const either = AbortSignal.any([ending, silent.signal]);
  let timer = setTimeout(() => silent.abort(), SILENCE_MS);
  let read = false;
  try {
    const response = await fetch(handlers.address(), {
      headers: callHeaders({ accept: "text/event-stream" }),
      signal: either,
      cache: "no-store",
    });
    if (FOR_GOOD.has(response.status)) return new Refusal(response.status, response.statusText, await words(response));
    if (!response.ok || !response.body) return "failed";
    handlers.connected?.(true);
    const parser = new EventParser();
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return "read";
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENCE_MS);
      read = true;
      const events = parser.feed(decoder.decode(value, { stream: true }));
      if (events.length) handlers.take(events);
    }
  } catch {
    return read ? "read" : "failed"; // the connection broke; the caller comes back with its cursor
  } finally {
    clearTimeout(timer);
  }
}

async function words(response: Response): Promise<string> {
  try {
    return ((await response.json()) as { detail?: string }).detail ?? "";
  } catch {
    return "";
  }
}
