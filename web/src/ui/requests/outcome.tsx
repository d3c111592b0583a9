// What became of a request: who answered, from where, and whether the agent has it.
import type { JSX } from "preact";
import type { Answer, RequestView } from "../../api/types";
import { texts } from "../../texts";
import { formatClock } from "../format";
import { Icon } from "../icons";

const words = texts.requests;

/** The answer in a word or two. */
export function describeAnswer(held: RequestView): string {
  const { answer } = held;
  if (!answer) return "";
  if (answer.type === "choose") {
    const option = held.request.options?.find((each) => each.id === answer.option);
    return option?.label ?? words.words.choose;
  }
  return plainAnswer(answer);
}

function plainAnswer(answer: Exclude<Answer, { type: "choose" }>): string {
  switch (answer.type) {
    case "allow":
      if (answer.updated_input !== undefined && answer.updated_input !== null) return words.words.allowChanged;
      if (answer.scope === "session" || answer.scope === "exact") return words.words.allowSession;
      return answer.scope === "always" ? words.words.allowAlways : words.words.allowOnce;
    case "deny":
      return answer.interrupt ? words.words.denyStop : words.words.deny;
    case "reply":
      return Object.values(answer.answers).flat().join(", ") || words.words.reply;
    case "decline":
      return words.words.decline;
  }
}

export function RequestOutcome({ held }: { held: RequestView }): JSX.Element {
  const bad = held.state === "rejected" || held.state === "unanswered" || held.answer?.type === "deny" || held.answer?.type === "decline";
  const message = held.answer?.type === "deny" ? held.answer.message : "";
  return (
    <div class="outcome" data-state={held.state} data-bad={bad} role="status">
      <Icon name={bad ? "close" : "check"} size={14} />
      {held.answer ? (
        <span>
          <strong>{describeAnswer(held)}</strong> {words.answeredBy(held.answered_by || "?", held.answered_from)}
          {held.answered_at === null ? "" : ` · ${formatClock(held.answered_at)}`}
          {message ? <em> “{message}”</em> : null}
        </span>
      ) : null}
      <span class="hint">{endWords(held)}</span>
    </div>
  );
}

function endWords(held: RequestView): string {
  switch (held.state) {
    case "applied":
      return words.applied;
    case "answered":
      return words.notApplied;
    case "rejected":
      return words.rejected(held.reason);
    case "withdrawn":
      return words.withdrawn;
    case "unanswered":
      return held.reason || words.unanswered;
    case "open":
      return "";
  }
}
