// The panels beside a session, and pages of their own. To add one, add a line here; its code is loaded when it is opened.
import type { ComponentType } from "preact";
import type { OpenSession } from "./state/session";
import { texts } from "./texts";
import type { IconName } from "./ui/icons";

/** Shown at the right of a session, at /ui/sessions/{session}/{id}. */
export interface Panel {
  readonly id: string;
  readonly title: string;
  readonly icon: IconName;
  readonly load: () => Promise<{ default: ComponentType<{ session: OpenSession }> }>;
}

/** A page of its own, at /ui/{id}, linked from the palette. */
export interface Page {
  readonly id: string;
  readonly title: string;
  readonly icon: IconName;
  readonly load: () => Promise<{ default: ComponentType }>;
}

/** The tabs of the workspace, in the order in which they stand; one button in the session's head opens the last used. */
export const workspace: readonly Panel[] = [
  { id: "files", title: texts.files.title, icon: "folder", load: () => import("./workspace/files") },
  { id: "git", title: texts.git.title, icon: "branch", load: () => import("./workspace/git") },
  { id: "changes", title: texts.changes.title, icon: "list", load: () => import("./workspace/changes") },
  { id: "terminals", title: texts.terminals.title, icon: "terminal", load: () => import("./workspace/terminals") },
  { id: "processes", title: texts.processes.title, icon: "bolt", load: () => import("./workspace/processes") },
  { id: "events", title: texts.inspector.title, icon: "pulse", load: () => import("./inspector/events") },
];

export const panels: readonly Panel[] = [
  { id: "details", title: texts.panels.details, icon: "info", load: () => import("./panels/details") },
  ...workspace,
];

export const isWorkspace = (id: string): boolean => workspace.some((each) => each.id === id);

export const pages: readonly Page[] = [
  { id: "agents", title: texts.agents.title, icon: "agent", load: () => import("./inspector/agents") },
  { id: "server", title: texts.server.title, icon: "pulse", load: () => import("./inspector/server") },
  { id: "notifications", title: texts.push.title, icon: "bell", load: () => import("./panels/notifications") },
];
