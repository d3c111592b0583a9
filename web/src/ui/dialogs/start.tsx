// A new session: which agent, where, with which model and permissions; or one that began in a terminal.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../../api/client";
import type { ConfigOption, EngineInfo, HistoryEntry, ProjectInfo } from "../../api/types";
import { putSession } from "../../state/attention";
import { closeOverlay } from "../../state/overlay";
import { remembered } from "../../state/preferences";
import { go, goSession } from "../../state/route";
import { attempt } from "../../state/toasts";
import { texts } from "../../texts";
import { now } from "../clock";
import { formatAge, shortFolder } from "../format";
import { Icon } from "../icons";
import { Dialog } from "./dialog";
import { FolderPicker } from "./folder_picker";

const words = texts.start;
const lastEngine = remembered("last-engine", "");
const lastFolder = remembered("last-folder", "");

export default function StartDialog({ tab, folder }: { tab: "fresh" | "adopt"; folder: string }): JSX.Element {
  const [at, setAt] = useState(tab);
  const switcher = (
    <div class="switch" role="group" aria-label={words.title}>
      {(["fresh", "adopt"] as const).map((name) => (
        <button key={name} type="button" aria-pressed={at === name} onClick={() => setAt(name)}>
          {words[name]}
        </button>
      ))}
    </div>
  );
  return at === "fresh" ? <Fresh switcher={switcher} folder={folder} /> : <Adopt switcher={switcher} />;
}

function choiceOf(engine: EngineInfo | undefined, category: string): ConfigOption | undefined {
  return engine?.choices.find((option) => option.category === category || option.id === category);
}

function Fresh({ switcher, folder }: { switcher: JSX.Element; folder: string }): JSX.Element {
  const [engines, setEngines] = useState<readonly EngineInfo[]>([]);
  const [projects, setProjects] = useState<readonly ProjectInfo[]>([]);
  const [name, setName] = useState(lastEngine.value);
  const [cwd, setCwd] = useState(folder || lastFolder.value);
  const [browsing, setBrowsing] = useState(false);
  const [model, setModel] = useState("");
  const [mode, setMode] = useState("");
  const [effort, setEffort] = useState("");
  const [prompt, setPrompt] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    void Promise.all([attempt(api.engines()), attempt(api.info())]).then(([list, info]) => {
      if (!list) return;
      setEngines(list.engines);
      const known = list.engines.some((engine) => engine.name === lastEngine.value && engine.installed);
      const usable = list.engines.find((engine) => engine.name === info?.default_engine && engine.installed);
      if (!known) setName((usable ?? list.engines.find((engine) => engine.installed))?.name ?? "");
    });
    void attempt(api.projects()).then((list) => {
      setProjects(list?.projects ?? []);
      if (!folder && !lastFolder.value && list?.projects[0]) setCwd(list.projects[0].cwd);
    });
  }, []);
  const toAgents = (): void => {
    closeOverlay();
    go({ name: "page", id: "agents" });
  };
  const engine = engines.find((each) => each.name === name);
  const begin = async (): Promise<void> => {
    setBusy(true);
    const made = await attempt(api.create({ engine: name, cwd: cwd.trim(), model, mode, effort }));
    setBusy(false);
    if (!made) return;
    lastEngine.value = name;
    lastFolder.value = cwd.trim();
    putSession(made);
    closeOverlay();
    goSession(made.id);
    if (prompt.trim()) await attempt(api.prompt(made.id, { content: prompt.trim() }));
  };
  return (
    <Dialog
      title={words.title}
      onSubmit={() => void begin()}
      foot={
        <>
          {switcher}
          <span class="spacer" />
          <button type="submit" class="button primary" disabled={busy || !name || !cwd.trim()}>
            {words.begin}
          </button>
        </>
      }
    >
      <div>
        <span class="label" id="start-engine">
          {words.engine}
        </span>
        <div class="choices" role="radiogroup" aria-labelledby="start-engine">
          {engines.map((each) => (
            <label key={each.name} class="choice" data-chosen={name === each.name} data-off={!each.installed} title={each.problem}>
              <input type="radio" name="engine" value={each.name} checked={name === each.name} disabled={!each.installed} onChange={() => setName(each.name)} />
              <Icon name="agent" />
              <span>{each.title || each.name}</span>
              <small>{each.installed ? each.version : words.notInstalled}</small>
            </label>
          ))}
        </div>
        {engines.some((each) => !each.installed) ? (
          <button type="button" class="more" onClick={toAgents}>
            {words.moreAgents}
          </button>
        ) : null}
      </div>
      <div>
        <label class="label" for="start-folder">
          {words.folder}
        </label>
        <div class="with-button">
          <input id="start-folder" class="field mono" value={cwd} list="start-folders" placeholder={words.folderHint} spellcheck={false} autocapitalize="off" onInput={(event) => setCwd(event.currentTarget.value)} />
          <button type="button" class="button" aria-expanded={browsing} onClick={() => setBrowsing(!browsing)}>
            <Icon name="folder" />
            {words.browse}
          </button>
        </div>
        <datalist id="start-folders">
          {projects.map((each) => (
            <option key={each.cwd} value={each.cwd} />
          ))}
        </datalist>
        {browsing ? <FolderPicker path={cwd} choose={setCwd} /> : null}
        {!browsing && projects.length ? (
          <div class="recent" aria-label={words.recent}>
            {projects.slice(0, 4).map((each) => (
              <button key={each.cwd} type="button" class="button small" title={each.cwd} onClick={() => setCwd(each.cwd)}>
                {shortFolder(each.cwd)}
              </button>
            ))}
          </div>
        ) : null}
      </div>
      <div class="three">
        <Choose label={words.model} option={choiceOf(engine, "model")} value={model} set={setModel} />
        <Choose label={words.mode} option={choiceOf(engine, "mode")} names={engine?.capabilities.modes} value={mode} set={setMode} />
        <Choose label={words.effort} option={choiceOf(engine, "thought_level") ?? choiceOf(engine, "effort")} names={engine?.capabilities.efforts} value={effort} set={setEffort} />
      </div>
      <div>
        <label class="label" for="start-prompt">
          {words.prompt}
        </label>
        <textarea id="start-prompt" class="field" rows={3} value={prompt} placeholder={words.promptHint} onInput={(event) => setPrompt(event.currentTarget.value)} />
      </div>
    </Dialog>
  );
}

