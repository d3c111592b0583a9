// The service worker: the page opens without the server, and a message shows up while the page is closed.
//
// It keeps the page's own files and nothing else: whatever is asked of the API goes to the server or fails.
import { pushTexts } from "../src/texts";

declare const self: ServiceWorkerGlobalScope;

const SHELL = "/ui/";
const ASSETS = "/ui/assets/";
const KEPT = "footplate-page";
const PATIENCE_MS = 4_000;

/** What the server tells a browser: `Notice` of src/footplate/runtime/notify.py. */
interface Notice {
  readonly event?: keyof typeof pushTexts;
  readonly session?: string;
  readonly title?: string;
  readonly text?: string;
  readonly cwd?: string;
  readonly time?: number;
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin || !pathname.startsWith(SHELL)) return;
  if (request.mode === "navigate") event.respondWith(openPage(event));
  else if (pathname.startsWith(ASSETS)) event.respondWith(openAsset(request));
});
self.addEventListener("push", (event) => event.waitUntil(show(read(event.data))));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open((event.notification.data as { where: string }).where));
});

// ------------------------------------------------------------------------------------------------ without a server

async function install(): Promise<void> {
  await keepShell(await fetch(SHELL, { cache: "no-cache" }));
  await self.skipWaiting();
}

/** The page with the files it names; those that an older page named go. */
async function keepShell(page: Response): Promise<void> {
  if (!page.ok) return;
  const kept = await caches.open(KEPT);
  const named = [...(await page.clone().text()).matchAll(/(?:src|href)="(\/ui\/assets\/[^"]+)"/g)].map((found) => found[1] ?? "");
  const before = await kept.match(SHELL);
  if (before && before.headers.get("etag") === page.headers.get("etag")) return;
  await kept.addAll(named);
  await kept.put(SHELL, page);
  for (const { url } of await kept.keys()) {
    const { pathname } = new URL(url);
    if (pathname !== SHELL && !named.includes(pathname)) await kept.delete(url);
  }
}

/** From the server if it answers in time, else the page as it was last seen: it says itself that the server is away. */
async function openPage(event: FetchEvent): Promise<Response> {
  const kept = await caches.match(SHELL, { cacheName: KEPT });
  try {
    const page = await fetch(event.request, kept ? { signal: AbortSignal.timeout(PATIENCE_MS) } : {});
    if (page.ok) event.waitUntil(keepShell(page.clone()));
    return page;
  } catch (problem) {
    if (kept) return kept;
    throw problem;
  }
}

/** A file with its hash in its name never changes. */
async function openAsset(request: Request): Promise<Response> {
  const kept = await caches.open(KEPT);
  const found = await kept.match(request);
  if (found) return found;
  const answer = await fetch(request);
  if (answer.ok) await kept.put(request, answer.clone());
  return answer;
}

// ------------------------------------------------------------------------------------------------ messages

function read(data: PushMessageData | null): Notice {
  try {
    return (data?.json() ?? {}) as Notice;
  } catch {
    return { text: data?.text() ?? "" };
  }
}

async function show(notice: Notice): Promise<void> {
  const where = notice.session ? `${SHELL}sessions/${encodeURIComponent(notice.session)}` : SHELL;
  const looked = (await pages()).some((page) => page.focused && new URL(page.url).pathname.startsWith(where));
  if (notice.session && looked) return; // they see it happen
  const what = notice.event ? pushTexts[notice.event] : "";
  await self.registration.showNotification([notice.title || notice.cwd || "Footplate", what].filter(Boolean).join(" "), {
    body: notice.text ?? "",
    tag: notice.session || "footplate",
    icon: `${SHELL}icon-192.png`,
    badge: `${SHELL}icon-192.png`,
    data: { where },
    requireInteraction: notice.event === "needs_you",
  });
}

/** To the page that shows it already, else to any that is open, else a new one. */
async function open(where: string): Promise<void> {
  const all = await pages();
  const page = all.find((each) => new URL(each.url).pathname.startsWith(where)) ?? all.find((each) => each.visibilityState === "visible") ?? all[0];
  if (!page) {
    await self.clients.openWindow(where);
    return;
  }
  page.postMessage({ go: where });
  await page.focus();
}

async function pages(): Promise<readonly WindowClient[]> {
  return await self.clients.matchAll({ type: "window", includeUncontrolled: true });
}
