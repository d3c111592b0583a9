// The details of a session: figures, what is allowed in it, how to go on elsewhere.
import type { JSX } from "preact";
import { api } from "../api/client";
import { costOf } from "../state/reduce_turn";
import type { OpenSession } from "../state/session";
import { attempt } from "../state/toasts";
import { texts } from "../texts";
import { copyText } from "../ui/clipboard";
import { formatCost, formatMoment, formatSpan, formatTokens } from "../ui/format";
import { PlanList } from "../ui/plan_list";

export default function Details({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const { facts, limits } = session.draft;
  const { usage } = facts;
  const line = session.choices.value.resumeLine;
  const figures: [string, string][] = [
    [texts.start.engine, `${facts.engine} ${facts.version}`],
    [texts.start.folder, facts.cwd],
    [texts.start.model, facts.model],
    [texts.start.mode, facts.mode],
    [texts.start.effort, facts.effort],
    [texts.details.turns, String(usage.turns)],
    [texts.composer.tokens, texts.composer.tokensOf(formatTokens(usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens), formatTokens(usage.output_tokens))],
    [texts.composer.cost, formatCost(costOf(facts))],
    [texts.details.time, formatSpan(usage.duration_ms / 1000)],
    [texts.details.opened, facts.opened_at === null ? "" : formatMoment(facts.opened_at)],
  ];
  return (
    <div class="details">
      <dl class="figures-list">
        {figures.filter(([, value]) => value.trim()).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {facts.plan.length ? (
        <section>
          <h3>{texts.plan.title}</h3>
          <PlanList entries={facts.plan} />
        </section>
      ) : null}
      {facts.rules.length ? (
        <section>
          <h3>{texts.rules.title}</h3>
          <ul class="found">
            {facts.rules.map((rule) => (
              <li key={rule.id}>
                <div>{rule.label}</div>
                <button type="button" class="button small" onClick={() => void attempt(api.revokeRule(session.id, rule.id))}>
                  {texts.rules.revoke}
                </button>
              </li>
            ))}
          </ul>
        </section>
      ) : null}
      {limits.size ? (
        <section>
          <h3>{texts.limits.title}</h3>
          <ul>
            {[...limits.values()].map((limit) => (
              <li key={`${limit.kind} ${limit.name}`}>
                {limit.text || limit.name || limit.kind} {limit.resets_at ? texts.limits.resets(formatMoment(limit.resets_at)) : ""}
              </li>
            ))}
          </ul>
        </section>
      ) : null}
      {line ? (
        <section>
          <h3>{texts.details.resume}</h3>
          <pre tabIndex={0}>{line}</pre>
          <button type="button" class="button small" onClick={() => copyText(line)}>
            {texts.actions.copyResume}
          </button>
        </section>
      ) : null}
    </div>
  );
}
