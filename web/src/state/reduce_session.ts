// How events about a session as a whole change its view; the twin of src/footplate/events/reduce_session.py.
import type * as t from "../api/types";
import { type Draft, limitKey } from "./draft";

type At = t.Envelope;

export function sessionOpened(draft: Draft, event: t.SessionOpened, at: At): void {
  draft.set({
    session: at.session,
    opened_at: at.time,
    engine: event.engine,
    cwd: event.cwd,
    title: event.title ?? "",
    model: event.model ?? "",
    mode: event.mode ?? "",
    effort: event.effort ?? "",
    resume: event.resumed ?? null,
    forked_from: event.forked_from ?? null,
  });
}

function told<T>(list: readonly T[] | undefined, before: readonly T[]): readonly T[] {
  return list?.length ? list : before;
}

/** What the event leaves empty keeps its value; lists are told whole or not at all. */
export function engineAttached(draft: Draft, event: t.EngineAttached): void {
  const before = draft.facts;
  draft.set({
    attached: true,
    engine: event.engine,
    resume: { engine: event.engine, value: event.engine_session_id },
    resumable: event.resumable ?? true,
    version: event.version || before.version,
    model: event.model || before.model,
    mode: event.mode || before.mode,
    cwd: event.cwd || before.cwd,
    output_style: event.output_style || before.output_style,
    credentials: event.credentials || before.credentials,
    tools: told(event.tools, before.tools),
    mcp_servers: told(event.mcp_servers, before.mcp_servers),
    agents: told(event.agents, before.agents),
    commands: before.commands.length ? before.commands : (event.commands ?? []).map((name) => ({ name })),
  });
}

export function engineDetached(draft: Draft, event: t.EngineDetached, at: At): void {
  draft.set({
    attached: false,
    exit: {
      reason: event.reason,
      at: at.time,
      exit_code: event.exit_code ?? null,
      signal: event.signal ?? null,
      stderr: event.stderr ?? "",
    },
  });
  draft.dropLive(false);
  for (const [id, held] of draft.requests) {
    if (!held.request.limit) draft.requests.set(id, { ...held, detached: true });
  }
}

export function stateChanged(draft: Draft, event: t.StateChanged): void {
  draft.set({ state: event.state, waiting_for: event.waiting_for ?? "", until: event.until ?? null });
}

export function sessionClosed(draft: Draft, event: t.SessionClosed): void {
  draft.set({ state: "closed", waiting_for: "", until: null, attached: false, closed_reason: event.reason ?? "" });
  draft.dropLive(false);
}

/** A new prompt goes to the end; one that waits already moves to the position it is told again with. */
export function promptQueued(draft: Draft, event: t.PromptQueued, at: At): void {
  const waiting = draft.queue.find((held) => held.id === event.prompt);
  if (!waiting) {
    draft.queue = [...draft.queue, { id: event.prompt, content: event.content, at: at.time }];
    return;
  }
  draft.leaveQueue([event.prompt]);
  const place = Math.max(0, Math.min(event.position ?? 0, draft.queue.length));
  draft.queue = [...draft.queue.slice(0, place), { ...waiting, content: event.content }, ...draft.queue.slice(place)];
}

export function ruleAdded(draft: Draft, event: t.RuleAdded): void {
  draft.set({ rules: [...draft.facts.rules.filter((rule) => rule.id !== event.rule.id), event.rule] });
}

export function ruleRevoked(draft: Draft, event: t.RuleRevoked): void {
  draft.set({ rules: draft.facts.rules.filter((rule) => rule.id !== event.rule) });
}

export function usageReported(draft: Draft, event: t.UsageReported): void {
  const before = draft.facts.meter;
  draft.set({
    meter: {
      used: event.context_used ?? before.used,
      size: event.context_size ?? before.size,
      cost_usd: event.cost_usd ?? before.cost_usd,
      model: event.model || before.model,
    },
  });
}

