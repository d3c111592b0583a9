// The processes of the server: start a command in the session's folder, read what it says as it says it, end it.
import "../styles/terminals.css";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import type { ChildInfo } from "../api/types";
import { lastTerminal } from "../state/preferences";
import { goSession } from "../state/route";
import type { OpenSession } from "../state/session";
import { attempt } from "../state/toasts";
import { texts } from "../texts";
import { now } from "../ui/clock";
import { copyText } from "../ui/clipboard";
import { formatAge, formatSpan, shortFolder } from "../ui/format";
import { Icon } from "../ui/icons";
import { Refused } from "../ui/refused";
import { ProcessLog } from "./process_log";
import { commandLine, dropProcess, isBelow, isShell, processes, putProcess, tableProblem, useProcesses } from "./process_table";
import { Needs } from "./scope";

const words = texts.processes;
const ENOUGH_MS = 3_000;

export default function Processes({ session }: { session: OpenSession }): JSX.Element {
  return (
    <Needs scope="drive">
      <Inside session={session} />
    </Needs>
  );
}

function Inside({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const folder = session.draft.facts.cwd;
  const everywhere = useSignal(false);
  const open = useSignal("");
  useProcesses();
  const shown = (processes.value ?? []).filter((each) => everywhere.value || isBelow(each, folder));
  return (
    <div class="processes">
      <StartForm folder={folder} started={(info) => (open.value = info.id)} />
      <label class="tick">
        <input type="checkbox" checked={everywhere.value} onChange={(event) => (everywhere.value = event.currentTarget.checked)} />
        {words.everywhere}
      </label>
      <Refused problem={tableProblem.value} />
      {shown.length || !processes.value ? null : <p class="empty">{words.none}</p>}
      <ul class="process-list" aria-label={words.title}>
        {shown.map((each) => (
          <Row key={each.id} info={each} session={session.id} open={open.value === each.id} toggle={() => (open.value = open.value === each.id ? "" : each.id)} />
        ))}
      </ul>
    </div>
  );
}

function StartForm({ folder, started }: { folder: string; started: (info: ChildInfo) => void }): JSX.Element {
  const command = useSignal("");
  const start = async (event: Event): Promise<void> => {
    event.preventDefault();
    const made = await attempt(api.startProcess({ command: "sh", args: ["-c", command.value.trim()], cwd: folder }));
    if (!made) return;
    command.value = "";
    putProcess(made);
    started(made);
  };
  return (
    <form class="with-button" onSubmit={(event) => void start(event)}>
      <input class="field mono" aria-label={words.command} placeholder={words.commandHint} value={command.value} spellcheck={false} autocapitalize="off" onInput={(event) => (command.value = event.currentTarget.value)} />
      <button type="submit" class="button primary" disabled={!command.value.trim()}>
        {words.start}
      </button>
    </form>
  );
}

interface RowProps {
  info: ChildInfo;
  session: string;
  open: boolean;
  toggle: () => void;
}

function Row({ info, session, open, toggle }: RowProps): JSX.Element {
  const name = isShell(info) ? texts.terminals.shell(info.id.replace(/^\D+/, "")) : commandLine(info);
  const running = info.status === "running";
  const toTerminal = (): void => {
    lastTerminal.value = { ...lastTerminal.value, [session]: info.id };
    goSession(session, "terminals");
  };
  const forget = (): void => {
    void attempt(api.forgetProcess(info.id).then(() => true)).then((done) => done && dropProcess(info.id));
  };
  return (
    <li class="process" data-process={info.id} data-status={info.status}>
      <div class="process-line">
        <button type="button" class="process-name" aria-expanded={info.tty ? undefined : open} onClick={info.tty ? toTerminal : toggle}>
          <span class={`dot ${running ? "running" : info.exitCode === 0 ? "done" : "failed"}`} aria-hidden="true" />
          <code>{name}</code>
          <span class="hint">{facts(info)}</span>
        </button>
        {running ? (
          <>
            <button type="button" class="button small" aria-label={words.stopNamed(name)} onClick={() => void finish(api.stopProcess(info.id, ENOUGH_MS))}>
              {words.stop}
            </button>
            <button type="button" class="button small danger" aria-label={words.killNamed(name)} onClick={() => void finish(api.killProcess(info.id, ENOUGH_MS))}>
              {words.kill}
            </button>
          </>
        ) : (
          <button type="button" class="button small quiet only-icon" aria-label={words.forgetNamed(name)} title={words.forget} onClick={forget}>
            <Icon name="trash" size={14} />
          </button>
        )}
      </div>
      {open && !info.tty ? <Output process={info.id} label={name} /> : null}
    </li>
  );
}

async function finish(ending: Promise<ChildInfo>): Promise<void> {
  const info = await attempt(ending);
  if (info) putProcess(info);
}

function facts(info: ChildInfo): string {
  const end = info.exitedAtMs ?? null;
  const parts = [
    info.status === "running" ? runningFor(info) : outcome(info),
    end === null ? "" : words.took(formatSpan((end - info.createdAtMs) / 1000)),
    info.pid && info.status === "running" ? words.pid(info.pid) : "",
    info.tty ? words.terminal : "",
    info.cwd ? shortFolder(info.cwd) : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

function runningFor(info: ChildInfo): string {
  const age = formatAge(info.createdAtMs / 1000, now.value);
  return age === texts.time.now ? words.running : words.runningFor(age);
}

function outcome(info: ChildInfo): string {
  if (info.lost) return words.lost;
  return info.exitCode == null ? words.signalled : texts.tools.exit(info.exitCode);
}

/** What it says; the view stays at the end unless somebody has gone up. */
function Output({ process, label }: { process: string; label: string }): JSX.Element {
  const [log, setLog] = useState<ProcessLog | null>(null);
  useEffect(() => {
    const made = new ProcessLog(process, putProcess);
    setLog(made);
    return () => made.close();
  }, [process]);
  return log ? <LogView log={log} label={label} /> : <p class="empty">{texts.loading}</p>;
}

function LogView({ log, label }: { log: ProcessLog; label: string }): JSX.Element {
  const box = useRef<HTMLPreElement>(null);
  const stuck = useRef(true);
  const frame = log.frame.value;
  useLayoutEffect(() => {
    if (box.current && stuck.current) box.current.scrollTop = box.current.scrollHeight;
  }, [frame]);
  const look = (): void => {
    const element = box.current;
    if (element) stuck.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
  };
  return (
    <div class="process-log">
      <pre ref={box} tabIndex={0} role="log" aria-live="off" aria-label={words.outputOf(label)} onScroll={look}>
        {log.parts.map((part, place) => (
          <span key={place} class={part.stream}>
            {part.text}
          </span>
        ))}
        {log.parts.length ? null : <span class="hint">{log.problem.value || texts.tools.noOutput}</span>}
      </pre>
      <button type="button" class="button small" onClick={() => copyText(log.text)}>
        <Icon name="copy" size={14} />
        {texts.copy}
      </button>
    </div>
  );
}
