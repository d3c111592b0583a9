// Calls of the public HTTP API. Every refusal is a Problem with the server's own words; nothing else is thrown.
import { token } from "../state/token";
import { readJson, writeJson } from "./json";
import type * as t from "./types";

/** What the server (or the way to it) said no with. `status` 0: the server was not reached. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly problem: Partial<t.Problem> = {},
  ) {
    super(detail || title);
  }
}

export interface CallOptions {
  method?: string;
  body?: unknown;
  raw?: BodyInit;
  query?: Record<string, string | number | boolean | readonly string[] | null | undefined>;
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

function address(path: string, query: CallOptions["query"]): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === null || value === undefined || value === "") continue;
    if (Array.isArray(value)) for (const each of value) given.append(name, String(each));
    else given.append(name, String(value));
  }
  const text = given.toString();
  return text ? `${path}?${text}` : path;
}

/** The headers that every call has. */
export function callHeaders(more: Record<string, string> = {}): Record<string, string> {
  const headers: Record<string, string> = { "x-footplate-surface": "web", ...more };
  if (token.value) headers.authorization = `Bearer ${token.value}`;
  return headers;
}

/** The response itself; raises `Refusal` unless it is a success. */
export async function fetchRaw(path: string, options: CallOptions = {}): Promise<Response> {
  const json: Record<string, string> = options.body === undefined ? {} : { "content-type": "application/json" };
  let response: Response;
  try {
    response = await fetch(address(path, options.query), {
      method: options.method ?? (options.body === undefined && options.raw === undefined ? "GET" : "POST"),
      headers: callHeaders({ ...json, ...options.headers }),
      body: options.raw ?? (options.body === undefined ? undefined : writeJson(options.body)),
      signal: options.signal,
      cache: "no-store",
    });
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
    throw new Refusal(0, "", "");
  }
  if (response.ok) return response;
  throw await refusalOf(response);
}

async function refusalOf(response: Response): Promise<Refusal> {
  try {
    const problem = (await response.json()) as t.Problem;
    return new Refusal(response.status, problem.title ?? "", problem.detail ?? "", problem);
  } catch {
    return new Refusal(response.status, response.statusText, "");
  }
}

async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  const response = await fetchRaw(path, options);
  const text = await response.text();
  return (text ? readJson(text) : undefined) as T;
}

const at = (session: string, rest = "") => `/api/sessions/${encodeURIComponent(session)}${rest}`;

const child = (process: string, rest = "") => `/v1/processes/${encodeURIComponent(process)}${rest}`;

