// Figures and times in words that fit into a line.
import { texts } from "../texts";

export function formatAge(at: number | null, now: number): string {
  if (at === null) return "";
  const seconds = Math.max(0, now / 1000 - at);
  if (seconds < 60) return texts.time.now;
  if (seconds < 3600) return texts.time.minutes(Math.floor(seconds / 60));
  if (seconds < 86_400) return texts.time.hours(Math.floor(seconds / 3600));
  return texts.time.days(Math.floor(seconds / 86_400));
}

export function formatSpan(seconds: number): string {
  if (seconds < 60) return texts.time.seconds(Math.round(seconds * 10) / 10);
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}:${String(Math.floor(seconds % 60)).padStart(2, "0")}` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}

export function formatCost(usd: number | null | undefined): string {
  if (usd == null) return "";
  return usd > 0 && usd < 0.01 ? "<$0.01" : `$${usd.toFixed(2)}`;
}

export function formatTokens(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  if (tokens < 1_000_000) return `${(tokens / 1000).toFixed(tokens < 10_000 ? 1 : 0)}k`;
  return `${(tokens / 1_000_000).toFixed(1)}M`;
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

export function formatBytes(size: number): string {
  if (size < 1000) return `${size} B`;
  for (const [unit, of] of [["KB", 1e3], ["MB", 1e6]] as const) if (size < of * 1000) return `${(size / of).toFixed(size < of * 10 ? 1 : 0)} ${unit}`;
  return `${(size / 1e9).toFixed(1)} GB`;
}
