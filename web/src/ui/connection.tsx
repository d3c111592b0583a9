// Whether the server is there: a dot in the corner, a banner once it has been gone for a moment.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { reconnectNow } from "../api/stream";
import { connection } from "../state/attention";
import { formatRoute, onLink } from "../state/route";
import { texts } from "../texts";

const SERVER = { name: "page", id: "server" } as const;
const PATIENCE_MS = 1_500;

export function ConnectionState(): JSX.Element {
  const state = connection.value;
  return (
    <span class="spacer" role="status">
      <a class="link-state" data-state={state} href={formatRoute(SERVER)} title={texts.server.lead} onClick={onLink(SERVER)}>
        <span class="dot" aria-hidden="true" />
        <span class="link-words">{texts.connection[state]}</span>
      </a>
    </span>
  );
}

export function ConnectionBanner(): JSX.Element | null {
  const down = connection.value === "down";
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (!down) {
      setShown(false);
      return undefined;
    }
    const timer = setTimeout(() => setShown(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [down]);
  if (!shown) return null;
  return (
    <div class="down-banner" role="alert">
      {texts.connection.downLong}
      <button type="button" class="button small" onClick={reconnectNow}>
        {texts.connection.now}
      </button>
    </div>
  );
}
