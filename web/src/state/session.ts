// One open session: its view folded from events, told to the page at most once per frame, resumed from its cursor.
import { signal } from "@preact/signals";
import { api, Refusal } from "../api/client";
import { readJson } from "../api/json";
import { follow } from "../api/stream";
import type { Envelope, RequestView, SessionDetail } from "../api/types";
import type { Draft } from "./draft";
import { SessionReducer } from "./reduce";
import { wordsOf } from "./toasts";

const HIDDEN_MS = 30_000;

export type Standing = "loading" | "ready" | "gone" | "failed";

/** What a session's view does not hold: how it was opened and what may be chosen in it. */
export interface Choices {
  readonly modes: readonly string[];
  readonly efforts: readonly string[];
  readonly resumeLine: string;
  readonly archived: boolean;
}

export class OpenSession {
  readonly standing = signal<Standing>("loading");
  readonly problem = signal("");
  readonly connected = signal(false);
  readonly choices = signal<Choices>({ modes: [], efforts: [], resumeLine: "", archived: false });
  /** Grows by one for each frame in which something changed: read it, then look into `draft`. */
  readonly frame = signal(0);
  private reducer = new SessionReducer();
  private readonly ending = new AbortController();
  private stopFollowing: () => void = () => undefined;
  private scheduled = false;
  private leaving = 0;
  private away = false;

  constructor(readonly id: string) {
    document.addEventListener("visibilitychange", this.mind);
    void this.load();
  }

  get draft(): Draft {
    return this.reducer.draft;
  }

  close(): void {
    document.removeEventListener("visibilitychange", this.mind);
    clearTimeout(this.leaving);
    this.ending.abort();
    this.stopFollowing();
  }

  request(id: string): RequestView | undefined {
    return this.draft.requests.get(id) ?? this.draft.closed.find((held) => held.request.id === id);
  }

  private async load(): Promise<void> {
    this.stopFollowing();
    for (let wait = 250; !this.ending.signal.aborted; wait = Math.min(wait * 2, 5_000)) {
      try {
        this.begin(await api.session(this.id, this.ending.signal));
        return;
      } catch (problem) {
        if (this.ending.signal.aborted) return;
        if (problem instanceof Refusal && problem.status !== 0 && problem.status < 500) {
          this.problem.value = wordsOf(problem);
          this.standing.value = problem.status === 404 ? "gone" : "failed";
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  private begin(detail: SessionDetail): void {
    const { modes, efforts, resume_line, archived } = detail;
    this.choices.value = { modes, efforts, resumeLine: resume_line, archived };
    this.reducer = new SessionReducer(detail);
    this.standing.value = "ready";
    this.frame.value += 1;
    this.follow();
  }

  /** A page that nobody looks at lets its stream go after a while (browsers have few), and goes on from its cursor. */
  private readonly mind = (): void => {
    clearTimeout(this.leaving);
    if (document.hidden) {
      this.leaving = window.setTimeout(() => {
        this.stopFollowing();
        this.away = true;
      }, HIDDEN_MS);
    } else if (this.away && this.standing.value === "ready") this.follow();
  };

  private follow(): void {
    this.away = false;
    this.stopFollowing = follow({
      address: () => `/api/sessions/${encodeURIComponent(this.id)}/events?after=${this.reducer.lastSeq}&epoch=${this.draft.epoch}`,
      take: (events) => {
        for (const event of events) {
          if (event.event === "reset") {
            void this.load();
            return;
          }
          this.reducer.apply(readJson(event.data) as Envelope);
        }
        this.schedule();
      },
      connected: (up) => {
        this.connected.value = up;
      },
      refused: (problem) => {
        this.problem.value = wordsOf(problem);
        this.standing.value = problem.status === 404 ? "gone" : "failed";
      },
    });
  }

  /** However many events a frame brings, the page hears of them once. A page nobody looks at has no frames. */
  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    const flush = (): void => {
      this.scheduled = false;
      if (!this.ending.signal.aborted) this.frame.value += 1;
    };
    if (document.hidden) setTimeout(flush, 200);
    else requestAnimationFrame(flush);
  }
}

/** The session that is looked at; the one before is let go of. */
export const current = signal<OpenSession | null>(null);

export function lookAt(id: string | null): void {
  if (current.value?.id === id) return;
  current.value?.close();
  current.value = id === null ? null : new OpenSession(id);
}
