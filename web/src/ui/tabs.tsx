// The sessions that are open, one tab each; which they are is remembered.
import type { JSX } from "preact";
import { sessions } from "../state/attention";
import { openTabs } from "../state/preferences";
import { formatRoute, go, onLink, route } from "../state/route";
import { texts } from "../texts";
import { Icon } from "./icons";
import { titleOf } from "./titles";

export function closeTab(id: string): void {
  const before = openTabs.value;
  const left = before.filter((each) => each !== id);
  openTabs.value = left;
  const at = route.value;
  if (at.name !== "session" || at.id !== id) return;
  const next = left[Math.min(before.indexOf(id), left.length - 1)];
  go(next === undefined ? { name: "home" } : { name: "session", id: next, panel: "" }, "replace");
}

export function Tabs(): JSX.Element | null {
  const at = route.value;
  if (openTabs.value.length < 2) return null;
  return (
    <nav class="tabs" aria-label={texts.sessions.openTabs}>
      {openTabs.value.map((id) => {
        const info = sessions.value.get(id);
        const to = { name: "session", id, panel: "" } as const;
        const here = at.name === "session" && at.id === id;
        const title = titleOf(info);
        return (
          <div key={id} class="tab" data-current={here}>
            <a href={formatRoute(to)} onClick={onLink(to)} aria-current={here ? "page" : undefined}>
              <span class={`dot ${info?.state ?? "closed"}`} aria-hidden="true" />
              <span>{title}</span>
            </a>
            <button type="button" aria-label={texts.sessions.closeTab(title)} onClick={() => closeTab(id)}>
              <Icon name="close" size={12} />
            </button>
          </div>
        );
      })}
    </nav>
  );
}
