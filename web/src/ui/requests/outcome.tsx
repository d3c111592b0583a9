// What became of a request: who answered, from where, and whether the agent has it.
import type { JSX } from "preact";
import type { RequestView } from "../../api/types";
import { texts } from "../../texts";
import { formatClock, sentence } from "../format";
import { Icon } from "../icons";
import { describeAnswer, describeEnding } from "./answer_words";
import { changeRequest } from "./input_parts";
import { InputView } from "./input_view";

const words = texts.requests;

export function RequestOutcome({ held }: { held: RequestView }): JSX.Element {
  return (
    <>
      <ChangedInput held={held} />
      <Verdict held={held} />
    </>
  );
}

/** What runs instead of what was asked, where the answer changed it. */
function ChangedInput({ held }: { held: RequestView }): JSX.Element | null {
  const changed = changeRequest(held.request, held.answer, held.state);
  if (!changed) return null;
  return (
    <div class="changed-input">
      <p class="hint">{words.changed}</p>
      <InputView asked={changed} headed={undefined} />
    </div>
  );
}

function Verdict({ held }: { held: RequestView }): JSX.Element {
  const bad = held.state === "rejected" || held.state === "unanswered" || held.answer?.type === "deny" || held.answer?.type === "decline";
  return (
    <div class="outcome" data-state={held.state} data-bad={bad} role="status">
      <Icon name={bad ? "close" : "check"} size={14} />
      {held.answer ? (
        <span>
          {sentence(describeAnswer(held.answer, held.request, held.answered_by, held.answered_from))}
          {held.answered_at === null ? "" : ` · ${formatClock(held.answered_at)}`}
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
    default:
      return sentence(describeEnding(held.state, held.reason));
  }
}
