// One terminal on the screen: xterm over the line to the server, in the colours of the page.
import "@xterm/xterm/css/xterm.css";
import { useSignal } from "@preact/signals";
import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { confirmThat } from "../state/overlay";
import { readTerminals } from "../state/preferences";
import { tell } from "../state/toasts";
import { texts } from "../texts";
import { copyText } from "../ui/clipboard";
import { Icon } from "../ui/icons";
import { TerminalKeys } from "./terminal_keys";
import { TerminalLink } from "./terminal_link";
import { openStyled } from "./terminal_style";

const words = texts.terminals;
const ANSI = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
const SCROLLBACK = 5_000;
const FONT_PX = 13;

interface Screen {
  readonly terminal: Terminal;
  readonly link: TerminalLink;
}

interface TerminalViewProps {
  process: string;
  /** What the program calls itself. */
  onTitle: (title: string) => void;
  /** The program has ended. */
  onEnd: () => void;
  /** The keyboard leaves the terminal. */
  onLeave: () => void;
}

export function TerminalView(props: TerminalViewProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [screen, setScreen] = useState<Screen | null>(null);
  const selected = useSignal(false);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const made = openScreen(element, props);
    made.terminal.onSelectionChange(() => (selected.value = made.terminal.hasSelection()));
    setScreen(made);
    const watch = new ResizeObserver(() => made.fit());
    watch.observe(element);
    const recolour = new MutationObserver(() => (made.terminal.options.theme = readTheme(element)));
    recolour.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const stopReading = readTerminals.subscribe((on) => (made.terminal.options.screenReaderMode = on));
    return () => {
      watch.disconnect();
      recolour.disconnect();
      stopReading();
      made.link.close();
      made.terminal.dispose();
    };
  }, [props.process]);
  const ended = screen?.link.state.value === "ended";
  useEffect(() => {
    if (ended) props.onEnd();
  }, [ended]);
  return (
    <div class="terminal-view">
      {screen ? <LineState link={screen.link} /> : null}
      <div class="terminal-box" ref={box} />
      {screen ? <TerminalKeys send={(data) => screen.link.send(data)} focus={() => screen.terminal.focus()} applied={() => screen.terminal.modes.applicationCursorKeysMode} /> : null}
      {screen ? (
        <footer class="terminal-foot">
          <button type="button" class="button small quiet" disabled={!selected.value} onClick={() => copyText(screen.terminal.getSelection())}>
            <Icon name="copy" size={14} />
            {texts.copy}
          </button>
          <button type="button" class="button small quiet" onClick={() => void paste(screen.terminal)}>
            {words.paste}
          </button>
          <label class="tick">
            <input type="checkbox" checked={readTerminals.value} onChange={(event) => (readTerminals.value = event.currentTarget.checked)} />
            {words.readAloud}
          </label>
          <span class="spacer" />
          <span class="hint wide-only">{words.keys}</span>
        </footer>
      ) : null}
    </div>
  );
}

function LineState({ link }: { link: TerminalLink }): JSX.Element | null {
  const state = link.state.value;
  if (state === "open" && !link.problem.value) return null;
  const told = {
    open: link.problem.value,
    connecting: texts.connection.connecting,
    lost: words.lost,
    ended: words.ended(link.exitCode.value),
    refused: link.problem.value,
  }[state];
  return (
    <p class={`terminal-state ${state}`} role="status">
      <span>{told}</span>
      {state === "lost" ? (
        <button type="button" class="button small" onClick={() => link.retry()}>
          {texts.connection.now}
        </button>
      ) : null}
    </p>
  );
}

function openScreen(element: HTMLElement, props: TerminalViewProps): Screen & { fit: () => void } {
  const terminal = new Terminal({
    allowProposedApi: false,
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    fontFamily: getComputedStyle(element).getPropertyValue("--mono"),
    fontSize: FONT_PX,
    minimumContrastRatio: 4.5,
    scrollback: SCROLLBACK,
    macOptionIsMeta: true,
    theme: readTheme(element),
    linkHandler: {
      activate: (_, address) => confirmThat(words.linkAsk(address), words.linkOpen, () => window.open(address, "_blank", "noopener,noreferrer")),
    },
  });
  const fitting = new FitAddon();
  terminal.loadAddon(fitting);
  openStyled(terminal, element);
  terminal.textarea?.setAttribute("aria-label", words.field);
  const fit = (): void => {
    if (element.clientWidth && element.clientHeight) fitting.fit();
  };
  fit();
  const link = new TerminalLink(props.process, {
    fresh: () => terminal.reset(),
    output: (data, done) => terminal.write(data, done),
    size: () => ({ cols: terminal.cols, rows: terminal.rows }),
  });
  terminal.onData((data) => link.send(data));
  terminal.onBinary((data) => link.sendBinary(data));
  terminal.onResize(({ cols, rows }) => link.resize(cols, rows));
  terminal.onTitleChange(props.onTitle);
  terminal.attachCustomKeyEventHandler((event) => handleKey(event, terminal, props.onLeave));
  if (matchMedia("(hover: hover)").matches) terminal.focus();
  return { terminal, link, fit };
}

/** The keys that are the page's: copy what is selected, paste, leave. All others are the program's. */
function handleKey(event: KeyboardEvent, terminal: Terminal, leave: () => void): boolean {
  if (event.type !== "keydown") return true;
  const key = event.key.toLowerCase();
  const mod = event.ctrlKey || event.metaKey;
  if (mod && key === "c" && terminal.hasSelection()) {
    copyText(terminal.getSelection());
    terminal.clearSelection();
    event.preventDefault();
    return false;
  }
  if (mod && key === "v") return false; // the browser pastes into xterm's field
  if (event.ctrlKey && key === "f6") {
    event.preventDefault();
    leave();
    return false;
  }
  return true;
}

async function paste(terminal: Terminal): Promise<void> {
  try {
    terminal.paste(await navigator.clipboard.readText());
    terminal.focus();
  } catch {
    tell(words.noPaste, "bad"); // no clipboard here, or no leave to read it
  }
}

/** The page's colours, for the theme that is on. */
function readTheme(element: HTMLElement): ITheme {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const found: Record<string, string> = {
    background: colour("terminal-ground"),
    foreground: colour("terminal-ink"),
    cursor: colour("accent"),
    cursorAccent: colour("terminal-ground"),
    selectionBackground: colour("terminal-selected"),
  };
  for (const name of ANSI) {
    const value = colour(`ansi-${name}`);
    found[name] = value;
    found[`bright${name[0]?.toUpperCase()}${name.slice(1)}`] = colour(`ansi-bright-${name}`) || value;
  }
  return found;
}
