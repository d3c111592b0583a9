// Why something cannot be shown.
import type { JSX } from "preact";
import { Refusal } from "../api/client";
import { connection } from "../state/attention";
import { wordsOf } from "../state/toasts";
import { texts } from "../texts";

/** The server's own words; a missing scope is named as what it is. */
export function Refused({ problem }: { problem: unknown }): JSX.Element | null {
  if (problem === null) return null;
  if (problem instanceof Refusal && problem.status === 0 && connection.value === "down") return null; // the banner tells
  const scope = problem instanceof Refusal && problem.status === 403;
  return (
    <p class="note bad" role="alert">
      {scope ? <strong>{texts.scopes.lacking} </strong> : null}
      {wordsOf(problem)}
    </p>
  );
}
