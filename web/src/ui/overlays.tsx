// Draws the one overlay that is open. The bigger ones are loaded when they are first wanted.
import type { JSX } from "preact";
import { overlay } from "../state/overlay";
import { AskDialog, ConfirmDialog, RenameDialog } from "./dialogs/small";
import { Lazy, preload } from "./lazy";

const loadStart = () => import("./dialogs/start");
const loadPalette = () => import("./dialogs/palette");
const loadHelp = () => import("./dialogs/help");

/** Whoever presses a key for one of these types on at once: have them here before that. */
export function preloadOverlays(): void {
  for (const load of [loadPalette, loadHelp]) preload(load);
  preload(loadStart);
}

export function Overlays(): JSX.Element | null {
  const open = overlay.value;
  switch (open?.name) {
    case "rename":
      return <RenameDialog session={open.session} />;
    case "confirm":
      return <ConfirmDialog text={open.text} action={open.action} done={open.done} />;
    case "ask":
      return <AskDialog ask={open.ask} />;
    case "start":
      return <Lazy load={loadStart} props={{ tab: open.tab, folder: open.folder }} />;
    case "palette":
      return <Lazy load={loadPalette} props={{}} />;
    case "help":
      return <Lazy load={loadHelp} props={{}} />;
    case undefined:
      return null;
  }
}
