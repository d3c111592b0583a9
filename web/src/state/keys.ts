// Keys: one table of what each does. A letter alone counts only while nobody types.
import { texts } from "../texts";

export type KeyId = keyof typeof texts.help.keys;

export interface Key {
  readonly id: KeyId;
  readonly shown: string;
  readonly fits: (event: KeyboardEvent) => boolean;
  /** Also while a text field has the focus. */
  readonly typing?: boolean;
}

const mod = (event: KeyboardEvent): boolean => event.ctrlKey || event.metaKey;
const plain = (key: string) => (event: KeyboardEvent): boolean => event.key === key && !mod(event) && !event.altKey;

export const KEYS: readonly Key[] = [
  { id: "palette", shown: "Ctrl K", typing: true, fits: (event) => mod(event) && event.key.toLowerCase() === "k" },
  { id: "help", shown: "?", fits: plain("?") },
  { id: "newSession", shown: "n", fits: plain("n") },
  { id: "search", shown: "/", fits: plain("/") },
  { id: "nextSession", shown: "j", fits: plain("j") },
  { id: "previousSession", shown: "k", fits: plain("k") },
  { id: "tray", shown: "w", fits: plain("w") },
  { id: "composer", shown: "i", fits: plain("i") },
  { id: "find", shown: "Ctrl F", typing: true, fits: (event) => mod(event) && event.key.toLowerCase() === "f" },
  { id: "latest", shown: "G", fits: plain("G") },
  { id: "mode", shown: "Shift Tab", typing: true, fits: (event) => event.key === "Tab" && event.shiftKey && isComposer(event.target) },
  { id: "stop", shown: "Esc Esc", typing: true, fits: twiceEscape() },
  { id: "allow", shown: "a", fits: plain("a") },
  { id: "deny", shown: "d", fits: plain("d") },
  { id: "edit", shown: "e", fits: plain("e") },
  { id: "workspace", shown: "f", fits: plain("f") },
  { id: "theme", shown: "t", fits: plain("t") },
];

function isComposer(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.id === "composer";
}

function twiceEscape(): (event: KeyboardEvent) => boolean {
  let last = 0;
  return (event) => {
    if (event.key !== "Escape") return false;
    const quick = event.timeStamp - last < 600;
    last = quick ? 0 : event.timeStamp;
    return quick;
  };
}

const doing = new Map<KeyId, (event?: KeyboardEvent) => boolean | void>();

/** Says what a key does for as long as the returned function is not called. `false`: not now, let the browser have it. */
export function onKey(id: KeyId, act: (event?: KeyboardEvent) => boolean | void): () => void {
  doing.set(id, act);
  return () => {
    if (doing.get(id) === act) doing.delete(id);
  };
}

export function runKey(id: KeyId): void {
  doing.get(id)?.();
}

function types(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
  const typing = types(event.target);
  for (const key of KEYS) {
    if ((typing && !key.typing) || !key.fits(event)) continue;
    const act = doing.get(key.id);
    if (act && act(event) !== false) event.preventDefault();
    return;
  }
});
