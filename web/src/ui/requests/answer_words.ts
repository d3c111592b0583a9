// What was answered, in the words of src/footplate/events/wording.py.
import type { Allow, Answer, Request, RequestOption, RequestView } from "../../api/types";
import { texts } from "../../texts";
import { showLine } from "../visible";

const words = texts.requests.answers;
const CHOSEN: Partial<Record<NonNullable<RequestOption["kind"]>, string>> = {
  allow_once: words.once,
  allow_session: words.session,
  allow_always: words.always,
  deny: words.denied.permission,
  deny_and_stop: words.stopped,
};

type Asked = Pick<Request, "kind" | "options">;

/**
 * What was answered, by whom and from where as far as given: "denied by ada from web: use staging". With the request, an
 * option is described by its meaning and a plan by its outcome.
 */
export function describeAnswer(given: Answer, request: Asked | null = null, by = "", surface = ""): string {
  const [verdict, said] = judge(given, request);
  const who = [verdict, describeAnswerer(by, surface)].filter(Boolean).join(" ");
  const line = showLine(said);
  return line ? `${who}: ${line}` : who;
}

/** Who answered and from where, as far as it is known: "by ada from web". */
export function describeAnswerer(by: string, surface: string): string {
  return [by ? texts.requests.by(showLine(by)) : "", surface ? texts.requests.from(showLine(surface)) : ""].filter(Boolean).join(" ");
}

/** How a request ended without an answer that was used, and why: "withdrawn: interrupted"; empty for any other state. */
export function describeEnding(state: RequestView["state"], reason = ""): string {
  const ended = (texts.requests.ended as Partial<Record<typeof state, string>>)[state] ?? "";
  const line = showLine(reason);
  return ended && line ? `${ended}: ${line}` : ended;
}

/** What "allow for session" allows beyond the one call; the twin of `session_meaning` in src/footplate/events/rules.py. */
export function sessionMeaning(request: Pick<Request, "kind" | "options" | "suggestions">): string {
  if (request.kind !== "permission") return "";
  const first = request.suggestions?.[0];
  if (first) return first.allows || first.label;
  const options = request.options ?? [];
  const session = options.find((option) => option.kind === "allow_session");
  if (session) return session.label;
  return !options.length || options.some((option) => option.kind === "allow_once") ? texts.requests.exactly : "";
}

/** The verdict, and the words that came with it. */
function judge(given: Answer, request: Asked | null): [string, string] {
  const option = given.type === "choose" ? request?.options?.find((each) => each.id === given.option) : undefined;
  const answer = option?.means ?? given;
  const kind = request?.kind ?? "permission";
  switch (answer.type) {
    case "allow":
      return [describeAllow(answer, kind), ""];
    case "deny":
      return [answer.interrupt ? words.stopped : words.denied[kind], answer.message ?? ""];
    case "reply":
      return [words.answered, Object.values(answer.answers).map((each) => (typeof each === "string" ? each : each.join(", "))).join("; ")];
    case "decline":
      return [words.denied.question, answer.message ?? ""];
    case "choose": {
      const chosen = option?.kind && CHOSEN[option.kind];
      return chosen ? [chosen, ""] : [words.chose, option?.label ?? answer.option];
    }
  }
}

function describeAllow(answer: Allow, kind: Asked["kind"]): string {
  const edited = answer.updated_input !== undefined && answer.updated_input !== null;
  const scope = answer.scope ?? "once";
  const alone = edited && scope === "once" && kind !== "plan";
  const verdict = kind === "plan" ? words.approved : alone ? words.edited : words[scope];
  const more = [edited && !alone ? words.withEdits : "", answer.mode ? words.mode(showLine(answer.mode)) : "", answer.prompts?.length ? words.withPrompts : ""];
  return [verdict, ...more].filter(Boolean).join(", ");
}
