// A change of one file, unified or side by side; the choice is remembered.
import type { JSX } from "preact";
import { memo } from "preact/compat";
import { useMemo, useState } from "preact/hooks";
import type { FileChange } from "../../api/types";
import { splitDiffs } from "../../state/preferences";
import { texts } from "../../texts";
import { useRelative } from "../folder";
import { formatChanges } from "../format";
import { Icon } from "../icons";
import { showExact, showHidden } from "../visible";
import { countLines, type DiffLine, describeChange, diffLines, hasText, sideBySide } from "./diff_lines";
import { foldLine, Windowed } from "./windowed";

const SHOWN_LINES = 80;
const MARKS = { same: " ", added: "+", removed: "−", gap: "", note: "" };
type Pair = [DiffLine | null, DiffLine | null];

interface DiffViewProps {
  change: FileChange;
  /** Somebody is asked to allow it: every line is there, and the path is not shortened. */
  whole?: boolean;
  /** The session's folder is not in sight: the path is absolute. */
  absolute?: boolean;
}

export const DiffView = memo(function DiffView({ change, whole = false, absolute = false }: DiffViewProps): JSX.Element {
  const all = useMemo(() => withoutFirstGap(diffLines(change)), [change]);
  const [open, setOpen] = useState(false);
  const lines = whole || open ? all : all.slice(0, SHOWN_LINES);
  const known = hasText(change);
  const remark = known ? "" : describeChange(change, all);
  const split = splitDiffs.value;
  const near = useRelative(change.path);
  // Before it runs, nobody knows whether there is such a file: then the text is all of it that will be there.
  const overwrites = change.kind !== "add" && change.old_text == null && change.new_text != null && !change.hunks?.length;
  return (
    <figure class={`diff${whole ? " whole" : ""}`}>
      <figcaption>
        <Icon name="file" size={14} />
        <span class="path" title={showExact(change.path)}>
          <bdi dir="ltr">{showExact(absolute ? change.path : near)}</bdi>
        </span>
        {change.moved_to ? <span class="hint">{texts.tools.moved(showExact(change.moved_to))}</span> : null}
        {change.kind === "add" ? <span class="badge">{texts.tools.newFile}</span> : null}
        {overwrites ? <span class="badge">{texts.tools.wholeFile}</span> : null}
        {change.kind === "delete" ? <span class="badge">{texts.tools.deleted}</span> : null}
        {known ? (
          <span class="figures">
            <Counts {...countLines(all)} />
          </span>
        ) : null}
        <span class="switch" role="group" aria-label={texts.tools.diffView}>
          <button type="button" aria-pressed={!split} onClick={() => (splitDiffs.value = false)}>
            {texts.tools.unified}
          </button>
          <button type="button" aria-pressed={split} onClick={() => (splitDiffs.value = true)}>
            {texts.tools.split}
          </button>
        </span>
      </figcaption>
      {known ? (
        <div class="diff-scroll scroll-box" tabIndex={0} role="group" aria-label={showExact(change.path)}>
          {split ? <Split lines={lines} /> : <Unified lines={lines} />}
        </div>
      ) : remark ? (
        <p class="hint no-content">{remark}</p>
      ) : null}
      {!whole && all.length > SHOWN_LINES ? (
        <button type="button" class="more" onClick={() => setOpen(!open)}>
          {open ? texts.showLess : texts.showAll(all.length)}
        </button>
      ) : null}
    </figure>
  );
});

export function Counts({ added, removed }: { added: number; removed: number }): JSX.Element {
  const [more, less] = formatChanges(added, removed).split(" ");
  return (
    <>
      <span class="added">{more}</span> <span class="removed">{less}</span>
    </>
  );
}

function withoutFirstGap(lines: readonly DiffLine[]): readonly DiffLine[] {
  return lines[0]?.kind === "gap" ? lines.slice(1) : lines;
}

/** Lines that are too long to be drawn at once, in pieces; only the first has numbers. */
function fold(lines: readonly DiffLine[]): DiffLine[] {
  return lines.flatMap((line) => foldLine(line.text).map((text, place) => (place ? { ...line, text, before: null, after: null } : { ...line, text })));
}

function Unified({ lines }: { lines: readonly DiffLine[] }): JSX.Element {
  const rows = useMemo(() => fold(lines), [lines]);
  return (
    <table class="unified">
      <Windowed
        as="tbody"
        rows={rows}
        draw={(piece, first) =>
          piece.map((line, place) => (
            <tr key={first + place} class={line.kind}>
              <td class="number">{line.before ?? ""}</td>
              <td class="number">{line.after ?? ""}</td>
              <td class="mark">{MARKS[line.kind]}</td>
              <td class="text">{textOf(line)}</td>
            </tr>
          ))
        }
      />
    </table>
  );
}

function Split({ lines }: { lines: readonly DiffLine[] }): JSX.Element {
  const rows = useMemo(() => sideBySide(fold(lines)), [lines]);
  return (
    <table class="split">
      <Windowed<Pair>
        as="tbody"
        rows={rows}
        draw={(piece, first) =>
          piece.map(([before, after], place) => (
            <tr key={first + place}>
              <Half line={before} number={before?.before ?? null} />
              <Half line={after} number={after?.after ?? null} />
            </tr>
          ))
        }
      />
    </table>
  );
}

function Half({ line, number }: { line: DiffLine | null; number: number | null }): JSX.Element {
  return (
    <>
      <td class={`number ${line?.kind ?? "none"}`}>{number ?? ""}</td>
      <td class={`text ${line?.kind ?? "none"}`}>{line ? textOf(line) : ""}</td>
    </>
  );
}

function textOf(line: DiffLine): string {
  return line.kind === "gap" ? "⋯" : showHidden(line.text);
}
