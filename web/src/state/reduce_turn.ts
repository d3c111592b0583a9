// How the events of a turn change a session's view; the twin of src/footplate/events/reduce_turn.py.
import type * as t from "../api/types";
import type { Draft } from "./draft";

type At = t.Envelope;

function newTurn(id: string, at: At): t.TurnView {
  return {
    id,
    started_at: at.time,
    prompts: [],
    unconfirmed: [],
    origin: "",
    ok: null,
    answer: "",
    error: "",
    error_kind: "",
    stop_reason: null,
    structured_output: null,
    usage: null,
    denials: [],
    ended_at: null,
  };
}

export function turnStarted(draft: Draft, event: t.TurnStarted, at: At): void {
  const prompts = event.prompts ?? [];
  draft.turns.set(event.turn, { ...newTurn(event.turn, at), prompts, unconfirmed: draft.takeQueued(prompts), origin: event.origin ?? "" });
  draft.set({ turn: event.turn });
}

/** The prompt belongs to the turn that runs from here on. */
export function promptSteered(draft: Draft, event: t.PromptSteered): void {
  const taken = draft.takeQueued([event.prompt]);
  const running = draft.facts.turn === null ? undefined : draft.turns.get(draft.facts.turn);
  if (running && !running.prompts.includes(event.prompt)) {
    draft.turns.set(running.id, { ...running, prompts: [...running.prompts, event.prompt], unconfirmed: [...running.unconfirmed, ...taken] });
  }
}

/** A turn's figures are added to the session's once; what its messages left unfinished goes. */
export function turnEnded(draft: Draft, event: t.TurnEnded, at: At): void {
  const before = draft.turns.get(event.turn) ?? newTurn(event.turn, at);
  if (before.ok !== null) return;
  const taken = draft.takeQueued(event.prompts ?? []);
  draft.turns.set(event.turn, {
    ...before,
    prompts: event.prompts?.length ? event.prompts : before.prompts,
    unconfirmed: event.ok ? [] : [...before.unconfirmed, ...taken],
    origin: event.origin || before.origin,
    ok: event.ok,
    answer: event.answer ?? "",
    error: event.error ?? "",
    error_kind: event.error_kind ?? "",
    stop_reason: event.stop_reason ?? "end_turn",
    structured_output: event.structured_output ?? null,
    usage: event.usage ?? null,
    denials: event.denials ?? [],
    ended_at: at.time,
  });
  draft.set({
    turn: draft.facts.turn === event.turn ? null : draft.facts.turn,
    resume: event.resume ?? draft.facts.resume,
    usage: addUsage(draft.facts.usage, event.usage ?? {}),
  });
  draft.dropLive(true);
}

function addUsage(total: t.Totals, usage: Partial<t.Usage>): t.Totals {
  const cost = usage.cost_usd ?? null;
  return {
    turns: total.turns + 1,
    input_tokens: total.input_tokens + (usage.input_tokens ?? 0),
    output_tokens: total.output_tokens + (usage.output_tokens ?? 0),
    cache_read_tokens: total.cache_read_tokens + (usage.cache_read_tokens ?? 0),
    cache_write_tokens: total.cache_write_tokens + (usage.cache_write_tokens ?? 0),
    reasoning_tokens: total.reasoning_tokens + (usage.reasoning_tokens ?? 0),
    duration_ms: total.duration_ms + (usage.duration_ms ?? 0),
    cost_usd: cost === null ? total.cost_usd : (total.cost_usd ?? 0) + cost,
  };
}

/** What the session has cost: the sum of its turns, and until one has told its cost the engine's own figure. */
export function costOf(facts: Pick<t.SessionView, "usage" | "meter">): number | null {
  return facts.usage.cost_usd ?? facts.meter.cost_usd;
}

export function userMessage(draft: Draft, event: t.UserMessage, at: At): void {
  draft.put({
    type: "user",
    id: event.message,
    turn: draft.turnOf(at),
    at: at.time,
    content: event.content,
    prompt: event.prompt ?? null,
    synthetic: event.synthetic ?? false,
    parent: event.parent ?? null,
  });
  if (event.prompt != null) {
    draft.leaveQueue([event.prompt]);
    confirm(draft, event.prompt, draft.turnOf(at));
  }
}

