// Make hidden and text-reordering characters visible; the twin of src/footplate/events/visible.py.
import { HIDDEN } from "../api/hidden";

const ranges = HIDDEN.map(([first, last]) => `\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`).join("");
const PATTERN = new RegExp(`\\r(?!\\n)|[${ranges}]`, "gu");

/** The text with each hidden character written as its code point, such as ⟨U+202E⟩. */
export function showHidden(text: string): string {
  return text.replace(PATTERN, (found) => `⟨U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** The text on one line, for titles: hidden characters visible, line breaks and runs of blanks as one blank. */
export function showLine(text: string): string {
  return showHidden(text).trim().replace(/[ \t\r\n]+/g, " ");
}
