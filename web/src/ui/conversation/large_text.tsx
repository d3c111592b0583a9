// A text that is too large to be drawn whole: its beginning, its size, and the whole of it as a file.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { texts } from "../../texts";
import { formatBytes } from "../format";
import { saveFile } from "../save";

/** From this many characters on: to draw more as Markdown stops the page for seconds. */
export const LARGE = 1_000_000;
const SHOWN = 20_000;

export function LargeText({ text }: { text: string }): JSX.Element {
  const file = useMemo(() => new Blob([text], { type: "text/plain;charset=utf-8" }), [text]);
  return (
    <div class="output large-text">
      <pre tabIndex={0}>{text.slice(0, SHOWN)}</pre>
      <p class="hint">
        {texts.conversation.cut(formatBytes(file.size))}{" "}
        <button type="button" class="button small" onClick={() => saveFile(file, "message.txt")}>
          {texts.conversation.saveWhole}
        </button>
      </p>
    </div>
  );
}
