// The agent's plan: what is to do, in progress, done.
import type { JSX } from "preact";
import type { PlanEntry } from "../api/types";
import { texts } from "../texts";
import { showLine } from "./visible";

export function PlanList({ entries }: { entries: readonly PlanEntry[] }): JSX.Element {
  return (
    <ul class="plan-list">
      {entries.map((entry, place) => {
        const status = entry.status ?? "pending";
        return (
          <li key={place} class={status}>
            <span class="tick" aria-hidden="true" />
            <span>{showLine((status === "in_progress" && entry.active_form) || entry.content)}</span>
            <span class="visually-hidden">{texts.plan.status[status]}</span>
          </li>
        );
      })}
    </ul>
  );
}
