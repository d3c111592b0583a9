// The line to one terminal on the server: output as bytes, keys and sizes back; comes back by itself after a drop.
import { effect, signal } from "@preact/signals";
import { api, Refusal } from "../api/client";
import { connection } from "../state/attention";
import { wordsOf } from "../state/toasts";
import { token } from "../state/token";

export type LinkState = "connecting" | "open" | "lost" | "ended" | "refused";

type Told =
  | { readonly type: "ready" }
  | { readonly type: "exit"; readonly exitCode: number | null }
  | { readonly type: "error"; readonly message: string };

export interface LinkHandlers {
  /** The screen comes from its beginning: what is shown is no longer true. */
  fresh: () => void;
  /** Output; `done` is called when it is on the screen. */
  output: (data: Uint8Array, done: () => void) => void;
  size: () => { cols: number; rows: number };
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
const TOO_MUCH = 16 * 1024 * 1024;

export class TerminalLink {
  readonly state = signal<LinkState>("connecting");
  /** Why it was refused, or what the server could not use. */
  readonly problem = signal("");
  readonly exitCode = signal<number | null>(null);
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT_MS;
  private timer = 0;
  private waiting = 0;
  private closed = false;
  /** What was typed before the line was there; null from then on. */
  private early: string | null = "";
  private readonly forget: () => void;

  constructor(
    readonly process: string,
    private readonly handlers: LinkHandlers,
  ) {
    this.forget = effect(() => {
      if (connection.value === "up" && this.state.peek() === "lost") this.retry();
    });
    void this.open();
  }

  close(): void {
    this.closed = true;
    this.forget();
    clearTimeout(this.timer);
    this.socket?.close(1000);
  }

  /** Keys. Those of somebody who types before the line is there for the first time are not lost. */
  send(data: string): void {
    if (this.early === null) this.tell({ type: "input", data });
    else this.early += data;
  }

  /** Bytes that are no text, as some mouse reports are. */
  sendBinary(data: string): void {
    this.tell({ type: "input", data: btoa(data), encoding: "base64" });
  }

  resize(cols: number, rows: number): void {
    this.tell({ type: "resize", cols, rows });
  }

  /** Now instead of after the pause. */
  retry(): void {
    clearTimeout(this.timer);
    this.wait = FIRST_WAIT_MS;
    if (this.state.value === "lost") void this.open();
  }

  private tell(frame: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(frame));
  }

  /** Asks for the process first: a socket that is refused does not say why. */
  private async open(): Promise<void> {
    this.state.value = "connecting";
    try {
      await api.process(this.process);
    } catch (problem) {
      if (this.closed) return;
      if (problem instanceof Refusal && problem.status >= 400 && problem.status < 500) this.refuse(wordsOf(problem));
      else this.lose();
      return;
    }
    if (!this.closed) this.connect();
  }

  private connect(): void {
    const query = token.value ? `?access_token=${encodeURIComponent(token.value)}` : "";
    const address = `${location.origin.replace(/^http/, "ws")}/v1/processes/${encodeURIComponent(this.process)}/terminal/ws${query}`;
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.waiting = 0;
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      if (typeof event.data === "string") this.take(JSON.parse(event.data) as Told);
      else this.show(new Uint8Array(event.data), socket);
    };
    socket.onclose = () => {
      if (this.socket === socket && !this.closed && this.state.value !== "ended") this.lose();
    };
  }

  private take(told: Told): void {
    if (told.type === "ready") {
      this.handlers.fresh();
      this.state.value = "open";
      this.wait = FIRST_WAIT_MS;
      const { cols, rows } = this.handlers.size();
      this.resize(cols, rows);
      const early = this.early;
      this.early = null;
      if (early) this.send(early);
    } else if (told.type === "exit") {
      this.exitCode.value = told.exitCode;
      this.state.value = "ended";
    } else this.problem.value = told.message;
  }

  /** A program that writes faster than the screen can show is not queued for ever: the line is taken up anew. */
  private show(data: Uint8Array, socket: WebSocket): void {
    this.waiting += data.length;
    if (this.waiting > TOO_MUCH) {
      socket.close(1000);
      return;
    }
    this.handlers.output(data, () => {
      if (this.socket === socket) this.waiting -= data.length;
    });
  }

  private lose(): void {
    this.state.value = "lost";
    this.timer = window.setTimeout(() => void this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT_MS);
  }

  private refuse(words: string): void {
    this.problem.value = words;
    this.state.value = "refused";
  }
}
