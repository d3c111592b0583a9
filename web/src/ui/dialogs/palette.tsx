// The palette: type a few letters, go to a session, a panel or do something.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { pages, panels } from "../../panels";
import { sessionList, sessions } from "../../state/attention";
import { runKey } from "../../state/keys";
import { closeOverlay, openStart } from "../../state/overlay";
import { theme } from "../../state/preferences";
import { signOut } from "../../state/push";
import { go, goSession, route } from "../../state/route";
import { texts } from "../../texts";
import { shortFolder } from "../format";
import { Icon, type IconName } from "../icons";
import { sessionActions } from "../session_actions";
import { titleOf } from "../titles";
import { Dialog } from "./dialog";

interface Entry {
  readonly id: string;
  readonly text: string;
  readonly hint: string;
  readonly icon: IconName;
  readonly act: () => void;
}

const SHOWN = 40;

function entries(): Entry[] {
  const at = route.value;
  const here = at.name === "session" ? sessions.value.get(at.id) : undefined;
  const found: Entry[] = [
    { id: "new", text: texts.start.open, hint: "n", icon: "plus", act: () => openStart() },
    { id: "adopt", text: texts.start.adoptTitle, hint: "", icon: "terminal", act: () => openStart("adopt") },
    { id: "find", text: texts.conversation.find, hint: "Ctrl F", icon: "search", act: () => runKey("find") },
    ...(["auto", "light", "dark"] as const).map((name) => ({
      id: `theme-${name}`,
      text: `${texts.settings.theme}: ${texts.settings.themes[name]}`,
      hint: "",
      icon: "sun" as const,
      act: () => (theme.value = name),
    })),
    { id: "help", text: texts.help.open, hint: "?", icon: "help", act: () => runKey("help") },
    { id: "out", text: texts.settings.signOut, hint: "", icon: "out", act: () => void signOut() },
  ];
  for (const page of pages) {
    found.push({ id: `page-${page.id}`, text: page.title, hint: "", icon: page.icon, act: () => go({ name: "page", id: page.id }) });
  }
  if (here) {
    for (const panel of panels) {
      found.push({ id: `panel-${panel.id}`, text: panel.title, hint: "", icon: panel.icon, act: () => goSession(here.id, panel.id) });
    }
    for (const action of sessionActions(here)) {
      found.push({ id: `do-${action.id}`, text: action.text, hint: titleOf(here), icon: action.icon ?? "bolt", act: action.act });
    }
  }
  for (const info of sessionList.value) {
    found.push({ id: info.id, text: titleOf(info), hint: shortFolder(info.cwd), icon: "agent", act: () => goSession(info.id) });
  }
  return found;
}

export default function Palette(): JSX.Element {
  const all = useMemo(entries, []);
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const parts = words.toLowerCase().split(/\s+/);
  const shown = all.filter((entry) => parts.every((part) => `${entry.text} ${entry.hint}`.toLowerCase().includes(part))).slice(0, SHOWN);
  const act = (entry: Entry | undefined): void => {
    if (!entry) return;
    closeOverlay();
    entry.act();
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const next = (at + step + shown.length) % Math.max(1, shown.length);
    setAt(next);
    document.getElementById(`palette-${next}`)?.scrollIntoView({ block: "nearest" });
  };
  return (
    <Dialog title={texts.palette.label} onSubmit={() => act(shown[at])}>
      <input
        class="field"
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={shown.length ? `palette-${at}` : undefined}
        aria-label={texts.palette.placeholder}
        placeholder={texts.palette.placeholder}
        value={words}
        onKeyDown={onKey}
        onInput={(event) => {
          setWords(event.currentTarget.value);
          setAt(0);
        }}
      />
      <ul class="palette-list" id="palette-list" role="listbox" aria-label={texts.palette.label}>
        {shown.map((entry, place) => (
          <li key={entry.id} id={`palette-${place}`} role="option" aria-selected={place === at} onClick={() => act(entry)} onPointerMove={() => setAt(place)}>
            <Icon name={entry.icon} />
            <span>{entry.text}</span>
            <small>{entry.hint}</small>
          </li>
        ))}
      </ul>
      {shown.length ? null : <p class="empty">{texts.palette.none}</p>}
    </Dialog>
  );
}
