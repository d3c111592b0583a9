// Tokens: those that were made, a new one (shown once), and taking one back.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { api } from "../api/client";
import type { Info, NewToken, TokenInfo } from "../api/types";
import { confirmThat } from "../state/overlay";
import { attempt, tell, wordsOf } from "../state/toasts";
import { texts } from "../texts";
import { copyText } from "../ui/clipboard";
import { formatMoment } from "../ui/format";
import { Refused } from "../ui/refused";

const words = texts.tokens;
const SCOPES = ["read", "answer", "drive", "files", "admin"] as const;
type Scope = (typeof SCOPES)[number];
const HOUR_S = 3600;
const LIVES = [0, HOUR_S, 24 * HOUR_S, 7 * 24 * HOUR_S, 30 * 24 * HOUR_S, 365 * 24 * HOUR_S] as const;

export function Tokens({ own }: { own: Info | null }): JSX.Element {
  const tokens = useSignal<readonly TokenInfo[] | null>(null);
  const refused = useSignal<unknown>(null);
  const made = useSignal<NewToken | null>(null);
  const load = (): void => {
    api.tokens().then(
      (list) => {
        tokens.value = list.tokens;
        refused.value = null;
      },
      (problem: unknown) => (refused.value = problem),
    );
  };
  const scopes = own?.scopes.join();
  useEffect(() => {
    if (scopes !== undefined) load();
  }, [scopes]);
  const revoke = (token: TokenInfo): void =>
    confirmThat(words.revokeAsk(token.name), words.revoke, () => {
      void attempt(api.revoke(token.id).then(() => true)).then((done) => {
        if (!done) return;
        tell(words.revoked(token.name), "good");
        load();
      });
    });
  return (
    <>
      <h2>{words.title}</h2>
      <Refused problem={refused.value} />
      {made.value ? <Made made={made.value} close={() => (made.value = null)} /> : null}
      {tokens.value ? (
        <>
          <TokenTable tokens={tokens.value} own={own?.token ?? ""} revoke={revoke} />
          <NewTokenForm
            made={(token) => {
              made.value = token;
              load();
            }}
          />
        </>
      ) : null}
    </>
  );
}

interface TokenTableProps {
  tokens: readonly TokenInfo[];
  own: string;
  revoke: (token: TokenInfo) => void;
}

function TokenTable({ tokens, own, revoke }: TokenTableProps): JSX.Element {
  if (!tokens.length) return <p class="hint">{words.none}</p>;
  return (
    <ul class="token-list">
      {tokens.map((token) => (
        <li key={token.id}>
          <div>
            <strong>{token.name}</strong>
            {token.name === own ? <span class="badge">{words.yours}</span> : null}
            <div class="hint">
              {[
                token.scopes.map((scope) => texts.scopes.names[scope]).join(", "),
                words.made(formatMoment(token.created_at)),
                token.expires_at ? words.expires(formatMoment(token.expires_at)) : words.never,
                ...(token.sessions?.length ? [words.onlySessions(token.sessions.length)] : []),
                ...(token.projects?.length ? [words.onlyFolders(token.projects.join(", "))] : []),
              ].join(" · ")}
            </div>
          </div>
          <button type="button" class="button small danger" aria-label={words.revokeNamed(token.name)} onClick={() => revoke(token)}>
            {words.revoke}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Made({ made, close }: { made: NewToken; close: () => void }): JSX.Element {
  const link = location.origin + made.link;
  return (
    <div class="made" role="status">
      <strong>{words.madeOnce(made.info.name)}</strong>
      <p class="hint">{words.onceHint}</p>
      <pre tabIndex={0}>{made.token}</pre>
      <div class="buttons">
        <button type="button" class="button small" onClick={() => copyText(made.token)}>
          {words.copyToken}
        </button>
        <button type="button" class="button small" onClick={() => copyText(link)}>
          {words.copyLink}
        </button>
        <button type="button" class="button small quiet" onClick={close}>
          {words.kept}
        </button>
      </div>
    </div>
  );
}

function NewTokenForm({ made }: { made: (token: NewToken) => void }): JSX.Element {
  const name = useSignal("");
  const scopes = useSignal<readonly Scope[]>(["read", "answer", "drive"]);
  const life = useSignal<number>(0);
  const folders = useSignal("");
  const failed = useSignal("");
  const toggle = (scope: Scope): void => {
    scopes.value = scopes.value.includes(scope) ? scopes.value.filter((each) => each !== scope) : [...scopes.value, scope];
  };
  const make = async (event: Event): Promise<void> => {
    event.preventDefault();
    failed.value = "";
    try {
      const projects = folders.value.split("\n").map((line) => line.trim()).filter(Boolean);
      made(await api.issue({ name: name.value.trim(), scopes: scopes.value, expires_in_s: life.value || null, projects }));
      name.value = "";
    } catch (problem) {
      failed.value = wordsOf(problem);
    }
  };
  return (
    <details class="new-token">
      <summary>{words.fresh}</summary>
      <form onSubmit={(event) => void make(event)}>
        <label>
          <span class="label">{words.name}</span>
          <input class="field" required maxLength={200} value={name.value} placeholder={words.nameHint} onInput={(event) => (name.value = event.currentTarget.value)} />
        </label>
        <fieldset>
          <legend class="label">{words.scopes}</legend>
          {SCOPES.map((scope) => (
            <label key={scope} class="tick">
              <input type="checkbox" checked={scopes.value.includes(scope)} onChange={() => toggle(scope)} />
              <span>
                {texts.scopes.names[scope]} <small>{texts.scopes.hints[scope]}</small>
              </span>
            </label>
          ))}
        </fieldset>
        <label>
          <span class="label">{words.life}</span>
          <select class="field" value={String(life.value)} onChange={(event) => (life.value = Number(event.currentTarget.value))}>
            {LIVES.map((seconds) => (
              <option key={seconds} value={String(seconds)}>
                {words.lives(seconds / HOUR_S)}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="label">{words.folders}</span>
          <textarea class="field" rows={2} value={folders.value} placeholder={words.foldersHint} onInput={(event) => (folders.value = event.currentTarget.value)} />
        </label>
        {failed.value ? <p class="note bad" role="alert">{failed.value}</p> : null}
        <div>
          <button type="submit" class="button primary" disabled={!name.value.trim() || !scopes.value.length}>
            {words.make}
          </button>
        </div>
      </form>
    </details>
  );
}
