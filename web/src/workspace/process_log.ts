// The output of a process as it comes, and its end.
import { signal } from "@preact/signals";
import { api } from "../api/client";
import { follow } from "../api/stream";
import type { ChildInfo, Piece } from "../api/types";
import { wordsOf } from "../state/toasts";
import { texts } from "../texts";
import { cleanOutput } from "../ui/conversation/output";

/** Text of one stream, one after the other. */
export interface LogPart {
  readonly stream: Piece["stream"] | "gap";
  readonly text: string;
}

const KEPT = 400_000;

export class ProcessLog {
  /** Grows by one per frame in which something came. */
  readonly frame = signal(0);
  readonly connected = signal(false);
  readonly problem = signal("");
  parts: LogPart[] = [];
  private readonly decoders = new Map<string, TextDecoder>();
  private last = 0;
  private size = 0;
  private scheduled = 0;
  private done = false;
  private readonly stop: () => void;

  /** `ended` is told when the process has ended and all that it said is here. */
  constructor(
    readonly process: string,
    private readonly ended: (info: ChildInfo) => void,
  ) {
    this.stop = follow({
      address: () => `/v1/processes/${encodeURIComponent(process)}/logs?follow=true&since=${this.last}`,
      take: (events) => {
        for (const event of events) {
          if (event.event === "log") this.add(JSON.parse(event.data) as Piece);
          else if (event.event === "gap") this.push({ stream: "gap", text: texts.processes.gap });
        }
        this.schedule();
      },
      connected: (up) => {
        this.connected.value = up;
        if (!up) void this.checkEnd();
      },
      refused: (problem) => {
        this.problem.value = wordsOf(problem);
      },
    });
  }

  close(): void {
    this.done = true;
    cancelAnimationFrame(this.scheduled);
    this.stop();
  }

  get text(): string {
    return this.parts.map((part) => part.text).join("");
  }

  /** The stream ends with the process; when it was cut, the rest is asked for before that. */
  private async checkEnd(): Promise<void> {
    try {
      const info = await api.process(this.process);
      if (info.status !== "exited" || this.done) return;
      const rest = await api.processLogs(this.process, this.last);
      if (this.done) return;
      this.close();
      for (const piece of rest.entries) this.add(piece);
      this.frame.value += 1;
      this.ended(info);
    } catch {
      return; // the server is gone; the stream comes back by itself
    }
  }

  private add(piece: Piece): void {
    if (piece.sequence <= this.last) return;
    this.last = piece.sequence;
    const decoder = this.decoders.get(piece.stream) ?? new TextDecoder();
    this.decoders.set(piece.stream, decoder);
    const bytes = Uint8Array.from(atob(piece.data), (letter) => letter.charCodeAt(0));
    this.push({ stream: piece.stream, text: cleanOutput(decoder.decode(bytes, { stream: true })) });
  }

  /** Joins what belongs together, and lets go of the beginning of what is too long to show. */
  private push(part: LogPart): void {
    const before = this.parts.at(-1);
    if (before && before.stream === part.stream && before.text.length < 20_000) {
      this.parts[this.parts.length - 1] = { stream: part.stream, text: before.text + part.text };
    } else this.parts.push(part);
    this.size += part.text.length;
    while (this.size > KEPT && this.parts.length > 1) this.size -= this.parts.shift()?.text.length ?? 0;
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = requestAnimationFrame(() => {
      this.scheduled = 0;
      this.frame.value += 1;
    });
  }
}
