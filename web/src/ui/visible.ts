// Make hidden and text-reordering characters visible; the twin of src/footplate/events/visible.py.
import { HIDDEN } from "../api/hidden";

const ranges = HIDDEN.map(([first, last]) => `\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`).join("");
const PATTERN = new RegExp(`\\r(?!\\n)|[${ranges}]`, "gu");

/** The text with each hidden character written as its code point, such as ⟨U+202E⟩. */
export function showHidden(text: string): string {
  return text.replace(PATTERN, nameCodePoint);
}

function nameCodePoint(char: string): string {
  return `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/**
 * A path, a name or a label on one line so that no two of them look the same: beside hidden characters, tabs, line
 * breaks and blanks that are leading, trailing or side by side are code points.
 */
export function showExact(text: string): string {
  return showHidden(text).replace(/[\t\r\n]|^ +| +$| {2,}/g, (found) => [...found].map(nameCodePoint).join(""));
}

/** The text on one line, for titles: hidden characters visible, line breaks and runs of blanks as one blank. */
export function showLine(text: string): string {
  return showHidden(text).trim().replace(/[ \t\r\n]+/g, " ");
}
