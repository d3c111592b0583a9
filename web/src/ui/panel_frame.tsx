// What stands around a panel: its head, and for the workspace the strip of its tabs.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { isWorkspace, type Panel, workspace } from "../panels";
import { onKey } from "../state/keys";
import { wideWorkspace, workspaceTab } from "../state/preferences";
import { goSession } from "../state/route";
import type { OpenSession } from "../state/session";
import { texts } from "../texts";
import { Icon } from "./icons";
import { Lazy } from "./lazy";

const words = texts.workspace;
const BODY = "panel-body";

export function PanelFrame({ panel, session }: { panel: Panel; session: OpenSession }): JSX.Element {
  const inWorkspace = isWorkspace(panel.id);
  useEffect(() => {
    if (!inWorkspace) return;
    workspaceTab.value = panel.id;
    document.getElementById(`tab-${panel.id}`)?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [panel.id]);
  const body = <Lazy key={`${session.id}/${panel.id}`} load={panel.load} props={{ session }} />;
  return (
    <aside class="panel" aria-label={inWorkspace ? words.title : panel.title}>
      <header class={`panel-head${inWorkspace ? " tabbed" : ""}`}>
        {inWorkspace ? <TabStrip open={panel.id} session={session.id} /> : <PanelTitle panel={panel} />}
        {inWorkspace ? <WidthButton /> : null}
        <button type="button" class="button quiet only-icon" aria-label={texts.panels.close} title={texts.panels.close} onClick={() => goSession(session.id)}>
          <Icon name="close" />
        </button>
      </header>
      {inWorkspace ? (
        <div class="panel-body" id={BODY} role="tabpanel" aria-labelledby={`tab-${panel.id}`}>
          {body}
        </div>
      ) : (
        <div class="panel-body">{body}</div>
      )}
    </aside>
  );
}

function PanelTitle({ panel }: { panel: Panel }): JSX.Element {
  return (
    <>
      <Icon name={panel.icon} />
      <h2 class="spacer panel-title">{panel.title}</h2>
    </>
  );
}

function WidthButton(): JSX.Element {
  const wide = wideWorkspace.value;
  const label = wide ? words.narrow : words.widen;
  return (
    <button type="button" class="button quiet only-icon widen" aria-label={label} title={label} onClick={() => (wideWorkspace.value = !wide)}>
      <Icon name={wide ? "narrow" : "wide"} />
    </button>
  );
}

/** Arrows, Home and End go from tab to tab; only the open one is on the way of the Tab key. */
function TabStrip({ open, session }: { open: string; session: string }): JSX.Element {
  const onKey = (event: KeyboardEvent): void => {
    const at = workspace.findIndex((each) => each.id === open);
    const last = workspace.length - 1;
    const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
    const next = to === undefined ? undefined : workspace[to];
    if (!next) return;
    event.preventDefault();
    goSession(session, next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <div class="panel-tabs" role="tablist" aria-label={words.tabs} onKeyDown={onKey}>
      {workspace.map((tab) => (
        <button
          key={tab.id}
          id={`tab-${tab.id}`}
          type="button"
          role="tab"
          aria-selected={tab.id === open}
          aria-controls={BODY}
          tabIndex={tab.id === open ? 0 : -1}
          onClick={() => goSession(session, tab.id)}
        >
          <Icon name={tab.icon} size={14} />
          {tab.title}
        </button>
      ))}
    </div>
  );
}

/** Opens the workspace where it was left, or closes it; the tab that is open, if one is. */
function toggleWorkspace(session: string, open: string): string {
  const tab = isWorkspace(workspaceTab.value) ? workspaceTab.value : (workspace[0]?.id ?? "");
  goSession(session, isWorkspace(open) ? "" : tab);
  return isWorkspace(open) ? "" : tab;
}

export function WorkspaceButton({ session, open }: { session: string; open: string }): JSX.Element {
  const shown = isWorkspace(open);
  useEffect(
    () =>
      onKey("workspace", () => {
        const tab = toggleWorkspace(session, open);
        if (tab) requestAnimationFrame(() => document.getElementById(`tab-${tab}`)?.focus());
      }),
    [session, open],
  );
  return (
    <button
      type="button"
      class="button quiet only-icon"
      aria-label={words.title}
      title={`${words.title} (f)`}
      aria-pressed={shown}
      onClick={() => toggleWorkspace(session, open)}
    >
      <Icon name="panel" />
    </button>
  );
}
