// What can be done with a session from anywhere: rename, fork, archive, export, end, delete.
import { api } from "../api/client";
import type { SessionInfo } from "../api/types";
import { dropSession, putSession } from "../state/attention";
import { confirmThat, overlay } from "../state/overlay";
import { openTabs } from "../state/preferences";
import { hears, hindrance, tellMeOf, wishes } from "../state/push";
import { formatRoute, go, goSession } from "../state/route";
import { attempt, tell } from "../state/toasts";
import { texts } from "../texts";
import { copyText } from "./clipboard";
import type { MenuItem } from "./menu";
import { saveFile } from "./save";
import { closeTab } from "./tabs";

const words = texts.actions;

export function sessionActions(info: SessionInfo): MenuItem[] {
  const found: MenuItem[] = [
    { id: "rename", text: words.rename, icon: "pencil", act: () => (overlay.value = { name: "rename", session: info }) },
    { id: "fork", text: words.fork, icon: "fork", act: () => void fork(info) },
    { id: "export", text: words.exported, icon: "download", act: () => void download(info) },
    { id: "link", text: words.copyLink, icon: "link", act: () => copyText(location.origin + formatRoute({ name: "session", id: info.id, panel: "" })) },
    { id: "bell", text: hears(info.id) ? texts.push.quiet : texts.push.tell, icon: "bell", act: () => void tellOf(info) },
    { id: "archive", text: info.archived ? words.unarchive : words.archive, icon: "archive", act: () => void setAside(info) },
  ];
  if (info.state !== "closed") {
    found.push({ id: "end", text: words.end, icon: "stop", act: () => confirmThat(words.endAsk, words.end, () => void end(info)) });
  }
  found.push({ id: "delete", text: words.remove, icon: "trash", danger: true, act: () => confirmThat(words.removeAsk, words.remove, () => void remove(info)) });
  return found;
}

async function fork(info: SessionInfo): Promise<void> {
  const made = await attempt(api.fork(info.id, info.title));
  if (!made) return;
  putSession(made);
  tell(words.forked, "good");
  goSession(made.id);
}

/** Of all sessions it is told already: then the page of notifications is the place to say otherwise. */
async function tellOf(info: SessionInfo): Promise<void> {
  const problem = hindrance();
  if (problem) tell(problem, "bad");
  else if (wishes.value.all && hears(info.id)) go({ name: "page", id: "notifications" });
  else {
    const wanted = !hears(info.id);
    if ((await attempt(tellMeOf(info.id, wanted))) && wanted) tell(texts.push.told, "good");
  }
}

async function download(info: SessionInfo): Promise<void> {
  const response = await attempt(api.exported(info.id));
  if (!response) return;
  saveFile(await response.blob(), `${info.id}.jsonl`);
}

async function setAside(info: SessionInfo): Promise<void> {
  const changed = await attempt(api.archive(info.id, !info.archived));
  if (!changed) return;
  putSession(changed);
  if (changed.archived) {
    closeTab(info.id);
    tell(words.archived, "good");
  }
}

async function end(info: SessionInfo): Promise<void> {
  const changed = await attempt(api.close(info.id, ""));
  if (changed) putSession(changed);
}

async function remove(info: SessionInfo): Promise<void> {
  try {
    await api.remove(info.id);
  } catch (problem) {
    await attempt(Promise.reject(problem));
    return;
  }
  closeTab(info.id);
  openTabs.value = openTabs.value.filter((each) => each !== info.id);
  dropSession(info.id);
  tell(words.removed, "good");
}
