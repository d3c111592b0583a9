// Web Push on this browser: what somebody wants to be told, and the subscription that says so to the server.
import { computed, signal } from "@preact/signals";
import { api } from "../api/client";
import type { Subscribe, SubscriptionInfo } from "../api/types";
import { texts } from "../texts";
import { remembered } from "./preferences";
import { tell } from "./toasts";
import { keepToken, token } from "./token";

export type Occasion = keyof typeof texts.push.occasions;
export const OCCASIONS: readonly Occasion[] = ["needs_you", "finished", "failed"];

/** Nothing is told before somebody names sessions or says `all`. */
export interface Wishes {
  readonly all: boolean;
  readonly sessions: readonly string[];
  readonly on: readonly Occasion[];
}

const NOTHING: Wishes = { all: false, sessions: [], on: OCCASIONS };

export const wishes = remembered<Wishes>("push", NOTHING);
export const busy = signal(false);
const ownId = remembered("push-id", "");

export const isTold = computed(() => ownId.value !== "" && wants(wishes.value));
const wants = (given: Wishes): boolean => given.all || given.sessions.length > 0;
export const hears = (session: string): boolean => isTold.value && (wishes.value.all || wishes.value.sessions.includes(session));

/** Why this browser cannot be told; empty when it can. */
export function hindrance(): string {
  if (!isSecureContext) return texts.push.insecure;
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) return texts.push.unsupported;
  return Notification.permission === "denied" ? texts.push.blocked : "";
}

/** Says to the server what this browser wants; asks the person for leave first. True when it is so. Refusals are thrown. */
export async function tellMe(next: Wishes): Promise<boolean> {
  if (!wants(next)) {
    await leave();
    wishes.value = next;
    return true;
  }
  busy.value = true;
  try {
    const { public_key } = await api.push();
    if (Notification.permission !== "granted" && (await Notification.requestPermission()) !== "granted") {
      tell(texts.push.blocked, "bad");
      return false;
    }
    ownId.value = (await api.subscribe(await ask(public_key, next))).id;
    wishes.value = next;
    return true;
  } finally {
    busy.value = false;
  }
}

export function tellMeOf(session: string, wanted: boolean): Promise<boolean> {
  const others = wishes.value.sessions.filter((each) => each !== session);
  return tellMe({ ...wishes.value, sessions: wanted ? [...others, session] : others });
}

/** Sends a message now; the words of what came of it. */
export async function tryOut(): Promise<string> {
  const { status, words } = await api.tryPush(ownId.value);
  return status >= 200 && status < 300 ? texts.push.sent : texts.push.notSent(status, words ?? "");
}

/** The browser may have a new address since, or the server may have forgotten: say again what was wanted. */
export async function renew(): Promise<void> {
  if (!isTold.value || hindrance() || !token.value) return;
  const { public_key, subscriptions } = await api.push();
  const body = await ask(public_key, wishes.value);
  if (!subscriptions.some((each: SubscriptionInfo) => each.id === ownId.value) || !(await isOwn(body))) {
    ownId.value = (await api.subscribe(body)).id;
  }
}

/** Forget the token, and be told no more by it. */
export async function signOut(): Promise<void> {
  await leave().catch(() => undefined); // the server is away: it ends when the token does
  wishes.value = NOTHING;
  keepToken("");
}

async function leave(): Promise<void> {
  const id = ownId.value;
  ownId.value = "";
  if (!id) return;
  const registration = await navigator.serviceWorker?.getRegistration("/ui/");
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
  await api.unsubscribe(id);
}

async function ask(key: string, wanted: Wishes): Promise<Subscribe> {
  const { pushManager } = await navigator.serviceWorker.ready;
  const made = (await pushManager.getSubscription()) ?? (await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) }));
  const { endpoint, keys } = made.toJSON() as { endpoint: string; keys: { p256dh: string; auth: string } };
  const { all, sessions, on } = wanted;
  return { subscription: { endpoint, keys }, all, sessions, on, name: browserName() };
}

/** Whether the id the server gave is of the address this browser has now: it is a hash of it. */
async function isOwn(body: Subscribe): Promise<boolean> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body.subscription.endpoint));
  const text = [...new Uint8Array(hash)].map((each) => each.toString(16).padStart(2, "0")).join("");
  return text.startsWith(ownId.value);
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  const packed = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(packed, (each) => each.charCodeAt(0));
}

function browserName(): string {
  const known = ["Edg", "OPR", "Firefox", "Chrome", "Safari"].find((name) => navigator.userAgent.includes(`${name}/`)) ?? "";
  const names: Record<string, string> = { Edg: "Edge", OPR: "Opera" };
  const system = /Android|iPhone|iPad|Mac OS X|Windows|Linux/.exec(navigator.userAgent)?.[0] ?? "";
  return texts.push.browser(names[known] ?? known, system === "Mac OS X" ? "macOS" : system);
}
