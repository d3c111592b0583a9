// One changed file: its name and figures, and on demand what changed in it.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { texts } from "../texts";
import { Counts, DiffView } from "../ui/conversation/diff_view";
import { useRelative } from "../ui/folder";
import { Icon } from "../ui/icons";
import { showLine } from "../ui/visible";
import type { Patch } from "./git_patch";

interface ChangeRowProps {
  path: string;
  /** A letter or a word before the name: what happened to the file. */
  mark?: { text: string; title: string } | undefined;
  hint?: string;
  added?: number | null | undefined;
  removed?: number | null | undefined;
  /** Buttons at the end of the row. */
  actions?: ComponentChildren;
  first?: boolean;
  children: () => JSX.Element;
}

export function ChangeRow({ path, mark, hint, added, removed, actions, first = false, children }: ChangeRowProps): JSX.Element {
  const [open, setOpen] = useState(first);
  const name = useRelative(path);
  return (
    <li class="change">
      <div class="change-head">
        <button type="button" class="change-name" aria-expanded={open} title={path} onClick={() => setOpen(!open)}>
          <span class={`turner${open ? " open" : ""}`}>
            <Icon name="chevron" size={12} />
          </span>
          {mark ? (
            <span class="change-mark" data-mark={mark.text} title={mark.title}>
              <span aria-hidden="true">{mark.text}</span>
              <span class="visually-hidden">{mark.title}</span>
            </span>
          ) : null}
          <span class="path">
            <bdi dir="ltr">{showLine(name)}</bdi>
          </span>
          {hint ? <span class="hint">{hint}</span> : null}
          {added != null || removed != null ? (
            <span class="figures">
              <Counts added={added ?? 0} removed={removed ?? 0} />
            </span>
          ) : null}
        </button>
        {actions}
      </div>
      {open ? <div class="change-body">{children()}</div> : null}
    </li>
  );
}

/** What git tells of one file. */
export function PatchView({ patch }: { patch: Patch }): JSX.Element {
  if (patch.change.hunks?.length) return <DiffView change={patch.change} />;
  return (
    <p class="hint no-text">
      <Icon name="file" size={14} />
      <code class="path">{showLine(patch.change.moved_to || patch.change.path)}</code>
      {patch.binary ? texts.changes.binary : texts.changes.noText}
    </p>
  );
}
