// A request as a card needs it, whether it comes from a session's view or from the list of all that waits.
import type * as t from "../../api/types";

export interface Asked extends Omit<t.Request, "call" | "engine_request" | "mode" | "rules"> {
  readonly session: string;
  readonly detached: boolean;
  readonly openedAt: number;
}

export function askedOf(held: t.RequestView, session: string): Asked {
  return { ...held.request, session, detached: held.detached, openedAt: held.opened_at };
}

export function askedOfInfo(info: t.RequestInfo): Asked {
  return { ...info, openedAt: info.opened_at };
}

const SHOWN = ["input", "detail", "description", "reason", "blocked_path", "content", "suggestions", "options"] as const;

/** Two requests are equal when one answer means the same for both: the same tool, and all that is shown of it. */
export function sameAsked(one: Asked, other: Asked): boolean {
  if (one.id === other.id || one.kind !== "permission" || other.kind !== "permission" || one.tool !== other.tool) return false;
  return one.title === other.title && SHOWN.every((field) => same(one[field], other[field]));
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}
