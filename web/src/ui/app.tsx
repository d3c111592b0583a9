// The whole page: the gate for who has no token, else sessions, the session that is looked at, and a panel.
import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
import { reconnectNow } from "../api/stream";
import { isWorkspace, pages, panels } from "../panels";
import { connection, followAttention, sessions, waiting } from "../state/attention";
import { openTabs, wideWorkspace } from "../state/preferences";
import { route } from "../state/route";
import { current, lookAt } from "../state/session";
import { wordsOf } from "../state/toasts";
import { token } from "../state/token";
import { texts } from "../texts";
import { ConnectionBanner } from "./connection";
import { Gate } from "./gate";
import { Home } from "./home";
import { Lazy } from "./lazy";
import { Overlays } from "./overlays";
import { PanelFrame } from "./panel_frame";
import { SessionScreen } from "./session_screen";
import { Sidebar } from "./sidebar";
import { Tabs } from "./tabs";
import { titleOf } from "./titles";
import { Toasts } from "./toast_list";

export function App(): JSX.Element {
  const [broken] = useErrorBoundary((problem: unknown) => console.error(problem));
  if (broken !== undefined) return <Broken problem={broken} />;
  return <Inside />;
}

function Broken({ problem }: { problem: unknown }): JSX.Element {
  return (
    <main class="gate">
      <form>
        <h1>{texts.problems.broke}</h1>
        <p class="hint">{wordsOf(problem)}</p>
        <button type="button" class="button primary" onClick={() => location.reload()}>
          {texts.problems.again}
        </button>
      </form>
    </main>
  );
}

function Inside(): JSX.Element {
  const refused = connection.value === "refused";
  useEffect(() => followAttention(), [token.value]);
  useEffect(() => {
    const look = (): void => {
      if (!document.hidden) reconnectNow();
    };
    addEventListener("online", reconnectNow);
    document.addEventListener("visibilitychange", look);
    return () => {
      removeEventListener("online", reconnectNow);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  useSignalEffect(() => {
    const at = route.value;
    lookAt(at.name === "session" ? at.id : null);
    if (at.name === "session" && !openTabs.peek().includes(at.id)) openTabs.value = [...openTabs.peek(), at.id].slice(-12);
  });
  useSignalEffect(() => {
    const at = route.value;
    const about = at.name === "session" ? titleOf(sessions.value.get(at.id)) : "";
    const count = waiting.value.length;
    document.title = `${count ? `(${count}) ` : ""}${about ? `${about} · ` : ""}${texts.name}`;
  });
  if (refused) return <Gate />;
  return <Shell />;
}

function Shell(): JSX.Element {
  const at = route.value;
  const session = current.value;
  const panel = at.name === "session" ? panels.find((each) => each.id === at.panel) : undefined;
  const page = at.name === "page" ? pages.find((each) => each.id === at.id) : undefined;
  return (
    <>
      <a class="skip" href="#main">
        {texts.skipToConversation}
      </a>
      <div class={`shell${panel ? ` ${panelLooks(panel.id)}` : ""}`} data-at={at.name === "home" ? "list" : "session"}>
        <Sidebar />
        <main class="main" id="main" tabIndex={-1}>
          <ConnectionBanner />
          <Tabs />
          {at.name === "session" && session ? <SessionScreen key={session.id} session={session} /> : null}
          {at.name === "page" && page ? <Lazy key={page.id} load={page.load} props={{}} /> : null}
          {at.name === "home" || (at.name === "page" && !page) ? <Home /> : null}
        </main>
        {panel && session && at.name === "session" ? (
          <PanelFrame panel={panel} session={session} />
        ) : null}
      </div>
      <Overlays />
      <Toasts />
    </>
  );
}

function panelLooks(id: string): string {
  if (!isWorkspace(id)) return "with-panel";
  return wideWorkspace.value ? "with-panel only-panel" : "with-panel with-workspace";
}
