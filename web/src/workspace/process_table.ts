// The processes of the server, looked at again and again for as long as somebody looks.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api/client";
import type { ChildInfo } from "../api/types";

const LOOK_MS = 2_000;

/** The latest first; null until they are known. */
export const processes = signal<readonly ChildInfo[] | null>(null);
export const tableProblem = signal<unknown>(null);

/** Counts what was changed here: an answer that was on its way meanwhile is older than that, and not believed. */
let changes = 0;

export async function lookAtProcesses(): Promise<void> {
  const before = changes;
  try {
    const found = (await api.processes()).processes;
    if (changes !== before) return;
    processes.value = [...found].sort((one, other) => other.createdAtMs - one.createdAtMs);
    tableProblem.value = null;
  } catch (problem) {
    tableProblem.value = problem;
  }
}

export function putProcess(info: ChildInfo): void {
  changes += 1;
  const others = (processes.value ?? []).filter((each) => each.id !== info.id);
  processes.value = [info, ...others].sort((one, other) => other.createdAtMs - one.createdAtMs);
}

export function dropProcess(id: string): void {
  changes += 1;
  processes.value = (processes.value ?? []).filter((each) => each.id !== id);
}

/** Keeps the table fresh while the component is there and the page is looked at. */
export function useProcesses(): void {
  useEffect(() => {
    void lookAtProcesses();
    const timer = setInterval(() => {
      if (!document.hidden) void lookAtProcesses();
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
}

/** Whether it runs in the folder or below it. */
export function isBelow(info: ChildInfo, folder: string): boolean {
  const cwd = info.cwd ?? "";
  return cwd === folder || cwd.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** The user's own shell, or the best that the machine has. */
export const SHELL = 's="${SHELL:-}"; [ -x "$s" ] || s=$(command -v bash || command -v sh); exec "$s"';

export function isShell(info: ChildInfo): boolean {
  return info.tty && info.args[1] === SHELL;
}

/** The command as it was typed. */
export function commandLine(info: ChildInfo): string {
  if (info.command === "sh" && info.args[0] === "-c" && info.args.length === 2) return info.args[1] ?? "";
  return [info.command, ...info.args].join(" ");
}
