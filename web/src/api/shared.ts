// One stream for all tabs of this browser: a browser keeps few connections to a server open (six, over HTTP/1.1), and
// each tab must hear of what waits. The tab that holds the lock reads the stream and passes on what it reads; when it is
// closed, the lock goes to another, whose stream begins with a snapshot of its own.
import { Refusal } from "./client";
import { follow, type StreamEvent, type StreamHandlers } from "./stream";

type Passed =
  | { readonly kind: "events"; readonly events: readonly StreamEvent[] }
  | { readonly kind: "connected"; readonly up: boolean }
  | { readonly kind: "refused"; readonly status: number; readonly title: string; readonly detail: string }
  | { readonly kind: "hello" };

/**
 * Like `follow`. `name` tells streams apart; `recall` gives whoever opens a tab later what the stream began with.
 *
 * Without locks or channels (a page that was not loaded over https, an old browser) each tab has its own stream.
 */
export function followTogether(name: string, handlers: StreamHandlers, recall: () => readonly StreamEvent[]): () => void {
  if (!navigator.locks || typeof BroadcastChannel === "undefined") return follow(handlers);
  const channel = new BroadcastChannel(name);
  const ending = new AbortController();
  let reading = false;
  let up = false;
  const pass = (told: Passed): void => {
    if (!ending.signal.aborted) channel.postMessage(told);
  };
  channel.onmessage = ({ data }: MessageEvent<Passed>): void => {
    if (data.kind === "hello") {
      if (!reading) return;
      pass({ kind: "connected", up });
      pass({ kind: "events", events: recall() });
    } else if (!reading) take(handlers, data);
  };
  pass({ kind: "hello" });
  const read = (): Promise<void> => {
    reading = true;
    const stop = follow({
      address: handlers.address,
      take: (events) => {
        handlers.take(events);
        pass({ kind: "events", events });
      },
      connected: (now) => {
        up = now;
        handlers.connected?.(now);
        pass({ kind: "connected", up });
      },
      refused: (problem) => {
        handlers.refused(problem);
        pass({ kind: "refused", status: problem.status, title: problem.title, detail: problem.detail });
      },
    });
    return new Promise((resolve) => {
      ending.signal.addEventListener("abort", () => {
        stop();
        resolve();
      });
    });
  };
  navigator.locks.request(name, { signal: ending.signal }, read).catch(() => undefined); // given up before it was ours
  return () => {
    ending.abort();
    channel.close();
  };
}

function take(handlers: StreamHandlers, told: Exclude<Passed, { kind: "hello" }>): void {
  if (told.kind === "events") handlers.take(told.events);
  else if (told.kind === "connected") handlers.connected?.(told.up);
  else handlers.refused(new Refusal(told.status, told.title, told.detail));
}
