// The whole of what is asked for: what is allowed must be seen.
import type { JSX } from "preact";
import { DiffView } from "../conversation/diff_view";
import { Output } from "../conversation/output";

interface InputViewProps {
  tool: string;
  title: string;
  input: unknown;
}

export function InputView({ title, input }: InputViewProps): JSX.Element {
  if (typeof input !== "object" || input === null) return <pre tabIndex={0}>{title}</pre>;
  const { command, file_path, old_string, new_string, content, ...rest } = input as Record<string, unknown>;
  const path = typeof file_path === "string" ? file_path : "";
  if (typeof command === "string") {
    return (
      <pre class="command-line" tabIndex={0}>
        <span class="prompt" aria-hidden="true">
          ${" "}
        </span>
        {command}
      </pre>
    );
  }
  if (path && typeof new_string === "string") return <DiffView change={{ path, old_text: String(old_string ?? ""), new_text: new_string }} />;
  if (path && typeof content === "string") return <DiffView change={{ path, kind: "add", old_text: null, new_text: content }} />;
  const shown = path ? { file_path: path, ...rest } : rest;
  return <Output text={JSON.stringify(shown, null, 2)} fromStart />;
}
