// A request of an agent and every way to answer it. The same card stands in the conversation and in the tray.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { texts } from "../../texts";
import { Icon, type IconName } from "../icons";
import { showLine } from "../visible";
import type { Asked } from "./asked";
import { PermissionForm } from "./permission_form";
import { PlanForm } from "./plan_form";
import { QuestionForm } from "./question_form";

const words = texts.requests;
const ICONS: Record<Asked["kind"], IconName> = { permission: "bell", question: "question", plan: "map" };

interface RequestCardProps {
  asked: Asked;
  /** It is part of the card of its call, in the conversation, and this is the card's title. */
  headed?: string;
  modes: readonly string[];
  from?: JSX.Element;
}

export function RequestCard({ asked, headed, modes, from }: RequestCardProps): JSX.Element {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (box.current) box.current.dataset["ready"] = "yes";
  }, []);
  return (
    <section ref={box} class={`request ${asked.kind}${headed === undefined ? "" : " within"}`} data-request={asked.id} tabIndex={-1} aria-label={showLine(`${asked.tool || words.permission}: ${asked.title}`)}>
      <header class="request-head">
        <Icon name={ICONS[asked.kind]} />
        <strong>{asked.limit ? words.limit : `${(asked.kind === "permission" && showLine(asked.tool ?? "")) || texts.conversation.agent} ${words[asked.kind]}`}</strong>
        {asked.agent ? <span class="hint">{words.fromAgent(showLine(asked.agent))}</span> : null}
        <span class="spacer" />
        {from}
      </header>
      {asked.rerun ? <p class="request-warning">{words.rerun}</p> : null}
      {asked.detached ? <p class="hint">{words.detached}</p> : null}
      {asked.kind === "permission" ? <PermissionForm asked={asked} headed={headed} /> : null}
      {asked.kind === "question" ? <QuestionForm asked={asked} /> : null}
      {asked.kind === "plan" ? <PlanForm asked={asked} modes={modes} /> : null}
    </section>
  );
}
