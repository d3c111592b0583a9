// The way from a changed file to the file itself, in the tab beside.
import type { JSX } from "preact";
import { goSession } from "../state/route";
import type { OpenSession } from "../state/session";
import { texts } from "../texts";
import { baseName } from "../ui/format";
import { Icon } from "../ui/icons";
import { reveal } from "./files_actions";
import { filesOf, rootOf } from "./files_state";

export function OpenFileButton({ session, path }: { session: OpenSession; path: string }): JSX.Element {
  const label = texts.files.open(baseName(path));
  const open = (): void => {
    const files = filesOf(session.id, rootOf(session.draft.facts.cwd));
    files.leave(() => {
      void files.open(path);
      void reveal(files, path);
      goSession(session.id, "files");
    });
  };
  return (
    <button type="button" class="button quiet small only-icon" aria-label={label} title={label} onClick={open}>
      <Icon name="file" size={14} />
    </button>
  );
}
