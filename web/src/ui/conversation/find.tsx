// Find in conversation: looks through everything, also what is not drawn, and goes from hit to hit.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { OpenSession } from "../../state/session";
import { texts } from "../../texts";
import { focusNow } from "../focus";
import { Icon } from "../icons";
import { keyOf, textOf } from "./rows";

const words = texts.conversation;

interface FindProps {
  session: OpenSession;
  go: (key: string) => void;
  close: () => void;
}

/** The keys of the rows that hold the words, in order; what a sub-agent said is found at its call. */
export function findRows(session: OpenSession, wanted: string): string[] {
  const text = wanted.trim().toLowerCase();
  if (!text) return [];
  const found = new Set<string>();
  for (const item of session.draft.items) {
    if (!textOf(item).toLowerCase().includes(text)) continue;
    let top = item;
    while ("parent" in top && top.parent !== null) {
      const above = session.draft.item("tool", top.parent);
      if (!above) break;
      top = above;
    }
    found.add(keyOf(top));
  }
  return [...found];
}

export function Find({ session, go, close }: FindProps): JSX.Element {
  const [wanted, setWanted] = useState("");
  const [at, setAt] = useState(-1);
  const version = session.draft.itemsVersion;
  const hits = useMemo(() => findRows(session, wanted), [wanted, version]);
  const step = (by: number): void => {
    if (!hits.length) return;
    const next = at < 0 ? (by > 0 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length;
    setAt(next);
    go(hits[next] as string);
  };
  useEffect(() => {
    if (!wanted.trim() || !hits.length) {
      setAt(-1);
      return;
    }
    setAt(hits.length - 1);
    go(hits[hits.length - 1] as string);
  }, [wanted]);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="find" role="search">
      <Icon name="search" size={14} />
      <input class="field" ref={focusNow} aria-label={words.find} placeholder={words.find} value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} onKeyDown={onKey} />
      <span class="hint" role="status">
        {wanted.trim() ? (hits.length ? words.findCount(at + 1, hits.length) : words.findNone) : ""}
      </span>
      <button type="button" class="button quiet small only-icon" aria-label={words.previous} onClick={() => step(-1)}>
        <Icon name="up" size={14} />
      </button>
      <button type="button" class="button quiet small only-icon" aria-label={words.next} onClick={() => step(1)}>
        <Icon name="down" size={14} />
      </button>
      <button type="button" class="button quiet small only-icon" aria-label={texts.close} onClick={close}>
        <Icon name="close" size={14} />
      </button>
    </div>
  );
}
