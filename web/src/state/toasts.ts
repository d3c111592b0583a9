// Short words at the edge of the page: what went wrong, what was done. Read aloud by screen readers.
import { signal } from "@preact/signals";
import { Refusal } from "../api/client";
import { texts } from "../texts";

export interface Toast {
  readonly id: number;
  readonly tone: "info" | "good" | "bad";
  readonly text: string;
}

const SHOWN_MS = 6_000;
let count = 0;

export const toasts = signal<readonly Toast[]>([]);

export function tell(text: string, tone: Toast["tone"] = "info"): void {
  count += 1;
  const toast = { id: count, tone, text };
  toasts.value = [...toasts.value.slice(-3), toast];
  setTimeout(() => dismiss(toast.id), tone === "bad" ? SHOWN_MS * 2 : SHOWN_MS);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** The words of a refusal, or of anything else that was thrown. */
export function wordsOf(problem: unknown): string {
  if (problem instanceof Refusal) {
    if (problem.status === 0) return texts.problems.unreachable;
    return problem.detail || problem.title || texts.problems.status(problem.status);
  }
  return problem instanceof Error ? problem.message : String(problem);
}

/** Does it; a refusal becomes a toast and `undefined`. */
export async function attempt<T>(doing: Promise<T>): Promise<T | undefined> {
  try {
    return await doing;
  } catch (problem) {
    tell(wordsOf(problem), "bad");
    return undefined;
  }
}