/** Each call by its name. Add yours here: path, body and answer are typed from the generated types. */
export const api = {
  info: () => call<t.Info>("/api/info"),
  engines: () => call<t.EngineList>("/api/engines"),
  projects: () => call<t.ProjectList>("/api/projects"),
  entries: (path?: string) => call<readonly t.Entry[]>("/v1/fs/entries", { query: { path } }),
  stat: (path: string) => call<t.Facts>("/v1/fs/stat", { query: { path } }),
  readFile: (path: string, known = "") =>
    fetchRaw("/v1/fs/file", { query: { path }, headers: known ? { "if-none-match": known } : {} }),
  writeFile: (path: string, raw: BodyInit, only: { over?: string; fresh?: boolean } = {}) =>
    fetchRaw("/v1/fs/file", {
      method: "PUT",
      query: { path },
      raw,
      headers: {
        "content-type": "application/octet-stream",
        ...(only.over ? { "if-match": only.over } : {}),
        ...(only.fresh ? { "if-none-match": "*" } : {}),
      },
    }),
  makeFolder: (path: string) => call<t.PathDone>("/v1/fs/mkdir", { method: "POST", query: { path } }),
  moveEntry: (from: string, to: string) => call<t.Moved>("/v1/fs/move", { body: { from, to, overwrite: false } }),
  removeEntry: (path: string, recursive: boolean) =>
    call<t.PathDone>("/v1/fs/entry", { method: "DELETE", query: { path, recursive } }),

  gitStatus: (path: string) => call<t.Status>("/api/git/status", { query: { path } }),
  gitDiff: (query: t.DiffQuery) => call<t.Diff>("/api/git/diff", { query: { ...query } }),
  gitStage: (path: string, files: readonly string[]) => call<t.Status>("/api/git/stage", { body: { path, files } }),
  gitUnstage: (path: string, files: readonly string[]) => call<t.Status>("/api/git/unstage", { body: { path, files } }),
  gitCommit: (body: t.NewCommit) => call<t.Commit>("/api/git/commit", { body }),
  gitLog: (path: string, limit: number, skip: number) => call<t.CommitList>("/api/git/log", { query: { path, limit, skip } }),
  gitBranches: (path: string) => call<t.BranchList>("/api/git/branches", { query: { path } }),
  worktrees: () => call<t.WorktreeList>("/api/worktrees", { query: { sizes: false } }),
  makeWorktree: (body: t.NewWorktree) => call<t.Workplace>("/api/worktrees", { body }),
  removeWorktree: (project: string, branch: string, force: boolean) =>
    call<t.Worktree>("/api/worktrees", { method: "DELETE", query: { project, branch, force } }),

  sessions: (query: Partial<t.SessionsListQuery>) => call<t.SessionList>("/api/sessions", { query: { ...query } }),
  session: (id: string, signal?: AbortSignal) => call<t.SessionDetail>(at(id), { signal }),
  create: (body: t.NewSession) => call<t.SessionInfo>("/api/sessions", { body }),
  rename: (id: string, title: string) => call<t.SessionInfo>(at(id, "/title"), { body: { title } }),
  archive: (id: string, archived: boolean) => call<t.SessionInfo>(at(id, "/archive"), { body: { archived } }),
  close: (id: string, reason: string) => call<t.SessionInfo>(at(id, "/close"), { body: { reason } }),
  remove: (id: string) => call<void>(at(id), { method: "DELETE" }),
  fork: (id: string, title: string) => call<t.SessionInfo>(at(id, "/fork"), { body: { title } }),
  frames: (id: string, query: t.FramesQuery) => call<t.FramesPage>(at(id, "/frames"), { query: { ...query } }),
  exported: (id: string) => fetchRaw(at(id, "/export")),
  history: (query: Partial<t.HistoryQuery>) => call<t.HistoryPage>("/api/history", { query: { ...query } }),
  adopt: (session: string) => call<t.SessionInfo>("/api/history/adopt", { body: { session } }),

  prompt: (id: string, body: t.PromptBody) => call<t.Accepted>(at(id, "/prompt"), { body }),
  withdraw: (id: string, prompt: string) =>
    call<void>(at(id, `/queue/${encodeURIComponent(prompt)}`), { method: "DELETE" }),
  reorder: (id: string, prompts: readonly string[]) => call<t.WaitingPrompts>(at(id, "/queue/order"), { body: { prompts } }),
  interrupt: (id: string) => call<void>(at(id, "/interrupt"), { method: "POST" }),
  continueQueue: (id: string) => call<t.WaitingPrompts>(at(id, "/continue"), { method: "POST" }),
  command: (id: string, command: string) => call<t.CommandOutput>(at(id, "/command"), { body: { command } }),
  setMode: (id: string, mode: string) => call<void>(at(id, "/mode"), { body: { mode } }),
  setModel: (id: string, model: string) => call<void>(at(id, "/model"), { body: { model } }),
  setEffort: (id: string, effort: string) => call<void>(at(id, "/effort"), { body: { effort } }),
  stopTask: (id: string, task: string) => call<void>(at(id, `/tasks/${encodeURIComponent(task)}/stop`), { method: "POST" }),
  rewind: (id: string, message: string) => call<void>(at(id, "/rewind"), { body: { message } }),
  suggest: (id: string, q: string) => call<t.FileList>(at(id, "/suggest"), { query: { q } }),
  context: (id: string) => call<t.ContextMeter>(at(id, "/context")),
  changes: (id: string) => call<t.Changes>(at(id, "/changes")),
  revokeRule: (id: string, rule: string) => call<void>(at(id, `/rules/${encodeURIComponent(rule)}`), { method: "DELETE" }),

  requests: (query: Partial<t.RequestsQuery>) => call<t.RequestList>("/api/requests", { query: { ...query } }),
  request: (id: string) => call<t.RequestInfo>(`/api/requests/${encodeURIComponent(id)}`),
  answer: (id: string, body: t.AnswerBody) =>
    call<t.RequestInfo>(`/api/requests/${encodeURIComponent(id)}/answer`, { body }),
  processes: () => call<t.Listed>("/v1/processes", { query: { owner: "user" } }),
  process: (id: string) => call<t.ChildInfo>(child(id)),
  startProcess: (body: t.NewProcess) => call<t.ChildInfo>("/v1/processes", { body }),
  stopProcess: (id: string, waitMs: number) => call<t.ChildInfo>(child(id, "/stop"), { method: "POST", query: { waitMs } }),
  killProcess: (id: string, waitMs: number) => call<t.ChildInfo>(child(id, "/kill"), { method: "POST", query: { waitMs } }),
  forgetProcess: (id: string) => call<void>(child(id), { method: "DELETE" }),
  processLogs: (id: string, since: number) => call<t.Logs>(child(id, "/logs"), { query: { since } }),

  agents: () => call<t.CatalogList>("/api/agents"),
  agent: (id: string) => call<t.CatalogEntry>(`/api/agents/${encodeURIComponent(id)}`),
  install: (id: string) => call<t.CatalogEntry>(`/api/agents/${encodeURIComponent(id)}/install`, { body: { wait: false } }),
  examine: (id: string) => call<t.CatalogEntry>(`/api/agents/${encodeURIComponent(id)}/doctor`, { body: { wait: false } }),
  uninstall: (id: string) => call<void>(`/api/agents/${encodeURIComponent(id)}`, { method: "DELETE" }),
  doctor: () => call<t.Doctor>("/api/doctor"),
  tokens: () => call<t.TokenList>("/api/tokens"),
  issue: (body: t.TokenRequest) => call<t.NewToken>("/api/tokens", { body }),
  revoke: (id: string) => call<void>(`/api/tokens/${encodeURIComponent(id)}`, { method: "DELETE" }),
  push: () => call<t.PushInfo>("/api/push"),
  subscribe: (body: t.Subscribe) => call<t.SubscriptionInfo>("/api/push/subscriptions", { body }),
  unsubscribe: (id: string) => call<void>(`/api/push/subscriptions/${id}`, { method: "DELETE" }),
  tryPush: (id: string) => call<t.Delivery>(`/api/push/subscriptions/${id}/test`, { method: "POST" }),

  answerSeveral: (body: t.SeveralBody) => call<t.Outcomes>("/api/requests/answer", { body }),
};

/** A key that makes sending the same message twice harmless. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `web-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
