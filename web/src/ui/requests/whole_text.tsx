// A text that a person approves, all of it, with hidden characters visible.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { foldLine, Windowed } from "../conversation/windowed";
import { showHidden } from "../visible";

interface WholeTextProps {
  text: string;
  label: string;
  /** It is a command line. */
  command?: boolean;
}

export function WholeText({ text, label, command }: WholeTextProps): JSX.Element {
  const lines = useMemo(() => text.split("\n").flatMap(foldLine), [text]);
  return (
    <pre class={`whole scroll-box${command ? " command-line" : ""}`} tabIndex={0} role="group" aria-label={label}>
      <Windowed
        as="div"
        rows={lines}
        draw={(rows, first) => (
          <>
            {command && first === 0 ? (
              <span class="prompt" aria-hidden="true">
                ${" "}
              </span>
            ) : null}
            {showHidden(rows.join("\n"))}
          </>
        )}
      />
    </pre>
  );
}
