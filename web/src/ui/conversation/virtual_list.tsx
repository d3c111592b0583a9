// A list of any length of which only what is near the view is drawn. Heights are measured; the view does not jump.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

const BEYOND_PX = 800;
const NEAR_END_PX = 60;
const GUESS_PX = 96;

export interface ListHandle {
  toEnd: () => void;
  toKey: (key: string) => void;
}

interface VirtualListProps<R extends { readonly key: string }> {
  rows: readonly R[];
  draw: (row: R) => ComponentChildren;
  label: string;
  handle: { current: ListHandle | null };
  onAway: (away: boolean) => void;
  empty: ComponentChildren;
}

class Geometry {
  readonly heights = new Map<string, number>();
  offsets = new Float64Array(1);
  count = 0;

  place(rows: readonly { readonly key: string }[]): void {
    if (this.offsets.length < rows.length + 1) this.offsets = new Float64Array(Math.ceil((rows.length + 1) * 1.5));
    this.count = rows.length;
    let at = 0;
    for (let place = 0; place < rows.length; place += 1) {
      this.offsets[place] = at;
      at += this.heights.get((rows[place] as { key: string }).key) ?? GUESS_PX;
    }
    this.offsets[rows.length] = at;
  }

  top(place: number): number {
    return this.offsets[Math.min(place, this.count)] ?? 0;
  }

  /** The first row that reaches below this height. */
  rowAt(height: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.top(middle + 1) <= height) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function VirtualList<R extends { readonly key: string }>(props: VirtualListProps<R>): JSX.Element {
  const { rows, draw, handle, onAway } = props;
  const box = useRef<HTMLDivElement>(null);
  const state = useRef({ geometry: new Geometry(), stuck: true, target: "", top: 0, height: 0, away: false, rows });
  const [, redraw] = useReducer((count: number, _: undefined) => count + 1, 0);
  const now = state.current;
  now.rows = rows;
  const { geometry } = now;
  geometry.place(rows);

  const resize = useRef<ResizeObserver | null>(null);
  if (!resize.current && typeof ResizeObserver !== "undefined") {
    resize.current = new ResizeObserver((entries) => {
      const scroller = box.current;
      if (!scroller) return;
      let moved = 0;
      let changed = false;
      const first = geometry.rowAt(scroller.scrollTop);
      for (const entry of entries) {
        if (entry.target === scroller) {
          changed = true;
          continue;
        }
        const key = (entry.target as HTMLElement).dataset["key"] ?? "";
        const height = entry.borderBoxSize[0]?.blockSize ?? entry.contentRect.height;
        const before = geometry.heights.get(key) ?? GUESS_PX;
        if (height === 0 || Math.abs(height - before) < 0.5) continue;
        geometry.heights.set(key, height);
        changed = true;
        if (Number((entry.target as HTMLElement).dataset["place"]) < first) moved += height - before;
      }
      if (!changed) return;
      if (moved && !now.stuck) scroller.scrollTop += moved;
      redraw(undefined);
    });
  }

  useEffect(() => {
    const scroller = box.current;
    if (scroller) resize.current?.observe(scroller);
    return () => resize.current?.disconnect();
  }, []);

  const look = (): void => {
    const scroller = box.current;
    if (!scroller) return;
    const up = scroller.scrollTop < now.top - 1;
    now.top = scroller.scrollTop;
    now.height = scroller.clientHeight;
    const left = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
    if (left < NEAR_END_PX) now.stuck = true;
    else if (up) now.stuck = false; // content that grew below is no wish to leave the end
    if (now.away === now.stuck) {
      now.away = !now.stuck;
      onAway(now.away);
    }
    redraw(undefined);
  };

  useLayoutEffect(() => {
    const scroller = box.current;
    if (!scroller) return;
    if (now.height !== scroller.clientHeight) {
      now.height = scroller.clientHeight;
      redraw(undefined);
    }
    if (now.target) {
      const target = scroller.querySelector(`[data-key="${CSS.escape(now.target)}"]`);
      if (target) {
        target.scrollIntoView({ block: "center" });
        now.target = "";
        now.top = scroller.scrollTop;
      }
    } else if (now.stuck && scroller.scrollTop + scroller.clientHeight < scroller.scrollHeight) {
      scroller.scrollTop = scroller.scrollHeight;
      now.top = scroller.scrollTop;
    }
  });

  handle.current = {
    toEnd: () => {
      now.stuck = true;
      now.target = "";
      if (box.current) box.current.scrollTop = box.current.scrollHeight;
      look();
    },
    toKey: (key) => {
      const place = now.rows.findIndex((row) => row.key === key);
      if (place < 0 || !box.current) return;
      now.stuck = false;
      now.target = key;
      box.current.scrollTop = Math.max(0, geometry.top(place) - now.height / 3);
      look();
      now.stuck = false;
      redraw(undefined);
    },
  };

  const height = now.height || 800;
  const top = now.stuck ? Math.max(0, geometry.top(rows.length) - height) : now.top;
  const first = Math.max(0, geometry.rowAt(top - BEYOND_PX));
  const last = Math.min(rows.length, geometry.rowAt(top + height + BEYOND_PX) + 1);
  return (
    <div ref={box} class="timeline" role="log" aria-live="off" aria-label={props.label} tabIndex={0} onScroll={look}>
      {rows.length ? null : props.empty}
      <div class="before" style={{ height: `${geometry.top(first)}px` }} />
      {rows.slice(first, last).map((row, index) => (
        <Measured key={row.key} name={row.key} place={first + index} observer={resize.current}>
          {draw(row)}
        </Measured>
      ))}
      <div class="after" style={{ height: `${geometry.top(rows.length) - geometry.top(last)}px` }} />
    </div>
  );
}

interface MeasuredProps {
  name: string;
  place: number;
  observer: ResizeObserver | null;
  children: ComponentChildren;
}

function Measured({ name, place, observer, children }: MeasuredProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element || !observer) return undefined;
    observer.observe(element);
    return () => observer.unobserve(element);
  }, []);
  return (
    <div ref={box} class="row" data-key={name} data-place={place}>
      {children}
    </div>
  );
}
