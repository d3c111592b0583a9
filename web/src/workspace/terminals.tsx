// Terminals of the session's folder: open a shell, have several, close them. They live on the server, not on the page.
import "../styles/terminals.css";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { api } from "../api/client";
import type { ChildInfo } from "../api/types";
import { confirmThat } from "../state/overlay";
import { lastTerminal } from "../state/preferences";
import type { OpenSession } from "../state/session";
import { attempt } from "../state/toasts";
import { texts } from "../texts";
import { Icon } from "../ui/icons";
import { Refused } from "../ui/refused";
import { commandLine, dropProcess, isBelow, isShell, lookAtProcesses, processes, putProcess, SHELL, tableProblem, useProcesses } from "./process_table";
import { Needs } from "./scope";
import { TerminalView } from "./terminal_view";

const words = texts.terminals;
const ENOUGH_MS = 3_000;

export default function Terminals({ session }: { session: OpenSession }): JSX.Element {
  return (
    <Needs scope="drive">
      <Inside session={session} />
    </Needs>
  );
}

function Inside({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const folder = session.draft.facts.cwd;
  const titles = useSignal<Record<string, string>>({});
  const opening = useSignal(false);
  useProcesses();
  const found = (processes.value ?? []).filter((each) => each.tty && (isBelow(each, folder) || lastTerminal.value[session.id] === each.id)).reverse();
  const shown = found.find((each) => each.id === lastTerminal.value[session.id]) ?? found.at(-1);
  const choose = (id: string): void => {
    lastTerminal.value = { ...lastTerminal.value, [session.id]: id };
  };
  const open = async (): Promise<void> => {
    opening.value = true;
    const made = await attempt(openShell(folder));
    opening.value = false;
    if (!made) return;
    putProcess(made);
    choose(made.id);
  };
  const nameOf = (info: ChildInfo): string => titles.value[info.id] || nameProcess(info);
  return (
    <div class="terminals">
      <div class="terminal-tabs">
        <ul aria-label={words.title}>
          {found.map((each) => (
            <li key={each.id} data-current={each.id === shown?.id}>
              <button type="button" id={`terminal-${each.id}`} aria-pressed={each.id === shown?.id} title={`${nameOf(each)} (${each.cwd ?? ""})`} onClick={() => choose(each.id)}>
                <span class={`dot ${each.status === "running" ? "running" : "closed"}`} aria-hidden="true" />
                <span>{nameOf(each)}</span>
              </button>
              <button type="button" class="close" aria-label={words.close(nameOf(each))} title={words.close(nameOf(each))} onClick={() => end(each)}>
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
        <button type="button" class="button small" disabled={opening.value} onClick={() => void open()}>
          <Icon name="plus" size={14} />
          {words.open}
        </button>
      </div>
      <Refused problem={tableProblem.value} />
      {shown ? (
        <TerminalView
          key={shown.id}
          process={shown.id}
          onTitle={(title) => (titles.value = { ...titles.value, [shown.id]: title })}
          onEnd={() => void lookAtProcesses()}
          onLeave={() => document.getElementById(`terminal-${shown.id}`)?.focus()}
        />
      ) : processes.value && !tableProblem.value ? (
        <Nothing folder={folder} open={() => void open()} />
      ) : null}
    </div>
  );
}

function Nothing({ folder, open }: { folder: string; open: () => void }): JSX.Element {
  return (
    <div class="empty">
      <p>{words.none}</p>
      <p>
        <code>{folder}</code>
      </p>
      <button type="button" class="button primary" onClick={open}>
        <Icon name="terminal" />
        {words.openHere}
      </button>
    </div>
  );
}

export function openShell(folder: string): Promise<ChildInfo> {
  return api.startProcess({ command: "sh", args: ["-c", SHELL], cwd: folder, tty: true, interactive: true, env: { TERM: "xterm-256color", COLORTERM: "truecolor" } });
}

/** What runs is ended after a question; what has ended is only forgotten. */
function end(info: ChildInfo): void {
  const forget = (): void => {
    void attempt(api.forgetProcess(info.id).then(() => true)).then((done) => done && dropProcess(info.id));
  };
  if (info.status === "exited") {
    forget();
    return;
  }
  confirmThat(words.closeAsk, words.closeDo, () => {
    void attempt(api.killProcess(info.id, ENOUGH_MS)).then((ended) => {
      if (ended) forget();
    });
  });
}

function nameProcess(info: ChildInfo): string {
  const number = info.id.replace(/^\D+/, "");
  return isShell(info) ? words.shell(number) : commandLine(info);
}
