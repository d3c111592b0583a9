// Everything that needs somebody, across all sessions: the list of sessions and the requests that wait, kept live.
import { computed, signal } from "@preact/signals";
import { api, type Refusal } from "../api/client";
import { readJson, writeJson } from "../api/json";
import { followTogether } from "../api/shared";
import type { StreamEvent } from "../api/stream";
import type { News, RequestInfo, SessionInfo, Snapshot } from "../api/types";
import { token } from "./token";

const LISTED = 200;

export type Connection = "connecting" | "up" | "down" | "refused";

export const connection = signal<Connection>("connecting");
export const sessions = signal<ReadonlyMap<string, SessionInfo>>(new Map());
export const sessionsLoaded = signal(false);
export const waiting = signal<readonly RequestInfo[]>([]);

/** The latest active first; those put aside are asked for by themselves. */
export const sessionList = computed(() =>
  [...sessions.value.values()].filter((each) => !each.archived).sort((one, other) => other.updated_at - one.updated_at),
);

export function putSession(info: SessionInfo): void {
  const next = new Map(sessions.value);
  next.set(info.id, info);
  sessions.value = next;
}

export function dropSession(id: string): void {
  const next = new Map(sessions.value);
  next.delete(id);
  sessions.value = next;
  waiting.value = waiting.value.filter((request) => request.session !== id);
}

function putRequest(request: RequestInfo): void {
  const others = waiting.value.filter((each) => each.id !== request.id);
  waiting.value = request.state === "open" ? [...others, request].sort((a, b) => a.opened_at - b.opened_at) : others;
}

export async function reloadSessions(): Promise<void> {
  const page = await api.sessions({ limit: LISTED });
  const kept = [...sessions.value.values()].filter((each) => each.archived);
  sessions.value = new Map([...kept, ...page.sessions].map((each) => [each.id, each]));
  sessionsLoaded.value = true;
}

function takeNews(news: News): void {
  if (news.event === "SessionDeleted") {
    dropSession(news.session);
    return;
  }
  if (news.info && news.event === "SessionArchived") putSession(news.info);
  else if (news.info) {
    const known = sessions.value.get(news.session);
    if (!known || news.info.last_seq >= known.last_seq) putSession({ ...news.info, archived: known?.archived ?? news.info.archived });
  }
  if (news.request) putRequest(news.request);
}

function takeSnapshot(snapshot: Snapshot): void {
  waiting.value = [...snapshot.requests].sort((a, b) => a.opened_at - b.opened_at);
  for (const info of snapshot.sessions) putSession(info);
}

/** What the stream would begin with now, for a tab that was opened later. */
function recall(): readonly StreamEvent[] {
  const snapshot = { requests: waiting.value, sessions: [...sessions.value.values()].filter((each) => !each.archived) };
  return [{ id: "", event: "snapshot", data: writeJson(snapshot) }];
}

/**
 * Follow until the returned function is called. A reconnect begins with a snapshot, so nothing is missed. All tabs with
 * the same token share one stream.
 */
export function followAttention(): () => void {
  connection.value = "connecting";
  return followTogether(`footplate.news.${token.value}`, {
    address: () => "/api/events",
    take: (events) => {
      for (const event of events) {
        if (event.event === "snapshot") takeSnapshot(readJson(event.data) as Snapshot);
        else if (event.event === "request" || event.event === "session") takeNews(readJson(event.data) as News);
      }
    },
    connected: (up) => {
      connection.value = up ? "up" : "down";
      if (up) reloadSessions().catch(() => undefined); // the stream's own end tells when the server is gone again
    },
    refused: (problem: Refusal) => {
      connection.value = "refused";
      if (problem.status === 401) token.value = "";
    },
  }, recall);
}
