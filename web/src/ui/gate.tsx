// Who has no token (or a wrong one) is asked for it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { connection } from "../state/attention";
import { keepToken, token } from "../state/token";
import { texts } from "../texts";
import { Mark } from "./icons";

export function Gate(): JSX.Element {
  const [given, setGiven] = useState("");
  const [tried, setTried] = useState(false);
  const open = (event: Event): void => {
    event.preventDefault();
    setTried(true);
    connection.value = "connecting";
    if (given.trim() === token.value) keepToken("");
    keepToken(given.trim().replace(/^.*#token=/, ""));
  };
  return (
    <main class="gate">
      <form onSubmit={open}>
        <Mark size={32} />
        <h1>{texts.token.title}</h1>
        <p class="hint">{texts.token.explain}</p>
        <div>
          <label class="label" for="token">
            {texts.token.label}
          </label>
          <input
            id="token"
            class="field mono"
            type="password"
            autocomplete="current-password"
            value={given}
            onInput={(event) => setGiven(event.currentTarget.value)}
            aria-describedby={tried ? "token-wrong" : undefined}
          />
          {tried ? (
            <p id="token-wrong" class="hint" role="alert">
              {texts.token.wrong}
            </p>
          ) : null}
        </div>
        <button class="button primary" type="submit" disabled={!given.trim()}>
          {texts.token.open}
        </button>
      </form>
    </main>
  );
}
