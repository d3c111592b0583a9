// The input of a request: the command, the changes and every other field, all of it.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { texts } from "../../texts";
import { Blocks } from "../conversation/blocks";
import { DiffView } from "../conversation/diff_view";
import { formatTextSize } from "../format";
import { showHidden, showLine } from "../visible";
import type { Asked } from "./asked";
import { inputText, splitInput } from "./input_parts";
import { WholeText } from "./whole_text";

const LONG_LINES = 20;
const LONG_TEXT = 2_000;

interface InputViewProps {
  asked: Pick<Asked, "title" | "input" | "detail" | "description" | "content">;
  /** The title that the card of its call shows above it. */
  headed: string | undefined;
}

export function InputView({ asked, headed }: InputViewProps): JSX.Element | null {
  const parts = useMemo(() => splitInput(asked), [asked.input, asked.detail, asked.description, asked.content]);
  const text = useMemo(() => inputText(parts), [parts]);
  const drawn = text.includes(asked.title) || parts.changes.some((change) => change.path === asked.title);
  const title = drawn || showLine(asked.title) === headed ? "" : asked.title;
  if (!title && !text && !parts.changes.length) return null;
  const long = text.length > LONG_TEXT || text.split("\n", LONG_LINES + 1).length > LONG_LINES;
  return (
    <div class="input-view">
      {title ? <p class="verbatim request-title">{showHidden(title)}</p> : null}
      {parts.command ? <WholeText text={parts.command} label={texts.tools.kinds.command} command /> : null}
      {parts.changes.map((change, place) => (
        <DiffView key={place} change={change} whole absolute={headed === undefined} />
      ))}
      {parts.fields.length ? (
        <dl class="fields">
          {parts.fields.map(({ name, text: value }) => (
            <div key={name} class={value.includes("\n") || value.length > 60 ? "tall" : ""}>
              <dt>{showLine(name)}</dt>
              <dd>
                <WholeText text={value} label={showLine(name)} />
              </dd>
            </div>
          ))}
        </dl>
      ) : null}
      <Blocks blocks={(asked.content ?? []).filter((block) => block.type === "image" && block.data)} />
      {long ? <p class="hint input-size">{formatTextSize(text)}</p> : null}
    </div>
  );
}
