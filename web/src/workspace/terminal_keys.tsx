// A row of the keys that a phone's keyboard does not have.
import type { JSX } from "preact";
import { texts } from "../texts";

const words = texts.terminals.touchKeys;
const ARROWS = [["up", "A"], ["down", "B"], ["left", "D"], ["right", "C"]] as const;

interface TerminalKeysProps {
  send: (data: string) => void;
  focus: () => void;
  /** Whether the program wants arrows in their other form. */
  applied: () => boolean;
}

export function TerminalKeys({ send, focus, applied }: TerminalKeysProps): JSX.Element {
  const press = (data: string): void => {
    send(data);
    focus();
  };
  const keys: [string, string, () => void][] = [
    ["escape", words.escape, () => press("\u001b")],
    ["tab", words.tab, () => press("\t")],
    ["interrupt", words.interrupt, () => press("\u0003")],
    ["end", words.end, () => press("\u0004")],
    ["suspend", words.suspend, () => press("\u001a")],
    ...ARROWS.map(([name, letter]): [string, string, () => void] => [name, words[name], () => press(applied() ? `\u001bO${letter}` : `\u001b[${letter}`)]),
  ];
  return (
    <div class="terminal-keys" role="toolbar" aria-label={words.label}>
      {keys.map(([name, shown, act]) => (
        <button key={name} type="button" class="button small" aria-label={texts.terminals.touchNames[name as keyof typeof texts.terminals.touchNames]} onClick={act}>
          {shown}
        </button>
      ))}
    </div>
  );
}
