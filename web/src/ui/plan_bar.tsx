// The plan of the running work and what runs beside it, above the message field.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api } from "../api/client";
import type { OpenSession } from "../state/session";
import { attempt } from "../state/toasts";
import { texts } from "../texts";
import { Icon } from "./icons";
import { PlanList } from "./plan_list";
import { showLine } from "./visible";

export function PlanBar({ session }: { session: OpenSession }): JSX.Element | null {
  void session.frame.value;
  const [open, setOpen] = useState(false);
  const { plan } = session.draft.facts;
  const tasks = [...session.draft.tasks.values()].filter((task) => task.ended_at === null && task.background);
  const done = plan.filter((entry) => entry.status === "completed").length;
  const finished = done === plan.length && session.draft.facts.turn === null;
  if ((!plan.length || finished) && !tasks.length) return null;
  const now = plan.find((entry) => entry.status === "in_progress");
  return (
    <section class="plan-bar" aria-label={texts.plan.title}>
      {plan.length && !finished ? (
        <>
          <button type="button" class="plan-head" aria-expanded={open} onClick={() => setOpen(!open)}>
            <Icon name="list" size={14} />
            <strong>{texts.plan.title}</strong>
            <span class="hint">{texts.plan.done(done, plan.length)}</span>
            <span class="now">{now ? showLine(now.active_form || now.content) : ""}</span>
            <Icon name={open ? "down" : "up"} size={12} />
          </button>
          {open ? <PlanList entries={plan} /> : null}
        </>
      ) : null}
      {tasks.map((task) => (
        <div key={task.id} class="task">
          <span class="spinner" aria-hidden="true" />
          <span class="now">{showLine(task.title || task.id)}</span>
          <span class="hint">{showLine(task.note)}</span>
          <button type="button" class="button quiet small" onClick={() => void attempt(api.stopTask(session.id, task.id))}>
            {texts.tasks.stop}
          </button>
        </div>
      ))}
    </section>
  );
}
