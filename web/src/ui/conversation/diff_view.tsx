// A change of one file, unified or side by side; the choice is remembered.
import type { JSX } from "preact";
import { memo } from "preact/compat";
import { useMemo, useState } from "preact/hooks";
import type { FileChange } from "../../api/types";
import { splitDiffs } from "../../state/preferences";
import { texts } from "../../texts";
import { useRelative } from "../folder";
import { Icon } from "../icons";
import { countLines, type DiffLine, diffLines, sideBySide } from "./diff_lines";

const SHOWN_LINES = 80;
const MARKS = { same: " ", added: "+", removed: "−", gap: "" };

export const DiffView = memo(function DiffView({ change }: { change: FileChange }): JSX.Element {
  const lines = useMemo(() => diffLines(change), [change]);
  const [all, setAll] = useState(false);
  const { added, removed } = countLines(lines);
  const shown = all ? lines : lines.slice(0, SHOWN_LINES);
  const split = splitDiffs.value;
  const path = useRelative(change.path);
  const fresh = change.kind === "add" || (change.old_text === null && !change.hunks?.length);
  return (
    <figure class="diff">
      <figcaption>
        <Icon name="file" size={14} />
        <span class="path" title={change.path}>
          <bdi>{path}</bdi>
        </span>
        {change.moved_to ? <span class="hint">{texts.tools.moved(change.moved_to)}</span> : null}
        {fresh ? <span class="badge">{texts.tools.newFile}</span> : null}
        {change.kind === "delete" ? <span class="badge">{texts.tools.deleted}</span> : null}
        <span class="figures">
          <span class="added">+{added}</span> <span class="removed">−{removed}</span>
        </span>
        <span class="switch" role="group" aria-label={texts.tools.diffView}>
          <button type="button" aria-pressed={!split} onClick={() => (splitDiffs.value = false)}>
            {texts.tools.unified}
          </button>
          <button type="button" aria-pressed={split} onClick={() => (splitDiffs.value = true)}>
            {texts.tools.split}
          </button>
        </span>
      </figcaption>
      <div class="diff-scroll" tabIndex={0} role="group" aria-label={change.path}>
        {split ? <Split lines={shown} /> : <Unified lines={shown} />}
      </div>
      {lines.length > SHOWN_LINES ? (
        <button type="button" class="more" onClick={() => setAll(!all)}>
          {all ? texts.showLess : texts.showAll(lines.length)}
        </button>
      ) : null}
    </figure>
  );
});

function Unified({ lines }: { lines: readonly DiffLine[] }): JSX.Element {
  return (
    <table class="unified">
      <tbody>
        {lines.map((line, place) => (
          <tr key={place} class={line.kind}>
            <td class="number">{line.before ?? ""}</td>
            <td class="number">{line.after ?? ""}</td>
            <td class="mark">{MARKS[line.kind]}</td>
            <td class="text">{line.kind === "gap" ? "⋯" : line.text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Split({ lines }: { lines: readonly DiffLine[] }): JSX.Element {
  return (
    <table class="split">
      <tbody>
        {sideBySide(lines).map(([before, after], place) => (
          <tr key={place}>
            <Half line={before} number={before?.before ?? null} />
            <Half line={after} number={after?.after ?? null} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Half({ line, number }: { line: DiffLine | null; number: number | null }): JSX.Element {
  return (
    <>
      <td class={`number ${line?.kind ?? "none"}`}>{number ?? ""}</td>
      <td class={`text ${line?.kind ?? "none"}`}>{line?.kind === "gap" ? "⋯" : (line?.text ?? "")}</td>
    </>
  );
}
