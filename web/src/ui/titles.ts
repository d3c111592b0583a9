// What a session is called where it has no title of its own, and how it stands.
import type { SessionInfo } from "../api/types";
import { texts } from "../texts";
import { baseName } from "./format";
import { showLine } from "./visible";

type SessionState = SessionInfo["state"];

/** The state for people: a session whose last turn failed is not just idle. */
export function stateOf(state: SessionState, failed: boolean): SessionState {
  return failed && (state === "idle" || state === "interrupted") ? "failed" : state;
}

export function titleOf(info: Pick<SessionInfo, "title" | "cwd"> | undefined): string {
  if (!info) return texts.loading;
  return showLine(info.title || baseName(info.cwd)) || texts.sessions.untitled;
}
