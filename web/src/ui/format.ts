// Figures and times in words that fit into a line. What other surfaces tell as well has the form of
// src/footplate/events/wording.py; tests/fixtures/events/wording.json holds the cases for both.
import { texts } from "../texts";

export function formatAge(at: number | null, now: number): string {
  if (at === null) return "";
  const seconds = Math.max(0, now / 1000 - at);
  if (seconds < 60) return texts.time.now; // the page's clock does not tick every second
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

/** How much of something is used up. */
export function formatShare(used: number, size: number): string {
  return `${Math.min(100, Math.floor((200 * used + size) / (2 * size)))}%`;
}

/** How long something took; a clock that ticks passes whole seconds. */
export function formatSpan(seconds: number): string {
  const tenths = Math.floor(Math.max(seconds, 0) * 10 + 0.5);
  if (tenths < 100) return tenths % 10 ? `${Math.floor(tenths / 10)}.${tenths % 10}s` : `${tenths / 10}s`;
  const whole = Math.floor(seconds + 0.5);
  for (const [size, first, part, second] of [[86_400, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]] as const) {
    if (whole >= size) return `${Math.floor(whole / size)}${first} ${padded(Math.floor((whole % size) / part), 2)}${second}`;
  }
  return `${whole}s`;
}

/** An amount of money; empty when it is not known, or not a number. */
export function formatCost(usd: number | null | undefined): string {
  if (usd == null || !Number.isFinite(usd)) return "";
  if (usd <= -0.00005) return `-${formatCost(-usd)}`;
  if (usd > 0 && usd < 0.00005) return "<$0.0001";
  const parts = Math.floor(usd * 10_000 + 0.5);
  if (parts < 1000 && parts % 100) return `$0.${padded(parts, 4)}`;
  const cents = Math.floor(usd * 100 + 0.5);
  return `$${formatNumber(Math.floor(cents / 100))}.${padded(cents % 100, 2)}`;
}

export function formatTokens(tokens: number): string {
  return tokens < 1000 ? String(tokens) : scaled(tokens, ["k", "M", "G"]);
}

export function formatBytes(size: number): string {
  return size < 1000 ? `${size} B` : scaled(size, [" KB", " MB", " GB", " TB"]);
}

/** A number of at least 1000 in the unit that leaves up to three digits, with a decimal below ten. */
function scaled(count: number, units: readonly string[]): string {
  let one = 1;
  let shown = "";
  for (const unit of units) {
    one *= 1000;
    const tenths = Math.floor((count * 10 + one / 2) / one);
    if (tenths < 100) return `${Math.floor(tenths / 10)}.${tenths % 10}${unit}`;
    const whole = Math.floor((count + one / 2) / one);
    shown = `${whole}${unit}`;
    if (whole < 1000) return shown;
  }
  return shown;
}

export function formatNumber(count: number): string {
  return count.toLocaleString("en-US");
}

/** How large a text is: "1,321 lines, 58 KB". A line break at its end begins no line. */
export function formatTextSize(text: string): string {
  let lines = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let place = text.indexOf("\n"); place >= 0; place = text.indexOf("\n", place + 1)) lines += 1;
  return texts.size(formatNumber(lines), lines, formatBytes(new TextEncoder().encode(text).length));
}

/** How many lines a change adds and removes. */
export function formatChanges(added: number, removed: number): string {
  return `+${formatNumber(added)} −${formatNumber(removed)}`;
}

/** Words at the beginning of a sentence. */
export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function padded(number: number, digits: number): string {
  return String(number).padStart(digits, "0");
}

/** The last two parts of a folder, which is how people tell them apart. */
export function shortFolder(path: string): string {
  const parts = path.split("/").filter(Boolean);
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}

export function baseName(path: string): string {
  return path.split("/").filter(Boolean).pop() ?? path;
}

export function formatClock(at: number): string {
  return new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function formatMoment(at: number): string {
  return new Date(at * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