/** The latest word on a limit counts; each word is told in the timeline too. */
export function limitReached(draft: Draft, event: t.LimitReached, at: At): void {
  const name = event.name ?? "";
  const text = event.text ?? "";
  const key = limitKey(event.kind, name);
  if (event.status === "clear") draft.limits.delete(key);
  else {
    draft.limits.set(key, {
      kind: event.kind,
      name,
      status: event.status,
      at: at.time,
      resets_at: event.resets_at ?? null,
      utilization: event.utilization ?? null,
      text,
    });
  }
  const level = event.status === "clear" ? "info" : "warning";
  tell(draft, at, { level, text: text || name || event.kind, code: "limit", detail: event.status });
}

export function parked(draft: Draft, event: t.Parked, at: At): void {
  draft.set({ state: "parked", until: event.until ?? null });
  tell(draft, at, { level: "info", text: event.reason, code: "parked" });
}

type Told = Pick<t.NoticeItem, "level" | "text"> & Partial<Pick<t.NoticeItem, "code" | "detail" | "call">>;

function tell(draft: Draft, at: At, words: Told): void {
  draft.put({
    type: "notice",
    id: `notice-${at.seq}`,
    turn: draft.turnOf(at),
    at: at.time,
    level: words.level,
    text: words.text,
    code: words.code ?? "",
    detail: words.detail ?? "",
    call: words.call ?? null,
  });
}

/** A summary of calls is stored as their note; without any of them in the view it is an item of its own. */
export function notice(draft: Draft, event: t.Notice, at: At): void {
  const items = (event.calls ?? []).map((call) => draft.item("tool", call)).filter((item) => item !== undefined);
  for (const item of items) draft.put({ ...item, note: [item.note, event.text].filter(Boolean).join("; ") });
  if (items.length) return;
  tell(draft, at, event);
}

export function unparsed(draft: Draft, event: t.Unparsed, at: At): void {
  draft.set({ unparsed: draft.facts.unparsed + 1 });
  tell(draft, at, { level: "warning", text: event.reason, code: "unparsed", detail: event.raw });
}

function newCompaction(draft: Draft, at: At): t.CompactionItem {
  return {
    type: "compaction",
    id: `compaction-${at.seq}`,
    turn: draft.turnOf(at),
    at: at.time,
    trigger: "",
    status: "running",
    tokens_before: null,
    tokens_after: null,
    error: "",
    ended_at: null,
  };
}

export function compactionStarted(draft: Draft, event: t.CompactionStarted, at: At): void {
  draft.put({ ...newCompaction(draft, at), trigger: event.trigger ?? "" });
}

/** Ends the compaction that runs, or tells of one that nobody saw start; the meter shows the shorter context. */
export function compactionEnded(draft: Draft, event: t.CompactionEnded, at: At): void {
  const item = draft.runningCompaction() ?? newCompaction(draft, at);
  draft.put({
    ...item,
    trigger: event.trigger || item.trigger,
    status: event.ok ? "done" : "failed",
    tokens_before: event.tokens_before ?? null,
    tokens_after: event.tokens_after ?? null,
    error: event.error ?? "",
    ended_at: at.time,
  });
  if (event.tokens_after != null) draft.set({ meter: { ...draft.facts.meter, used: event.tokens_after } });
}

export function commandRan(draft: Draft, event: t.CommandRan, at: At): void {
  draft.put({
    type: "command",
    id: `command-${at.seq}`,
    turn: draft.turnOf(at),
    at: at.time,
    command: event.command,
    output: event.output,
    exit_code: event.exit_code ?? null,
    truncated: event.truncated ?? false,
  });
}

export function filesRewound(draft: Draft, event: t.FilesRewound, at: At): void {
  draft.put({
    type: "rewind",
    id: `rewind-${at.seq}`,
    turn: draft.turnOf(at),
    at: at.time,
    message: event.message,
    files: event.files ?? [],
  });
}
