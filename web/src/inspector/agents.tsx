// Every agent that can be had: what is installed, what it lacks and can do; installed, updated, removed and examined here.
import "../styles/inspector.css";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { api } from "../api/client";
import type { CatalogEntry, EngineInfo, Examination, Missing, Progress } from "../api/types";
import { confirmThat } from "../state/overlay";
import { texts } from "../texts";
import { formatMoment, formatSpan } from "../ui/format";
import { Icon } from "../ui/icons";
import { Refused } from "../ui/refused";
import { PageFrame } from "./page_frame";

const words = texts.agents;
const LOOK_MS = 700;
const NOT_INSTALLED = "not installed"; // what the button beside it says

export default function Agents(): JSX.Element {
  const entries = useSignal<readonly CatalogEntry[] | null>(null);
  const engines = useSignal<ReadonlyMap<string, EngineInfo>>(new Map());
  const problems = useSignal<readonly string[]>([]);
  const refused = useSignal<unknown>(null);
  const load = async (): Promise<void> => {
    try {
      const [catalog, known] = await Promise.all([api.agents(), api.engines()]);
      entries.value = catalog.agents;
      problems.value = catalog.problems;
      engines.value = new Map(known.engines.map((each) => [each.name, each]));
    } catch (problem) {
      refused.value = problem;
    }
  };
  useEffect(() => void load(), []);
  const put = (entry: CatalogEntry): void => {
    entries.value = (entries.value ?? []).map((each) => (each.agent.id === entry.agent.id ? entry : each));
  };
  const shown = [...(entries.value ?? [])].sort((one, other) => Number(other.agent.installed) - Number(one.agent.installed));
  return (
    <PageFrame title={words.title} lead={words.lead} again={() => void load()}>
      <Refused problem={refused.value} />
      {problems.value.map((problem) => (
        <p key={problem} class="note bad">
          {problem}
        </p>
      ))}
      {entries.value ? null : refused.value ? null : <p class="empty">{texts.loading}</p>}
      <ul class="agent-list">
        {shown.map((entry) => (
          <Agent key={entry.agent.id} entry={entry} engine={engines.value.get(entry.agent.id)} put={put} reload={load} />
        ))}
      </ul>
    </PageFrame>
  );
}

interface AgentProps {
  entry: CatalogEntry;
  engine: EngineInfo | undefined;
  put: (entry: CatalogEntry) => void;
  reload: () => Promise<void>;
}

function Agent({ entry, engine, put, reload }: AgentProps): JSX.Element {
  const { agent } = entry;
  const refused = useSignal<unknown>(null);
  const running = entry.install?.state === "running" || entry.doctor?.state === "running";
  useProgress(agent.id, running, put, reload);
  const act = async (doing: Promise<CatalogEntry | void>): Promise<void> => {
    refused.value = null;
    try {
      const changed = await doing;
      if (changed) put(changed);
      else await reload();
    } catch (problem) {
      refused.value = problem;
    }
  };
  const install = (): void => void act(api.install(agent.id));
  const remove = (): void => confirmThat(words.removeAsk(agent.title), words.remove, () => void act(api.uninstall(agent.id)));
  const ours = agent.origin === "installed";
  return (
    <li class="agent" data-agent={agent.id} data-installed={agent.installed}>
      <header>
        <h2>{agent.title}</h2>
        <code>{agent.id}</code>
        <span class={`badge ${!agent.installed ? "" : agent.problem ? "failed" : "running"}`}>
          {agent.installed ? words.version(agent.version) : words.notInstalled}
        </span>
        <span class="spacer" />
        {agent.installed && agent.engine ? <Act text={words.examine} off={running} act={() => void act(api.examine(agent.id))} /> : null}
        {!agent.installed && agent.way ? <Act text={words.install(agent.offered)} look="primary" off={running} act={install} /> : null}
        {ours && agent.offered && agent.offered !== agent.version ? <Act text={words.update(agent.offered)} off={running} act={install} /> : null}
        {ours ? <Act text={words.remove} look="danger" off={running} act={remove} /> : null}
      </header>
      {agent.description ? <p class="hint">{agent.description}</p> : null}
      <Refused problem={refused.value} />
      {entry.install ? <Install progress={entry.install} /> : null}
      {agent.installed && agent.problem ? <p class="note bad">{agent.problem}</p> : null}
      <Lacks missing={agent.missing.filter((each) => each.what !== NOT_INSTALLED)} />
      {entry.doctor ? <Examined of={entry.doctor} /> : null}
      <Facts entry={entry} engine={engine} />
    </li>
  );
}

