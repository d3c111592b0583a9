// What can be typed next: the engine's slash commands at the start, files after an @.
import type { JSX, RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../../api/client";
import type { OpenSession } from "../../state/session";
import { texts } from "../../texts";

/** Takes keys while something is offered; true when the key was used. */
export interface Completing {
  press: (event: KeyboardEvent) => boolean;
}

interface Offer {
  readonly value: string;
  readonly hint: string;
}

interface Wanted {
  readonly kind: "command" | "file";
  readonly from: number;
  readonly word: string;
}

const SHOWN = 8;
const WAIT_MS = 80;
const AGAIN_MS = 300;
const TRIES = 4;

/** What is being typed before the caret: `/word` at the very start, `@word` anywhere. */
export function wantedAt(text: string, caret: number): Wanted | null {
  const before = text.slice(0, caret);
  const command = /^\/(\S*)$/.exec(before);
  if (command) return { kind: "command", from: 0, word: command[1] ?? "" };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
  return file ? { kind: "file", from: caret - (file[1] ?? "").length - 1, word: file[1] ?? "" } : null;
}

interface CompletionsProps {
  session: OpenSession;
  text: string;
  field: RefObject<HTMLTextAreaElement | null>;
  write: (text: string) => void;
  handle: { current: Completing | null };
}

export function Completions({ session, text, field, write, handle }: CompletionsProps): JSX.Element | null {
  const [offers, setOffers] = useState<readonly Offer[]>([]);
  const [at, setAt] = useState(0);
  const [hidden, setHidden] = useState("");
  const caret = field.current?.selectionStart ?? text.length;
  const wanted = wantedAt(text, Math.min(caret, text.length));
  const asked = wanted ? `${wanted.kind}:${wanted.word}` : "";
  useEffect(() => {
    setAt(0);
    if (!wanted) {
      setOffers([]);
      return undefined;
    }
    if (wanted.kind === "command") {
      const word = wanted.word.toLowerCase();
      const fitting = session.draft.facts.commands.filter((command) => command.name.toLowerCase().includes(word));
      fitting.sort((one, other) => Number(other.name.startsWith(word)) - Number(one.name.startsWith(word)));
      setOffers(fitting.slice(0, SHOWN).map((command) => ({ value: `/${command.name}`, hint: command.description || command.argument_hint || "" })));
      return undefined;
    }
    let timer = 0;
    let here = true;
    const ask = (tries: number): void => {
      api.suggest(session.id, wanted.word).then(
        (list) => {
          if (!here) return;
          setOffers(list.files.slice(0, SHOWN).map((file) => ({ value: `@${file.path}`, hint: "" })));
          if (!list.files.length && tries > 1) timer = window.setTimeout(() => ask(tries - 1), AGAIN_MS); // it may still be looking
        },
        () => here && setOffers([]), // an engine without files to offer
      );
    };
    timer = window.setTimeout(() => ask(TRIES), WAIT_MS);
    return () => {
      here = false;
      clearTimeout(timer);
    };
  }, [asked]);
  const open = wanted !== null && offers.length > 0 && hidden !== asked;
  const take = (offer: Offer | undefined): void => {
    if (!offer || !wanted) return;
    const end = Math.min(caret, text.length);
    write(`${text.slice(0, wanted.from)}${offer.value} ${text.slice(end)}`);
    field.current?.focus();
  };
  handle.current = open
    ? {
        press: (event) => {
          const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (step) setAt((at + step + offers.length) % offers.length);
          else if (event.key === "Tab" && !event.shiftKey) take(offers[at]);
          else if (event.key === "Enter" && !event.shiftKey && offers[at]?.value !== text) take(offers[at]);
          else if (event.key === "Escape") setHidden(asked);
          else return false;
          event.preventDefault();
          event.stopPropagation();
          return true;
        },
      }
    : null;
  if (!open) return null;
  return (
    <ul class="completions" role="listbox" aria-label={texts.composer.completions}>
      {offers.map((offer, place) => (
        <li key={offer.value} role="option" aria-selected={place === at} onPointerDown={(event) => {
          event.preventDefault();
          take(offer);
        }}>
          <span class="mono">{offer.value}</span>
          <small>{offer.hint}</small>
        </li>
      ))}
    </ul>
  );
}
