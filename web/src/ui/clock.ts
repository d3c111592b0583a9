// The time as a signal, so that "2 min" becomes "3 min" by itself.
import { signal } from "@preact/signals";

export const now = signal(Date.now());

setInterval(() => {
  now.value = Date.now();
}, 15_000);
