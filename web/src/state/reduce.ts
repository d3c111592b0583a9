// State = fold(events): the twin of src/footplate/events/reduce.py, checked against it on the same recorded logs.
import type { Envelope, Event, SessionView } from "../api/types";
import { Draft } from "./draft";
import * as session from "./reduce_session";
import * as turn from "./reduce_turn";

type Handlers = { [K in Event["type"]]: (draft: Draft, event: Extract<Event, { type: K }>, at: Envelope) => void };

const TABLE: Handlers = {
  SessionOpened: session.sessionOpened,
  EngineAttached: session.engineAttached,
  EngineDetached: session.engineDetached,
  StateChanged: session.stateChanged,
  ModeChanged: (draft, event) => draft.set({ mode: event.mode }),
  ModelChanged: (draft, event) => draft.set({ model: event.model }),
  EffortChanged: (draft, event) => draft.set({ effort: event.effort }),
  ConfigChanged: (draft, event) => draft.set({ options: event.options }),
  CommandsChanged: (draft, event) => draft.set({ commands: event.commands }),
  TitleChanged: (draft, event) => draft.set({ title: event.title }),
  SessionClosed: session.sessionClosed,
  PromptQueued: session.promptQueued,
  PromptWithdrawn: (draft, event) => draft.leaveQueue([event.prompt]),
  PromptSteered: turn.promptSteered,
  TurnStarted: turn.turnStarted,
  UserMessage: turn.userMessage,
  MessageDelta: turn.messageDelta,
  Message: turn.message,
  ThoughtDelta: turn.thoughtDelta,
  Thought: turn.thought,
  ToolStarted: turn.toolStarted,
  ToolUpdated: turn.toolUpdated,
  ToolEnded: turn.toolEnded,
  PlanChanged: turn.planChanged,
  TaskStarted: turn.taskStarted,
  TaskUpdated: turn.taskUpdated,
  TaskEnded: turn.taskEnded,
  UsageReported: session.usageReported,
  TurnEnded: turn.turnEnded,
  RequestOpened: turn.requestOpened,
  RequestAnswered: turn.requestAnswered,
  RequestSent: turn.requestSent,
  RequestApplied: (draft, event, at) => turn.closeRequest(draft, event.request, at, "applied"),
  RequestRejected: (draft, event, at) => turn.closeRequest(draft, event.request, at, "rejected", event.reason),
  RequestWithdrawn: (draft, event, at) => turn.closeRequest(draft, event.request, at, "withdrawn", event.reason),
  RequestUnanswered: (draft, event, at) => turn.closeRequest(draft, event.request, at, "unanswered", event.reason),
  RuleAdded: session.ruleAdded,
  RuleRevoked: session.ruleRevoked,
  CompactionStarted: session.compactionStarted,
  CompactionEnded: session.compactionEnded,
  LimitReached: session.limitReached,
  Parked: session.parked,
  CommandRan: session.commandRan,
  FilesRewound: session.filesRewound,
  Notice: session.notice,
  Unparsed: session.unparsed,
};

export function isEphemeral(event: Event): boolean {
  if (event.type === "MessageDelta" || event.type === "ThoughtDelta") return true;
  return event.type === "ToolUpdated" && turn.isBareUpdate(event);
}

/** Folds envelopes as they come; each costs the same however long the session is. */
export class SessionReducer {
  readonly draft: Draft;

  constructor(view: SessionView = initial()) {
    this.draft = new Draft(view);
  }

  get lastSeq(): number {
    return this.draft.lastSeq;
  }

  /** Take in one envelope; false when it was seen before and changed nothing. */
  apply(envelope: Envelope): boolean {
    const { draft } = this;
    const { event } = envelope;
    if (isEphemeral(event)) {
      if (envelope.seq < draft.lastSeq) return false;
    } else if (envelope.seq <= draft.lastSeq) {
      return false;
    } else {
      draft.lastSeq = envelope.seq;
      draft.updatedAt = envelope.time;
      draft.epoch = envelope.epoch ?? 1;
    }
    const handler = TABLE[event.type] as ((draft: Draft, event: Event, at: Envelope) => void) | undefined;
    if (handler) handler(draft, event, envelope);
    else draft.set({ unknown: draft.facts.unknown + 1 });
    return true;
  }

  view(): SessionView {
    return this.draft.snapshot();
  }
}

/** The view of a session of which nothing is known yet. */
export function initial(): SessionView {
  return {
    session: "",
    epoch: 1,
    last_seq: 0,
    opened_at: null,
    updated_at: null,
    state: "starting",
    waiting_for: "",
    until: null,
    title: "",
    closed_reason: "",
    forked_from: null,
    engine: "",
    version: "",
    cwd: "",
    model: "",
    mode: "",
    effort: "",
    output_style: "",
    credentials: "",
    resume: null,
    resumable: true,
    attached: false,
    exit: null,
    tools: [],
    mcp_servers: [],
    agents: [],
    commands: [],
    options: [],
    turn: null,
    turns: [],
    items: [],
    live: [],
    plan: [],
    tasks: [],
    requests: [],
    closed_requests: [],
    queue: [],
    usage: {
      turns: 0,
      input_tokens: 0,
      output_tokens: 0,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      reasoning_tokens: 0,
      duration_ms: 0,
      cost_usd: null,
    },
    meter: { used: null, size: null, cost_usd: null, model: "" },
    limits: [],
    rules: [],
    unknown: 0,
    unparsed: 0,
  };
}
