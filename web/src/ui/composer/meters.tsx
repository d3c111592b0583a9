// What the session has cost and how full its context is.
import type { JSX } from "preact";
import { costOf } from "../../state/reduce_turn";
import type { OpenSession } from "../../state/session";
import { texts } from "../../texts";
import { formatCost, formatShare, formatTokens } from "../format";

const words = texts.composer;
const FULL = 0.8;

export function Meters({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const { meter, usage } = session.draft.facts;
  const cost = costOf(session.draft.facts);
  const input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
  const share = meter.used !== null && meter.size ? Math.min(1, meter.used / meter.size) : null;
  const percent = share === null ? "" : formatShare(meter.used ?? 0, meter.size ?? 1);
  return (
    <span class="meters">
      {share === null ? null : (
        <span class="context" data-full={share > FULL} title={`${words.context}: ${words.contextOf(formatTokens(meter.used ?? 0), formatTokens(meter.size ?? 0))}`}>
          <svg width="14" height="14" viewBox="0 0 14 14" role="img" aria-label={`${words.context}: ${percent}`}>
            <circle cx="7" cy="7" r="5.5" class="ring" />
            <circle cx="7" cy="7" r="5.5" class="ring-used" stroke-dasharray={`${share * 34.56} 34.56`} transform="rotate(-90 7 7)" />
          </svg>
          {percent}
        </span>
      )}
      {input + usage.output_tokens ? (
        <span class="tokens" title={`${words.tokens}: ${words.tokensOf(formatTokens(input), formatTokens(usage.output_tokens))}`}>
          {formatTokens(input + usage.output_tokens)}
        </span>
      ) : null}
      {cost ? <span title={words.cost}>{formatCost(cost)}</span> : null}
    </span>
  );
}