function confirm(draft: Draft, prompt: string, turn: string | null): void {
  const held = turn === null ? undefined : draft.turns.get(turn);
  if (held?.unconfirmed.length) draft.turns.set(held.id, { ...held, unconfirmed: held.unconfirmed.filter((each) => each.id !== prompt) });
}

function hasPart(item: t.MessageItem | t.ThoughtItem | undefined, part: number): boolean {
  return item?.parts.some((known) => known.part === part) ?? false;
}

/** The parts in order of their numbers; the new one replaces one of its number. */
function withPart(parts: readonly t.TextPart[], part: number, text: string): t.TextPart[] {
  return [...parts.filter((known) => known.part < part), { part, text }, ...parts.filter((known) => known.part > part)];
}

/** A delta of a part that is finished already is late and says nothing new. */
export function messageDelta(draft: Draft, event: t.MessageDelta): void {
  if (hasPart(draft.item("message", event.message), event.part)) return;
  draft.stream("message", event.message, event.part, event.text, event.parent ?? null, event.reset ?? false);
}

export function message(draft: Draft, event: t.Message, at: At): void {
  const item = draft.item("message", event.message) ?? {
    type: "message",
    id: event.message,
    turn: draft.turnOf(at),
    at: at.time,
    parts: [],
    model: "",
    synthetic: false,
    parent: event.parent ?? null,
  };
  draft.put({
    ...item,
    parts: withPart(item.parts, event.part, event.text),
    model: event.model || item.model,
    synthetic: event.synthetic ?? false,
  });
  draft.settle("message", event.message, event.part);
}

export function thoughtDelta(draft: Draft, event: t.ThoughtDelta): void {
  if (hasPart(draft.item("thought", event.message), event.part)) return;
  draft.stream("thought", event.message, event.part, event.text, event.parent ?? null, event.reset ?? false);
}

export function thought(draft: Draft, event: t.Thought, at: At): void {
  const item = draft.item("thought", event.message) ?? {
    type: "thought",
    id: event.message,
    turn: draft.turnOf(at),
    at: at.time,
    parts: [],
    redacted: false,
    parent: event.parent ?? null,
  };
  draft.put({
    ...item,
    parts: withPart(item.parts, event.part, event.text),
    redacted: item.redacted || (event.redacted ?? false),
  });
  draft.settle("thought", event.message, event.part);
}

/** A parent that is not known is no parent: so nesting never goes in circles. */
export function toolStarted(draft: Draft, event: t.ToolStarted, at: At): void {
  if (draft.item("tool", event.call)) return;
  const parent = event.parent != null && draft.item("tool", event.parent) ? event.parent : null;
  draft.put({
    type: "tool",
    id: event.call,
    turn: draft.turnOf(at),
    at: at.time,
    name: event.name,
    kind: event.kind,
    title: event.title,
    message: event.message ?? null,
    input: event.input ?? null,
    detail: event.detail ?? null,
    status: "running",
    ok: null,
    content: [],
    note: "",
    elapsed_s: null,
    ended_at: null,
    parent,
    children: [],
    counts: { calls: 0, running: 0, failed: 0 },
    plan: [],
  });
  if (parent !== null) {
    draft.adopt(event.call, parent);
    draft.count(parent, { calls: 1, running: 1 });
  }
}

/** With nothing but deltas an update is ephemeral: something durable will replace it. */
export function isBareUpdate(event: t.ToolUpdated): boolean {
  return !(event.title || event.input !== undefined || event.detail || event.note || event.elapsed_s != null);
}

/** What is absent stays. The whole input replaces the pieces of it. */
export function toolUpdated(draft: Draft, event: t.ToolUpdated): void {
  const item = draft.item("tool", event.call);
  if (!item || item.ok !== null) return;
  const reset = event.reset ?? false;
  if (event.input_delta) draft.stream("tool_input", item.id, 0, event.input_delta, item.parent, reset);
  if (event.output_delta) draft.stream("tool_output", item.id, 0, event.output_delta, item.parent, reset);
  if (isBareUpdate(event)) return;
  draft.put({
    ...item,
    title: event.title || item.title,
    input: event.input === undefined ? item.input : event.input,
    detail: event.detail ?? item.detail,
    elapsed_s: event.elapsed_s ?? item.elapsed_s,
    note: event.note || item.note,
  });
  if (event.input !== undefined) draft.settle("tool_input", item.id, 0);
}

