// A part of the page that is loaded when it is first shown.
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { wordsOf } from "../state/toasts";
import { texts } from "../texts";

type Loaded<P> = { default: ComponentType<P> };
const known = new Map<unknown, ComponentType<never>>();

/** Loads it ahead, so that it is there at once when it is wanted. */
export function preload<P>(load: () => Promise<Loaded<P>>): void {
  load().then(
    (module) => known.set(load, module.default as ComponentType<never>),
    () => undefined, // whoever wants it tries again, and is told
  );
}

/** Draws what `load` brings; the same `load` is loaded once. */
export function Lazy<P extends object>({ load, props }: { load: () => Promise<Loaded<P>>; props: P }): JSX.Element {
  const [part, setPart] = useState<{ it: ComponentType<P> } | null>(() => {
    const found = known.get(load) as ComponentType<P> | undefined;
    return found ? { it: found } : null;
  });
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let here = true;
    load().then(
      (module) => {
        known.set(load, module.default as ComponentType<never>);
        if (here) setPart({ it: module.default });
      },
      (reason: unknown) => here && setProblem(wordsOf(reason)),
    );
    return () => {
      here = false;
    };
  }, [load]);
  if (problem) return <p class="empty">{problem}</p>;
  if (!part) return <p class="empty">{texts.loading}</p>;
  const It = part.it;
  return <It {...props} />;
}
