// Where the page is: a path below /ui/ that can be linked to, kept in step with the browser's own history.
import { signal } from "@preact/signals";

export const BASE = "/ui";

export type Route =
  | { readonly name: "home" }
  | { readonly name: "session"; readonly id: string; readonly panel: string }
  | { readonly name: "page"; readonly id: string };

export function parseRoute(pathname: string): Route {
  const parts = pathname.slice(BASE.length).split("/").filter(Boolean).map(decodeURIComponent);
  const [first, second, third] = parts;
  if (first === undefined) return { name: "home" };
  if (first === "sessions" && second) return { name: "session", id: second, panel: third ?? "" };
  return { name: "page", id: first };
}

export function formatRoute(route: Route): string {
  if (route.name === "home") return `${BASE}/`;
  if (route.name === "page") return `${BASE}/${encodeURIComponent(route.id)}`;
  const panel = route.panel ? `/${encodeURIComponent(route.panel)}` : "";
  return `${BASE}/sessions/${encodeURIComponent(route.id)}${panel}`;
}

export const route = signal<Route>(parseRoute(location.pathname));

export function go(to: Route, how: "push" | "replace" = "push"): void {
  const path = formatRoute(to);
  if (path !== location.pathname) {
    if (how === "push") history.pushState(null, "", path);
    else history.replaceState(null, "", path);
  }
  route.value = to;
}

export const goSession = (id: string, panel = ""): void => go({ name: "session", id, panel });

/** For links: a plain click stays on the page, any other is the browser's. */
export function onLink(to: Route): (event: MouseEvent) => void {
  return (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(to);
  };
}

addEventListener("popstate", () => {
  route.value = parseRoute(location.pathname);
});
