// What the rows of both logs of the inspector share: their clock, and the arrow keys between them.

/** The arrow keys move between the rows of a log. */
export function moveBetweenRows(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (!step || !(event.target instanceof HTMLElement) || !event.target.matches(".event-line")) return;
  const lines = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".event-line")];
  const next = lines[lines.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

/** The time of day with milliseconds. */
export function clock(at: number): string {
  const date = new Date(at * 1000);
  return `${date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" })}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