interface ChooseProps {
  label: string;
  option: ConfigOption | undefined;
  names?: readonly string[] | undefined;
  value: string;
  set: (value: string) => void;
}

function Choose({ label, option, names, value, set }: ChooseProps): JSX.Element | null {
  const values = option?.values?.length ? option.values : (names ?? []).map((name) => ({ value: name }));
  if (!values.length) return null;
  return (
    <div>
      <label class="label">
        {label}
        <select class="field" value={value} onChange={(event) => set(event.currentTarget.value)}>
          <option value="">{words.standard}</option>
          {values.map((each) => (
            <option key={each.value} value={each.value}>
              {("label" in each && each.label) || each.value}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Adopt({ switcher }: { switcher: JSX.Element }): JSX.Element {
  const [entries, setEntries] = useState<readonly HistoryEntry[] | null>(null);
  useEffect(() => {
    void attempt(api.history({ limit: 50 })).then((page) => setEntries(page?.entries ?? []));
  }, []);
  const adopt = async (entry: HistoryEntry): Promise<void> => {
    const made = await attempt(api.adopt(entry.session));
    if (!made) return;
    putSession(made);
    closeOverlay();
    goSession(made.id);
  };
  return (
    <Dialog title={words.adoptTitle} foot={<>{switcher}<span class="spacer" /></>}>
      {entries === null ? <p class="empty">{texts.loading}</p> : null}
      {entries?.length === 0 ? <p class="empty">{words.adoptNone}</p> : null}
      <ul class="found">
        {entries?.map((entry) => (
          <li key={entry.session}>
            <div>
              <strong>{entry.title || entry.session}</strong>
              <span class="hint">
                {shortFolder(entry.cwd)} · {formatAge(entry.modified, now.value)} {entry.branch ? `· ${entry.branch}` : ""}
              </span>
            </div>
            <button type="button" class="button" onClick={() => void adopt(entry)}>
              {words.adoptDo}
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
