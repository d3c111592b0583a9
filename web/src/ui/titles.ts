// What a session is called where it has no title of its own.
import type { SessionInfo } from "../api/types";
import { texts } from "../texts";
import { baseName } from "./format";

export function titleOf(info: Pick<SessionInfo, "title" | "cwd"> | undefined): string {
  if (!info) return texts.loading;
  return info.title || (info.cwd ? baseName(info.cwd) : texts.sessions.untitled);
}
