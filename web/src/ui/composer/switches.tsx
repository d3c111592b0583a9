// Mode, model and effort: always visible, changed with one click, never silently.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { api } from "../../api/client";
import type { ConfigOption } from "../../api/types";
import { engineNamed } from "../../state/engines";
import { onKey } from "../../state/keys";
import type { OpenSession } from "../../state/session";
import { attempt } from "../../state/toasts";
import { texts } from "../../texts";

const words = texts.composer;

interface Choice {
  readonly value: string;
  readonly label: string;
}

function valuesOf(options: readonly ConfigOption[], ...names: string[]): Choice[] {
  const option = options.find((each) => names.includes(each.id) || names.includes(each.category ?? ""));
  return (option?.values ?? []).map((each) => ({ value: each.value, label: each.label || each.value }));
}

export function Switches({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const { facts } = session.draft;
  const { modes, efforts } = session.choices.value;
  const engine = engineNamed(facts.engine);
  const options = facts.options.length ? facts.options : (engine?.choices ?? []);
  const setMode = (mode: string): void => void attempt(api.setMode(session.id, mode));
  useEffect(
    () =>
      onKey("mode", () => {
        const all = session.choices.value.modes;
        const next = all[(all.indexOf(session.draft.facts.mode) + 1) % all.length];
        if (next === undefined) return false;
        setMode(next);
        return true;
      }),
    [],
  );
  const modeNames = valuesOf(options, "mode");
  const shownModes = modes.length ? modes.map((mode) => modeNames.find((each) => each.value === mode) ?? { value: mode, label: mode }) : modeNames;
  const shownEfforts = efforts.length ? efforts.map((value) => ({ value, label: value })) : valuesOf(options, "effort", "thought_level");
  return (
    <>
      <Switch label={words.mode} value={facts.mode} choices={shownModes} set={setMode} />
      <Switch label={words.model} value={facts.model} choices={valuesOf(options, "model")} set={(model) => void attempt(api.setModel(session.id, model))} />
      <Switch label={words.effort} value={facts.effort} choices={shownEfforts} set={(effort) => void attempt(api.setEffort(session.id, effort))} />
    </>
  );
}

interface SwitchProps {
  label: string;
  value: string;
  choices: readonly Choice[];
  set: (value: string) => void;
}

function Switch({ label, value, choices, set }: SwitchProps): JSX.Element | null {
  if (!choices.length) return value ? <span class="pill" title={label}>{value}</span> : null;
  const known = choices.some((choice) => choice.value === value);
  return (
    <select class="pill select" aria-label={label} title={label} value={value} onChange={(event) => set(event.currentTarget.value)}>
      {known ? null : <option value={value}>{value || `${label}: ${words.standard}`}</option>}
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}
