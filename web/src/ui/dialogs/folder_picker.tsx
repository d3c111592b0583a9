// Walks through the folders of the server's machine, as far as the token reaches.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../../api/client";
import type { Entry } from "../../api/types";
import { wordsOf } from "../../state/toasts";
import { texts } from "../../texts";
import { Icon } from "../icons";

const words = texts.start;

function parentOf(path: string): string {
  return path.replace(/\/+$/, "").replace(/\/[^/]*$/, "") || "/";
}

export function FolderPicker({ path, choose }: { path: string; choose: (path: string) => void }): JSX.Element {
  const [at, setAt] = useState(path.startsWith("/") ? path : "");
  const [folders, setFolders] = useState<readonly Entry[]>([]);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let here = true;
    api.entries(at || undefined).then(
      (entries) => {
        if (!here) return;
        const found = entries.filter((entry) => entry.entryType === "directory");
        setFolders([...found].sort((one, other) => one.name.localeCompare(other.name)));
        setProblem("");
        if (!at && found[0]) setAt(parentOf(found[0].path));
      },
      (reason: unknown) => {
        if (!here) return;
        setFolders([]);
        setProblem(wordsOf(reason));
      },
    );
    return () => {
      here = false;
    };
  }, [at]);
  const enter = (to: string): void => {
    setAt(to);
    choose(to);
  };
  const plain = folders.filter((entry) => !entry.name.startsWith("."));
  return (
    <div class="folders" role="group" aria-label={words.browse}>
      <div class="folders-head">
        <button type="button" class="button small" onClick={() => enter(parentOf(at))} disabled={!at || at === "/"}>
          <Icon name="up" size={12} />
          {words.up}
        </button>
        <code>{at || "~"}</code>
      </div>
      <ul>
        {plain.map((entry) => (
          <li key={entry.path}>
            <button type="button" onClick={() => enter(entry.path)}>
              <Icon name="folder" />
              {entry.name}
            </button>
          </li>
        ))}
      </ul>
      {problem ? <p class="hint">{problem}</p> : null}
      {!problem && !plain.length ? <p class="hint">{words.noFolders}</p> : null}
    </div>
  );
}
