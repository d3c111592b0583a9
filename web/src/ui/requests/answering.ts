// Giving an answer: once, with a word on who was first when somebody else was.
import { signal } from "@preact/signals";
import { api, Refusal } from "../../api/client";
import type { AnswerBody } from "../../api/types";
import { waiting } from "../../state/attention";
import { tell, wordsOf } from "../../state/toasts";
import { texts } from "../../texts";
import { describeAnswerer } from "./answer_words";
import { type Asked, askedOfInfo, sameAsked } from "./asked";

/** Requests whose answer is on its way, or which were answered a moment ago. */
export const sending = signal<ReadonlySet<string>>(new Set());

function mark(id: string, on: boolean): void {
  const next = new Set(sending.value);
  if (on) next.add(id);
  else next.delete(id);
  sending.value = next;
}

/** Others that wait for the very same thing. */
export function equalTo(asked: Asked): Asked[] {
  return waiting.value.map(askedOfInfo).filter((other) => sameAsked(asked, other));
}

export async function answer(asked: Asked, body: AnswerBody, alsoEqual = false): Promise<boolean> {
  const others = alsoEqual ? equalTo(asked) : [];
  mark(asked.id, true);
  try {
    if (others.length) {
      const told = await api.answerSeveral({ ...body, requests: [asked.id, ...others.map((other) => other.id)] });
      for (const result of told.results) {
        if (result.problem) tell(lateWords(result.problem) || result.problem.detail || result.problem.title, "bad");
      }
    } else {
      await api.answer(asked.id, body);
    }
    waiting.value = waiting.value.filter((each) => each.id !== asked.id && !others.some((other) => other.id === each.id));
    return true;
  } catch (problem) {
    if (problem instanceof Refusal && problem.status === 409) {
      tell(lateWords(problem.problem) || wordsOf(problem), "bad");
      waiting.value = waiting.value.filter((each) => each.id !== asked.id);
    } else tell(wordsOf(problem), "bad");
    return false;
  } finally {
    mark(asked.id, false);
  }
}

function lateWords(problem: { readonly answered_by?: string; readonly answered_from?: string }): string {
  const who = describeAnswerer(problem.answered_by ?? "", problem.answered_from ?? "");
  return who ? texts.requests.late(who) : "";
}