function Act({ text, look = "", off, act }: { text: string; look?: string; off: boolean; act: () => void }): JSX.Element {
  return (
    <button type="button" class={`button small ${look}`} disabled={off} onClick={act}>
      {text}
    </button>
  );
}

/** While an install or an examination runs, how far it is; then everything anew, for an install brings an engine. */
function useProgress(agent: string, running: boolean, put: (entry: CatalogEntry) => void, reload: () => Promise<void>): void {
  useEffect(() => {
    if (!running) return undefined;
    const look = async (): Promise<void> => {
      try {
        const entry = await api.agent(agent);
        put(entry);
        if (entry.install?.state !== "running" && entry.doctor?.state !== "running") await reload();
      } catch {
        return; // the server is gone for a moment: the next look tells
      }
    };
    const timer = setInterval(() => void look(), LOOK_MS);
    return () => clearInterval(timer);
  }, [running]);
}

function Install({ progress }: { progress: Progress }): JSX.Element | null {
  if (progress.state === "failed") return <p class="note bad" role="alert">{progress.problem}</p>;
  return <div role="status">{progress.state === "running" ? <Busy text={progress.lines.at(-1) ?? words.installing} /> : null}</div>;
}

function Busy({ text }: { text: string }): JSX.Element {
  return (
    <div class="progress">
      <progress aria-label={text} />
      <span>{text}</span>
    </div>
  );
}

/** The drill, step by step as it goes, and what was new in what the agent said. */
function Examined({ of }: { of: Examination }): JSX.Element {
  const ok = of.found?.ok ?? false;
  return (
    <div class="examined" role="status">
      {of.state === "running" ? <Busy text={words.examining} /> : null}
      {of.state === "failed" ? <p class="note bad">{of.problem}</p> : null}
      {of.state === "done" ? <p class={`verdict ${ok ? "good" : "bad"}`}>{ok ? words.sound : words.unsound}</p> : null}
      <ul class="checks">
        {of.steps.map((step) => (
          <li key={step.name} data-ok={step.ok || Boolean(step.skipped)}>
            <Icon name={step.skipped ? "more" : step.ok ? "check" : "close"} size={14} />
            <span>{step.name}</span>
            <span class="hint">{step.problem || step.skipped}</span>
            <span class="hint">{step.skipped ? "" : formatSpan(step.seconds)}</span>
          </li>
        ))}
      </ul>
      <Unknown title={words.unparsed} lines={of.found?.unparsed ?? []} />
      <Unknown title={words.fresh} lines={of.found?.new ?? []} />
    </div>
  );
}

function Unknown({ title, lines }: { title: string; lines: readonly string[] }): JSX.Element | null {
  if (!lines.length) return null;
  return (
    <details>
      <summary>{`${title} (${lines.length})`}</summary>
      <pre class="lines" tabIndex={0}>{lines.join("\n")}</pre>
    </details>
  );
}

function Lacks({ missing }: { missing: readonly Missing[] }): JSX.Element | null {
  if (!missing.length) return null;
  return (
    <ul class="lacks">
      {missing.map((each) => (
        <li key={each.what}>
          <Icon name="warning" size={14} />
          <span>
            <strong>{each.what}:</strong> {each.advice}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Facts({ entry, engine }: { entry: CatalogEntry; engine: EngineInfo | undefined }): JSX.Element | null {
  const { agent } = entry;
  const can = engine ? Object.entries(engine.capabilities).filter(([, value]) => value === true).map(([name]) => name.replaceAll("_", " ")) : [];
  const facts: [string, string][] = [
    [words.program, agent.program],
    [words.origin, agent.origin],
    [words.way, agent.installed ? "" : agent.way],
    [words.source, agent.source],
    [words.can, can.join(", ")],
    [words.modes, engine?.capabilities.modes.join(", ") ?? ""],
    [words.credentials, engine?.credentials.map((each) => words.credential(each.kind, each.source, each.expired ?? false, each.expires_at ? formatMoment(each.expires_at) : "")).join("; ") ?? ""],
  ];
  const known = facts.filter(([, value]) => value);
  if (!known.length) return null;
  return (
    <details>
      <summary>{words.more}</summary>
      <dl class="figures-list">
        {known.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