export function toolEnded(draft: Draft, event: t.ToolEnded, at: At): void {
  const item = draft.item("tool", event.call);
  if (!item || item.ok !== null) return;
  draft.put({
    ...item,
    status: event.outcome,
    ok: event.ok,
    content: event.content ?? [],
    detail: event.detail ?? item.detail,
    note: event.note || item.note,
    ended_at: at.time,
  });
  draft.settle("tool_input", item.id, 0);
  draft.settle("tool_output", item.id, 0);
  draft.count(item.parent, { running: -1, failed: event.ok ? 0 : 1 });
}

/** The session's plan, or a sub-agent's, which stands with the call that started it. */
export function planChanged(draft: Draft, event: t.PlanChanged): void {
  if (event.parent == null) {
    draft.set({ plan: event.entries });
    return;
  }
  const item = draft.item("tool", event.parent);
  if (item) draft.put({ ...item, plan: event.entries });
}

export function taskStarted(draft: Draft, event: t.TaskStarted, at: At): void {
  if (draft.tasks.has(event.task)) return;
  draft.tasks.set(event.task, {
    id: event.task,
    started_at: at.time,
    kind: event.kind ?? "other",
    title: event.title ?? "",
    prompt: event.prompt ?? "",
    agent_type: event.agent_type ?? "",
    background: event.background ?? false,
    call: event.call ?? null,
    status: "running",
    note: "",
    summary: "",
    output_file: "",
    ended_at: null,
  });
}

export function taskUpdated(draft: Draft, event: t.TaskUpdated): void {
  const task = draft.tasks.get(event.task);
  if (!task || task.ended_at !== null) return;
  draft.tasks.set(event.task, {
    ...task,
    status: event.status ?? task.status,
    note: event.note || task.note,
    background: event.background ?? task.background,
  });
}

export function taskEnded(draft: Draft, event: t.TaskEnded, at: At): void {
  const task = draft.tasks.get(event.task);
  if (!task || task.ended_at !== null) return;
  draft.tasks.set(event.task, {
    ...task,
    status: event.status,
    summary: event.summary ?? "",
    output_file: event.output_file ?? "",
    call: event.call ?? task.call,
    ended_at: at.time,
  });
}

/** A request that is asked again by a new process keeps its answer and when it was first asked. */
export function requestOpened(draft: Draft, event: t.RequestOpened, at: At): void {
  const held = draft.requests.get(event.request.id);
  if (held) {
    draft.requests.set(event.request.id, { ...held, request: event.request, detached: false });
    return;
  }
  draft.requests.set(event.request.id, {
    request: event.request,
    opened_at: at.time,
    state: "open",
    detached: false,
    sent: false,
    turn: draft.turnOf(at),
    parent: event.parent ?? null,
    answer: null,
    answered_by: "",
    answered_from: "",
    answered_at: null,
    reason: "",
    ended_at: null,
  });
}

/** The first answer counts. */
export function requestAnswered(draft: Draft, event: t.RequestAnswered, at: At): void {
  const held = draft.requests.get(event.request);
  if (held?.state !== "open") return;
  draft.requests.set(event.request, {
    ...held,
    state: "answered",
    answer: event.answer,
    answered_by: event.by,
    answered_from: event.surface ?? "",
    answered_at: at.time,
  });
}

export function requestSent(draft: Draft, event: t.RequestSent): void {
  const held = draft.requests.get(event.request);
  if (held) draft.requests.set(event.request, { ...held, sent: true });
}

export function closeRequest(draft: Draft, id: string, at: At, state: t.RequestView["state"], reason = ""): void {
  const held = draft.requests.get(id);
  if (held) draft.closeRequest({ ...held, state, reason, detached: false, ended_at: at.time });
}
