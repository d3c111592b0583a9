// What the keys of the whole page do.
import { effect } from "@preact/signals";
import { waiting } from "../state/attention";
import { onKey } from "../state/keys";
import { openStart, overlay } from "../state/overlay";
import { theme } from "../state/preferences";
import { goSession, route } from "../state/route";
import { trayOpen } from "./requests/tray";
import { SEARCH_ID, shownSessions } from "./sidebar";

function step(by: number): void {
  const list = shownSessions();
  const at = route.value;
  const here = at.name === "session" ? list.findIndex((info) => info.id === at.id) : -1;
  const next = list[here < 0 ? (by > 0 ? 0 : list.length - 1) : Math.max(0, Math.min(list.length - 1, here + by))];
  if (next) goSession(next.id);
}

/** The card that a key means: the one with the focus, else the first on the screen. */
function press(act: "allow" | "deny" | "edit"): boolean {
  const card = document.activeElement?.closest("[data-request]") ?? document.querySelector("[data-request]");
  const button = card?.querySelector<HTMLButtonElement>(`[data-act="${act}"]`);
  if (!button || button.disabled) return false;
  button.click();
  return true;
}

function toFirstRequest(): void {
  const card = document.querySelector<HTMLElement>(".timeline [data-request]");
  if (card) {
    card.scrollIntoView({ block: "nearest" });
    card.focus();
  } else if (waiting.value.length) trayOpen.value = true;
}

export function bindPageKeys(): void {
  onKey("palette", () => void (overlay.value = { name: "palette" }));
  onKey("help", () => void (overlay.value = { name: "help" }));
  onKey("newSession", () => openStart());
  onKey("search", () => document.getElementById(SEARCH_ID)?.focus());
  onKey("nextSession", () => step(1));
  onKey("previousSession", () => step(-1));
  onKey("tray", toFirstRequest);
  onKey("allow", () => press("allow"));
  onKey("deny", () => press("deny"));
  onKey("edit", () => press("edit"));
  onKey("theme", () => void (theme.value = document.documentElement.dataset["theme"] === "dark" ? "light" : "dark"));
  effect(() => {
    if (!waiting.value.length && trayOpen.peek()) trayOpen.value = false;
  });
}
