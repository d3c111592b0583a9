// What this browser remembers of how somebody likes the page: theme, widths, diff view, open tabs.
import { effect, signal, type Signal } from "@preact/signals";

/** A signal whose value survives a reload, in this browser only. */
export function remembered<T>(name: string, otherwise: T): Signal<T> {
  const key = `footplate.${name}`;
  const value = signal(read(key, otherwise));
  effect(() => {
    try {
      localStorage.setItem(key, JSON.stringify(value.value));
    } catch {
      return; // storage is full or switched off: it is remembered until the page is closed
    }
  });
  return value;
}

function read<T>(key: string, otherwise: T): T {
  try {
    const kept = localStorage.getItem(key);
    return kept === null ? otherwise : (JSON.parse(kept) as T);
  } catch {
    return otherwise;
  }
}

export type Theme = "auto" | "light" | "dark";
export const theme = remembered<Theme>("theme", "auto");
export const splitDiffs = remembered("split-diffs", false);
export const wideWorkspace = remembered("wide-workspace", false);
export const workspaceTab = remembered("workspace-tab", "");
export const lastTerminal = remembered<Record<string, string>>("terminals", {});
export const readTerminals = remembered("read-terminals", false);
export const openTabs = remembered<readonly string[]>("tabs", []);
export const showThinking = remembered("thinking", true);
export const drafts = remembered<Record<string, string>>("drafts", {});
export const promptHistory = remembered<readonly string[]>("history", []);

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Puts the chosen theme on the document; "auto" follows the system. */
export function applyTheme(): void {
  const put = (): void => {
    const name = theme.value === "auto" ? (dark.matches ? "dark" : "light") : theme.value;
    document.documentElement.dataset["theme"] = name;
    document.querySelector('meta[name="theme-color"]')?.setAttribute("content", name === "dark" ? "#14161a" : "#fbfaf8");
  };
  effect(put);
  dark.addEventListener("change", put);
}
