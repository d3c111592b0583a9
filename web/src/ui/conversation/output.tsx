// Output of a command or a tool: its end is shown, the rest on demand; colours of a terminal are left out.
import type { JSX } from "preact";
import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import { texts } from "../../texts";
import { LARGE, LargeText } from "./large_text";
import { Markdown } from "./markdown";

const SHOWN_LINES = 12;
const SHOWN_CHARACTERS = 6_000;
// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007]*(?:\u0007|\u001b\\)|[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g;

export function cleanOutput(text: string): string {
  return text.replace(ESCAPES, "").replace(/\r\n/g, "\n").replace(/^.*\r(?=[^\n])/gm, "");
}

interface OutputProps {
  text: string;
  markdown?: boolean;
  fromStart?: boolean;
}

export const Output = memo(function Output({ text, markdown, fromStart }: OutputProps): JSX.Element | null {
  const [all, setAll] = useState(false);
  if (text.length > LARGE) return <LargeText text={text} />;
  const clean = cleanOutput(text).replace(/\n+$/, "");
  if (!clean) return null;
  const lines = clean.split("\n");
  const long = lines.length > SHOWN_LINES + 4 || clean.length > SHOWN_CHARACTERS;
  const kept = fromStart || markdown ? lines.slice(0, SHOWN_LINES).join("\n") : lines.slice(-SHOWN_LINES).join("\n");
  const shown = all || !long ? clean : fromStart || markdown ? kept.slice(0, SHOWN_CHARACTERS) : kept.slice(-SHOWN_CHARACTERS);
  return (
    <div class="output">
      {long && !all && !fromStart && !markdown ? <More lines={lines.length} onClick={() => setAll(true)} /> : null}
      {markdown && looksLikeMarkdown(clean) ? <Markdown text={shown} /> : <pre tabIndex={0}>{shown}</pre>}
      {long && !all && (fromStart || markdown) ? <More lines={lines.length} onClick={() => setAll(true)} /> : null}
      {long && all ? (
        <button type="button" class="more" onClick={() => setAll(false)}>
          {texts.showLess}
        </button>
      ) : null}
    </div>
  );
});

function More({ lines, onClick }: { lines: number; onClick: () => void }): JSX.Element {
  return (
    <button type="button" class="more" onClick={onClick}>
      {texts.showAll(lines)}
    </button>
  );
}

function looksLikeMarkdown(text: string): boolean {
  return /^(#{1,4} |[-*] |\d+\. |```|\|.*\|)/m.test(text) && !/^\s*\d+[→\t]/m.test(text);
}
