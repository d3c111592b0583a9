// A long list of rows in a box that scrolls: only the pieces near the view are drawn, so that all of it can be shown.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const PIECE = 200;
/** Up to here everything is drawn at once. */
const FEW = 2 * PIECE;
const ROW_PX = 19;
const NEAR = "1200px 0px";
/** A longer line is drawn in several: browsers take seconds to break a line of megabytes. */
export const LONGEST_LINE = 10_000;

interface WindowedProps<T> {
  rows: readonly T[];
  draw: (rows: readonly T[], first: number) => ComponentChildren;
  /** A part of a table, or of a text. */
  as: "tbody" | "div";
}

export function Windowed<T>({ rows, draw, as: Tag }: WindowedProps<T>): JSX.Element {
  if (rows.length <= FEW) return <Tag>{draw(rows, 0)}</Tag>;
  const pieces: JSX.Element[] = [];
  for (let first = 0; first < rows.length; first += PIECE) pieces.push(<Piece key={first} as={Tag} rows={rows.slice(first, first + PIECE)} first={first} draw={draw} />);
  return <>{pieces}</>;
}

function Piece<T>({ rows, first, draw, as: Tag }: WindowedProps<T> & { first: number }): JSX.Element {
  const box = useRef<HTMLElement>(null);
  const height = useRef(rows.length * ROW_PX);
  const [near, setNear] = useState(first === 0);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watcher = new IntersectionObserver(
      ([entry]) => {
        if (!entry) return;
        if (!entry.isIntersecting && element.dataset["drawn"] === "yes") height.current = element.offsetHeight;
        setNear(entry.isIntersecting);
      },
      { root: element.closest(".scroll-box"), rootMargin: NEAR },
    );
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  const blank = { height: `${height.current}px` };
  return (
    <Tag ref={box as never} data-drawn={near ? "yes" : "no"} style={near ? undefined : blank}>
      {near ? draw(rows, first) : Tag === "tbody" ? <tr style={blank} /> : null}
    </Tag>
  );
}

/** The pieces of a line that are drawn one below the other. */
export function foldLine(text: string): string[] {
  if (text.length <= LONGEST_LINE) return [text];
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + LONGEST_LINE, text.length);
    if (end < text.length && text.charCodeAt(end - 1) >= 0xd800 && text.charCodeAt(end - 1) <= 0xdbff) end -= 1; // a pair stays together
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}
