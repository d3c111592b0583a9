// Notifications of this browser: of which sessions, on which occasions; a message to try; the page as an app.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import "../styles/notifications.css";
import { sessions } from "../state/attention";
import { busy, hears, hindrance, isTold, OCCASIONS, tellMe, tryOut, type Wishes, wishes } from "../state/push";
import { formatRoute, onLink } from "../state/route";
import { attempt, tell } from "../state/toasts";
import { installPrompt } from "../state/worker";
import { texts } from "../texts";
import { Icon } from "../ui/icons";
import { titleOf } from "../ui/titles";

const words = texts.push;

export default function Notifications(): JSX.Element {
  const problem = hindrance();
  return (
    <section class="notifications" aria-label={words.title}>
      <a class="button quiet page-back" href={formatRoute({ name: "home" })} onClick={onLink({ name: "home" })}>
        <Icon name="back" />
        {texts.back}
      </a>
      <h1>{words.title}</h1>
      <p class="hint">{words.explain}</p>
      {problem ? <p class="warning" role="status">{problem}</p> : <Choice />}
      <InstallApp />
    </section>
  );
}

function Choice(): JSX.Element {
  const given = wishes.value;
  const change = (next: Partial<Wishes>): void => void attempt(tellMe({ ...given, ...next }));
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <label class="row">
        <input type="checkbox" checked={isTold.value && given.all} disabled={busy.value} onChange={(event) => change({ all: event.currentTarget.checked })} />
        {words.all}
      </label>
      <fieldset>
        <legend>{words.when}</legend>
        {OCCASIONS.map((each) => (
          <label key={each} class="row">
            <input
              type="checkbox"
              checked={given.on.includes(each)}
              disabled={busy.value}
              onChange={(event) => change({ on: OCCASIONS.filter((one) => (one === each ? event.currentTarget.checked : given.on.includes(one))) })}
            />
            {words.occasions[each]}
          </label>
        ))}
      </fieldset>
      {given.all ? null : <Named given={given} change={change} />}
      <TryOut />
    </form>
  );
}

function Named({ given, change }: { given: Wishes; change: (next: Partial<Wishes>) => void }): JSX.Element {
  const named = given.sessions.filter(hears);
  return (
    <fieldset>
      <legend>{words.named}</legend>
      {named.length ? (
        <ul class="found">
          {named.map((id) => (
            <li key={id}>
              <div>{titleOf(sessions.value.get(id)) || id}</div>
              <button type="button" class="button small" onClick={() => change({ sessions: given.sessions.filter((each) => each !== id) })}>
                {words.quiet}
              </button>
            </li>
          ))}
        </ul>
      ) : (
        <p class="hint">{words.none}</p>
      )}
    </fieldset>
  );
}

function TryOut(): JSX.Element | null {
  const trying = useSignal(false);
  if (!isTold.value) return null;
  const act = async (): Promise<void> => {
    trying.value = true;
    const said = await attempt(tryOut());
    trying.value = false;
    if (said) tell(said, said === words.sent ? "good" : "bad");
  };
  return (
    <p class="buttons">
      <button type="button" class="button" disabled={trying.value} onClick={() => void act()}>
        {words.test}
      </button>
      <button type="button" class="button" onClick={() => void attempt(tellMe({ ...wishes.value, all: false, sessions: [] }))}>
        {words.off}
      </button>
    </p>
  );
}

function InstallApp(): JSX.Element {
  const offered = installPrompt.value;
  return (
    <>
      <h2>{words.app}</h2>
      <p class="hint">{offered ? words.appExplain : words.appByHand}</p>
      {offered ? (
        <button type="button" class="button primary" onClick={() => void offered.prompt()}>
          {words.install}
        </button>
      ) : null}
    </>
  );
}
