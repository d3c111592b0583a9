// One session: its head, the conversation, what it plans, and the field to talk to it.
import type { JSX } from "preact";
import { isWorkspace, panels } from "../panels";
import { sessions } from "../state/attention";
import { go, goSession, route } from "../state/route";
import type { OpenSession } from "../state/session";
import { texts } from "../texts";
import { Composer } from "./composer/composer";
import { Timeline } from "./conversation/timeline";
import { Folder } from "./folder";
import { shortFolder } from "./format";
import { Icon } from "./icons";
import { MenuButton } from "./menu";
import { PlanBar } from "./plan_bar";
import { sessionActions } from "./session_actions";
import { stateOf, titleOf } from "./titles";
import { WorkspaceButton } from "./panel_frame";

export function SessionScreen({ session }: { session: OpenSession }): JSX.Element {
  const standing = session.standing.value;
  if (standing === "loading") return <p class="empty">{texts.loading}</p>;
  if (standing !== "ready") {
    return (
      <div class="home">
        <div class="home-inner">
          <h1>{standing === "gone" ? texts.sessions.gone : session.problem.value}</h1>
          <div>
            <button type="button" class="button" onClick={() => go({ name: "home" })}>
              {texts.back}
            </button>
          </div>
        </div>
      </div>
    );
  }
  return (
    <Folder.Provider value={session.draft.facts.cwd}>
      <SessionHead session={session} />
      <Timeline session={session} />
      <PlanBar session={session} />
      <Composer session={session} />
    </Folder.Provider>
  );
}

function SessionHead({ session }: { session: OpenSession }): JSX.Element {
  void session.frame.value;
  const { facts } = session.draft;
  const info = sessions.value.get(session.id);
  const at = route.value;
  const open = at.name === "session" ? at.panel : "";
  const title = titleOf(facts);
  const turn = [...session.draft.turns.values()].at(-1);
  const state = stateOf(facts.state, turn?.ok === false && turn.stop_reason !== "interrupted");
  return (
    <header class="session-head">
      <button type="button" class="button quiet only-icon back" aria-label={texts.back} onClick={() => go({ name: "home" })}>
        <Icon name="back" />
      </button>
      <div class="names">
        <h1 title={title}>{title}</h1>
        <div class="facts">
          <span>{facts.engine}{facts.version ? ` ${facts.version}` : ""}</span>
          <span aria-hidden="true">·</span>
          <span title={facts.cwd}>{shortFolder(facts.cwd)}</span>
        </div>
      </div>
      <span class={`badge ${state}`} role="status">
        <span class={`dot ${state}`} aria-hidden="true" />
        <span class="badge-words">
          {state === "running" ? texts.waitingFor[facts.waiting_for] || texts.states.running : texts.states[state]}
        </span>
      </span>
      <WorkspaceButton session={session.id} open={open} />
      {panels.filter((panel) => !isWorkspace(panel.id)).map((panel) => (
        <button
          key={panel.id}
          type="button"
          class="button quiet only-icon"
          aria-label={panel.title}
          title={panel.title}
          aria-pressed={open === panel.id}
          onClick={() => goSession(session.id, open === panel.id ? "" : panel.id)}
        >
          <Icon name={panel.icon} />
        </button>
      ))}
      {info ? <MenuButton label={texts.sessions.actions(title)} icon="more" items={sessionActions(info)} /> : null}
    </header>
  );
}
