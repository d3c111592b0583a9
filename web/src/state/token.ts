// The caller's token: it comes in the fragment of the link (#token=...), is kept by this browser and sent as a header.
import { signal } from "@preact/signals";

const KEY = "footplate.token";

export const token = signal(read());

function read(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // storage is switched off: the token lives as long as the page
  }
}

export function keepToken(value: string): void {
  token.value = value;
  try {
    if (value) localStorage.setItem(KEY, value);
    else localStorage.removeItem(KEY);
  } catch {
    return; // as above
  }
}

/** Takes the token out of the address, so that it is neither shown nor kept in the history. */
export function takeTokenFromAddress(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return;
  keepToken(given);
  history.replaceState(history.state, "", location.pathname + location.search);
}
