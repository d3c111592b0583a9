// The service worker: registered once, told apart from the page; a tap on a notification comes back as an address.
import { signal } from "@preact/signals";
import { parseRoute, route } from "./route";

/** The browser's own dialog to install the page as an app, while it offers one. */
export interface InstallPrompt extends Event {
  prompt(): Promise<unknown>;
}

export const installPrompt = signal<InstallPrompt | null>(null);

interface ScriptPolicy {
  createScriptURL(address: string): string;
}

/** The policy of the page lets no text be a script's address: this one lets a single address be one. */
function workerAddress(): string {
  const address = "/ui/worker.js";
  const types = (window as { trustedTypes?: { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy } }).trustedTypes;
  return types ? types.createPolicy("footplate", { createScriptURL: () => address }).createScriptURL(address) : address;
}

/** Only where the browser trusts the connection (https, or this machine): elsewhere the page works without. */
export function registerWorker(): void {
  addEventListener("beforeinstallprompt", (event) => {
    event.preventDefault();
    installPrompt.value = event as InstallPrompt;
  });
  addEventListener("appinstalled", () => (installPrompt.value = null));
  if (!("serviceWorker" in navigator)) return;
  navigator.serviceWorker.addEventListener("message", (event: MessageEvent<{ go?: string }>) => {
    const where = event.data.go;
    if (!where?.startsWith("/ui/")) return;
    if (where !== location.pathname) history.pushState(null, "", where);
    route.value = parseRoute(where);
  });
  navigator.serviceWorker.register(workerAddress(), { scope: "/ui/" }).catch((problem: unknown) => {
    console.warn("the page cannot be kept for later:", problem); // private windows, a full disk: all else works
  });
}
