// What lies over the page: a dialog, the palette, the sheet of keys. One at a time.
import { signal } from "@preact/signals";
import type { SessionInfo } from "../api/types";

export type Overlay =
  | { readonly name: "start"; readonly tab: "fresh" | "adopt"; readonly folder: string }
  | { readonly name: "rename"; readonly session: SessionInfo }
  | { readonly name: "confirm"; readonly text: string; readonly action: string; readonly done: () => void }
  | { readonly name: "ask"; readonly ask: Asking }
  | { readonly name: "palette" }
  | { readonly name: "help" };

/** One line of text is wanted. `done` says what is wrong with it, or nothing. */
export interface Asking {
  readonly title: string;
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly action: string;
  readonly done: (value: string) => Promise<string | void>;
}

export const overlay = signal<Overlay | null>(null);

export const openStart = (tab: "fresh" | "adopt" = "fresh", folder = ""): void => {
  overlay.value = { name: "start", tab, folder };
};

export const closeOverlay = (): void => {
  overlay.value = null;
};

export const confirmThat = (text: string, action: string, done: () => void): void => {
  overlay.value = { name: "confirm", text, action, done };
};
