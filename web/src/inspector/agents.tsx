// Every agent that can be had: what is installed, what it lacks, what it can do; install with progress, update, remove.
import "../styles/inspector.css";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { api } from "../api/client";
import type { CatalogEntry, EngineInfo, Missing } from "../api/types";
import { confirmThat } from "../state/overlay";
import { tell, wordsOf } from "../state/toasts";
import { texts } from "../texts";
import { formatMoment } from "../ui/format";
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
  const busy = useSignal(false);
  const failed = useSignal("");
  const installing = busy.value || entry.installing.length > 0;
  useProgress(agent.id, installing, put);
  const act = async (doing: Promise<unknown>, done: string): Promise<void> => {
    busy.value = true;
    failed.value = "";
    try {
      await doing;
      tell(done, "good");
    } catch (problem) {
      failed.value = wordsOf(problem);
    }
    busy.value = false;
    await reload();
  };
  const install = (version: string): void => void act(api.install(agent.id, version), words.installedNow(agent.title));
  const update = agent.installed && agent.offered && agent.offered !== agent.version;
  return (
    <li class="agent" data-agent={agent.id} data-installed={agent.installed}>
      <header>
        <h2>{agent.title}</h2>
        <code>{agent.id}</code>
        <span class={`badge ${!agent.installed ? "" : agent.problem ? "failed" : "running"}`}>
          {agent.installed ? words.version(agent.version) : words.notInstalled}
        </span>
        <span class="spacer" />
        {!agent.installed && agent.way ? (
          <button type="button" class="button small primary" disabled={installing} onClick={() => install("")}>
            {words.install(agent.offered)}
          </button>
        ) : null}
        {update && agent.origin === "installed" ? (
          <button type="button" class="button small" disabled={installing} onClick={() => install("")}>
            {words.update(agent.offered)}
          </button>
        ) : null}
        {agent.origin === "installed" ? (
          <button
            type="button"
            class="button small danger"
            disabled={installing}
            onClick={() => confirmThat(words.removeAsk(agent.title), words.remove, () => void act(api.uninstall(agent.id), words.removed(agent.title)))}
          >
            {words.remove}
          </button>
        ) : null}
      </header>
      {agent.description ? <p class="hint">{agent.description}</p> : null}
      {installing ? <Progress lines={entry.installing} /> : null}
      {failed.value ? <p class="note bad" role="alert">{failed.value}</p> : null}
      {agent.installed && agent.problem ? <p class="note bad">{agent.problem}</p> : null}
      <Lacks missing={agent.missing.filter((each) => each.what !== NOT_INSTALLED)} />
      <Facts entry={entry} engine={engine} />
    </li>
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

/** While an install runs, how far it is. */
function useProgress(agent: string, running: boolean, put: (entry: CatalogEntry) => void): void {
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => {
      api.agent(agent).then(put, () => undefined); // the install's own answer tells what went wrong
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, [running]);
}

function Progress({ lines }: { lines: readonly string[] }): JSX.Element {
  return (
    <div class="progress" role="status">
      <progress aria-label={words.installing} />
      <span>{lines.at(-1) ?? words.installing}</span>
    </div>
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
