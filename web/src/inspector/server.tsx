// The server: what it is and what this token may do, the connection, a closer look at it, and the tokens.
import "../styles/inspector.css";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { api } from "../api/client";
import { reconnectNow } from "../api/stream";
import type { Doctor, Info } from "../api/types";
import { connection, sessions, waiting } from "../state/attention";
import { texts } from "../texts";
import { formatMoment, formatSpan } from "../ui/format";
import { Icon } from "../ui/icons";
import { Refused } from "../ui/refused";
import { PageFrame } from "./page_frame";
import { Tokens } from "./tokens";

const words = texts.server;

export default function Server(): JSX.Element {
  const info = useSignal<Info | null>(null);
  const refused = useSignal<unknown>(null);
  const load = (): void => {
    api.info().then(
      (found) => {
        info.value = found;
        refused.value = null;
      },
      (problem: unknown) => (refused.value = problem),
    );
  };
  useEffect(load, [connection.value]);
  return (
    <PageFrame title={words.title} lead={words.lead} again={load}>
      <Refused problem={refused.value} />
      <section class="box" aria-label={words.connection}>
        <h2>{words.connection}</h2>
        <Connection info={info.value} />
      </section>
      <section class="box" aria-label={words.doctor}>
        <DoctorBox />
      </section>
      <section class="box" aria-label={texts.tokens.title}>
        <Tokens own={info.value} />
      </section>
    </PageFrame>
  );
}

function Connection({ info }: { info: Info | null }): JSX.Element {
  const state = connection.value;
  const facts: [string, string][] = [
    [words.address, location.origin],
    [words.version, info ? `${info.name} ${info.version}, Python ${info.python}` : ""],
    [words.started, info ? formatMoment(info.started_at) : ""],
    [words.data, info?.data ?? ""],
    [words.you, info ? words.youAre(info.token, info.scopes.map((scope) => texts.scopes.names[scope]).join(", ")) : ""],
    [words.live, words.liveOf(sessions.value.size, waiting.value.length)],
  ];
  return (
    <>
      <p class="stream-state">
        <span class="link-state" data-state={state}>
          <span class="dot" aria-hidden="true" />
          {texts.connection[state]}
        </span>
        {state === "up" ? null : (
          <button type="button" class="button small" onClick={reconnectNow}>
            {texts.connection.now}
          </button>
        )}
      </p>
      <dl class="figures-list">
        {facts.filter(([, value]) => value).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {info?.root ? <p class="note">{words.root}</p> : null}
    </>
  );
}

function DoctorBox(): JSX.Element {
  const found = useSignal<Doctor | null>(null);
  const refused = useSignal<unknown>(null);
  const looking = useSignal(false);
  const look = async (): Promise<void> => {
    looking.value = true;
    refused.value = null;
    try {
      found.value = await api.doctor();
    } catch (problem) {
      refused.value = problem;
    }
    looking.value = false;
  };
  return (
    <>
      <header class="box-head">
        <h2>{words.doctor}</h2>
        <button type="button" class="button small" disabled={looking.value} onClick={() => void look()}>
          {looking.value ? words.looking : words.look}
        </button>
      </header>
      <p class="hint">{words.doctorHint}</p>
      <Refused problem={refused.value} />
      <div role="status">
        {found.value ? (
          <>
            <p class={found.value.ok ? "verdict good" : "verdict bad"}>{found.value.ok ? words.well : words.unwell}</p>
            <ul class="checks">
              {found.value.checks.map((check) => (
                <li key={check.name} data-ok={check.ok}>
                  <Icon name={check.ok ? "check" : "close"} size={14} />
                  <span>{check.name}</span>
                  <span class="hint">{check.detail}</span>
                  <span class="hint">{texts.time.milliseconds(Math.round(check.ms))}</span>
                </li>
              ))}
            </ul>
            {found.value.store_problems.map((problem) => (
              <p key={problem} class="note bad">
                {problem}
              </p>
            ))}
            <p class="hint">{words.uptime(formatSpan(found.value.uptime_s))}</p>
          </>
        ) : null}
      </div>
    </>
  );
}
