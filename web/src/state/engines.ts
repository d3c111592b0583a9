// What can be chosen in sessions of each engine, asked for once.
import { signal } from "@preact/signals";
import { api } from "../api/client";
import type { EngineInfo } from "../api/types";

const engines = signal<ReadonlyMap<string, EngineInfo> | null>(null);
let asked = false;

/** The engine as the server describes it; undefined until it is known. Reading it in a component redraws that. */
export function engineNamed(name: string): EngineInfo | undefined {
  if (!asked) {
    asked = true;
    api.engines().then(
      (list) => {
        engines.value = new Map(list.engines.map((each) => [each.name, each]));
      },
      () => {
        asked = false; // the next look asks again
      },
    );
  }
  return engines.value?.get(name);
}
