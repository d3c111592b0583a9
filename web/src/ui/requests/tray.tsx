// Everything that waits for somebody, across all sessions, answered where it stands.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { sessions, waiting } from "../../state/attention";
import { engineNamed } from "../../state/engines";
import { formatRoute, onLink } from "../../state/route";
import { texts } from "../../texts";
import { now } from "../clock";
import { Folder } from "../folder";
import { formatAge } from "../format";
import { Icon } from "../icons";
import { titleOf } from "../titles";
import { askedOfInfo } from "./asked";
import { RequestCard } from "./request_card";

const words = texts.requests;
export const trayOpen = signal(false);

export function TrayButton(): JSX.Element {
  const count = waiting.value.length;
  const button = useRef<HTMLButtonElement>(null);
  return (
    <>
      <button
        ref={button}
        type="button"
        class={`button quiet tray-button${count ? " some" : " only-icon"}`}
        aria-expanded={trayOpen.value}
        aria-label={count ? words.trayCount(count) : words.trayEmpty}
        title={`${words.tray} (w)`}
        onClick={() => (trayOpen.value = !trayOpen.value)}
      >
        <Icon name="bell" />
        {count || null}
      </button>
      <span class="visually-hidden" role="status">
        {count ? words.trayCount(count) : ""}
      </span>
      {trayOpen.value ? <TrayFlyout close={() => {
        trayOpen.value = false;
        button.current?.focus();
      }} /> : null}
    </>
  );
}

function TrayFlyout({ close }: { close: () => void }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.focus();
    const away = (event: Event): void => {
      const target = event.target as Element;
      if (!box.current?.contains(target) && !target.closest?.(".tray-button, .menu, .toast")) trayOpen.value = false;
    };
    document.addEventListener("pointerdown", away, true);
    return () => document.removeEventListener("pointerdown", away, true);
  }, []);
  return (
    <div ref={box} class="tray-flyout" role="dialog" aria-label={words.tray} tabIndex={-1} onKeyDown={(event) => {
      if (event.key === "Escape") close();
    }}>
      <header class="request-head">
        <strong>{words.tray}</strong>
        <span class="spacer" />
        <button type="button" class="button quiet small only-icon" aria-label={texts.close} onClick={close}>
          <Icon name="close" size={14} />
        </button>
      </header>
      <Tray />
    </div>
  );
}

export function Tray(): JSX.Element {
  const list = waiting.value;
  if (!list.length) return <p class="empty">{words.trayEmpty}</p>;
  return (
    <div class="tray">
      {list.map((info) => {
        const session = sessions.value.get(info.session);
        const to = { name: "session", id: info.session, panel: "" } as const;
        const from = (
          <a class="from" href={formatRoute(to)} onClick={(event) => {
            onLink(to)(event);
            trayOpen.value = false;
          }}>
            {titleOf(session)} · {formatAge(info.opened_at, now.value)}
          </a>
        );
        const modes = session ? (engineNamed(session.engine)?.capabilities.modes ?? []) : [];
        return (
          <Folder.Provider key={info.id} value={session?.cwd ?? ""}>
            <RequestCard asked={askedOfInfo(info)} modes={modes} from={from} />
          </Folder.Provider>
        );
      })}
    </div>
  );
}
