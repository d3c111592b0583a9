// The left side: what waits, the list of sessions with search and filter, the state of the connection.
import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { api } from "../api/client";
import type { SessionInfo } from "../api/types";
import { pages } from "../panels";
import { reloadSessions, sessionList, sessionsLoaded, waiting } from "../state/attention";
import { openStart, overlay } from "../state/overlay";
import { theme } from "../state/preferences";
import { formatRoute, onLink, route } from "../state/route";
import { attempt } from "../state/toasts";
import { texts } from "../texts";
import { now } from "./clock";
import { ConnectionState } from "./connection";
import { formatAge, formatCost, shortFolder } from "./format";
import { Icon, Mark } from "./icons";
import { MenuButton } from "./menu";
import { TrayButton } from "./requests/tray";
import { sessionActions } from "./session_actions";
import { stateOf, titleOf } from "./titles";

export type Filter = keyof typeof texts.sessions.filters;
export const SEARCH_ID = "session-search";
const FILTERS: readonly Filter[] = ["all", "waiting", "active", "idle", "archived"];
const ACTIVE = new Set(["starting", "running", "waiting", "parked"]);
const DAY_S = 86_400;

const query = signal("");
const filter = signal<Filter>("all");

export function fits(info: SessionInfo, words: string, only: Filter): boolean {
  if (only === "waiting" && !info.open_requests) return false;
  if (only === "active" && !ACTIVE.has(info.state)) return false;
  if (only === "idle" && info.state !== "idle") return false;
  const text = `${info.title} ${info.cwd} ${info.engine} ${info.id}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function groupOf(info: SessionInfo, at: number): string {
  const midnight = new Date(at).setHours(0, 0, 0, 0) / 1000;
  if (info.updated_at >= midnight) return texts.sessions.today;
  if (info.updated_at >= midnight - DAY_S) return texts.sessions.yesterday;
  return info.updated_at >= midnight - 6 * DAY_S ? texts.sessions.week : texts.sessions.older;
}

export function Sidebar(): JSX.Element {
  return (
    <nav class="sidebar" aria-label={texts.sessions.title}>
      <div class="brand">
        <a href={formatRoute({ name: "home" })} onClick={onLink({ name: "home" })}>
          <Mark />
          {texts.name}
        </a>
        <span class="spacer" />
        <TrayButton />
        <button type="button" class="button primary only-icon" aria-label={texts.start.open} title={`${texts.start.open} (n)`} onClick={() => openStart()}>
          <Icon name="plus" />
        </button>
      </div>
      <div class="sidebar-tools">
        <div class="search">
          <Icon name="search" />
          <input
            id={SEARCH_ID}
            class="field"
            type="search"
            placeholder={texts.sessions.search}
            aria-label={texts.sessions.search}
            value={query.value}
            onInput={(event) => (query.value = event.currentTarget.value)}
          />
        </div>
        <div class="filters" role="group" aria-label={texts.sessions.filter}>
          {FILTERS.map((each) => (
            <button key={each} type="button" aria-pressed={filter.value === each} onClick={() => (filter.value = each)}>
              {texts.sessions.filters[each]}
              {each === "waiting" && waiting.value.length ? ` ${waiting.value.length}` : ""}
            </button>
          ))}
        </div>
      </div>
      <SessionList />
      <div class="sidebar-foot">
        <ConnectionState />
        <PageLink id="notifications" />
        <PageLink id="agents" />
        <button type="button" class="button quiet only-icon" aria-label={texts.palette.open} title={`${texts.palette.open} (Ctrl K)`} onClick={() => (overlay.value = { name: "palette" })}>
          <Icon name="bolt" />
        </button>
        <button type="button" class="button quiet only-icon" aria-label={texts.help.open} title={`${texts.help.open} (?)`} onClick={() => (overlay.value = { name: "help" })}>
          <Icon name="help" />
        </button>
        <MenuButton label={texts.settings.theme} icon="sun" items={(["auto", "light", "dark"] as const).map((name) => ({
          id: name,
          text: texts.settings.themes[name],
          hint: theme.value === name ? "✓" : "",
          act: () => (theme.value = name),
        }))} />
      </div>
    </nav>
  );
}

function PageLink({ id }: { id: string }): JSX.Element | null {
  const page = pages.find((each) => each.id === id);
  if (!page) return null;
  const at = route.value;
  const to = { name: "page", id } as const;
  return (
    <a class="button quiet only-icon" href={formatRoute(to)} onClick={onLink(to)} aria-label={page.title} title={page.title} aria-current={at.name === "page" && at.id === id ? "page" : undefined}>
      <Icon name={page.icon} />
    </a>
  );
}

function SessionList(): JSX.Element {
  const aside = useArchived(filter.value === "archived");
  const all = filter.value === "archived" ? aside : sessionList.value;
  const shown = all.filter((info) => fits(info, query.value, filter.value));
  const groups = new Map<string, SessionInfo[]>();
  for (const info of shown) {
    const name = groupOf(info, now.value);
    groups.set(name, [...(groups.get(name) ?? []), info]);
  }
  if (!shown.length) {
    const words = !sessionsLoaded.value ? texts.loading : all.length ? texts.sessions.noneFound : texts.sessions.none;
    return <div class="session-list"><p class="empty">{words}</p></div>;
  }
  return (
    <div class="session-list">
      {[...groups].map(([name, members]) => (
        <section key={name} aria-label={name}>
          <h3>{name}</h3>
          <ul>
            {members.map((info) => (
              <SessionRow key={info.id} info={info} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function useArchived(wanted: boolean): readonly SessionInfo[] {
  const found = useSignal<readonly SessionInfo[]>([]);
  const known = sessionList.value.length;
  useEffect(() => {
    if (!wanted) return;
    void attempt(api.sessions({ archived: true, limit: 200 })).then((page) => {
      if (page) found.value = page.sessions;
    });
  }, [wanted, known]);
  return found.value;
}

function SessionRow({ info }: { info: SessionInfo }): JSX.Element {
  const at = route.value;
  const here = at.name === "session" && at.id === info.id;
  const to = { name: "session", id: info.id, panel: "" } as const;
  const title = titleOf(info);
  const state = stateOf(info.state, info.failed);
  return (
    <li class="session-row" data-current={here} data-session={info.id}>
      <a href={formatRoute(to)} onClick={onLink(to)} aria-current={here ? "page" : undefined}>
        <span class={`dot ${state}`} aria-hidden="true" />
        <span class="title">{title}</span>
        <span class="facts">
          <span>{info.open_requests ? texts.sessions.requests(info.open_requests) : texts.states[state]}</span>
          <span aria-hidden="true">·</span>
          <span class="grow" title={info.cwd}>{shortFolder(info.cwd)}</span>
        </span>
        <span class="facts">
          <span>{info.engine}</span>
          <span aria-hidden="true">·</span>
          <span>{formatAge(info.updated_at, now.value)}</span>
          {info.cost_usd ? <span>· {formatCost(info.cost_usd)}</span> : null}
        </span>
      </a>
      <MenuButton label={texts.sessions.actions(title)} icon="more" small items={sessionActions(info)} />
    </li>
  );
}

/** The sessions in the order they are shown, for keys that go up and down. */
export function shownSessions(): readonly SessionInfo[] {
  return sessionList.value.filter((info) => fits(info, query.value, filter.value));
}

export const refreshSessions = (): void => void attempt(reloadSessions());
