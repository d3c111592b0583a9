// JSON as the service writes and takes it. What an agent sends may contain numbers that JavaScript rounds or writes in
// another way (1234567890123456789, 1e400, 1.0): inside of an agent's values they stay as they were written.

/** The fields that contain values of an agent. */
const FOREIGN = ['"input"', '"updated_input"', '"raw"'];
const TOKEN = /["{}[\],]|-?\d[\d.eE+-]*/g;
/** Before a number that became a text. No agent knows it: none can have its text read as a number. */
const MARK = `\uE000${[...crypto.getRandomValues(new Uint32Array(4))].join("-")}:`;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");

/** A number as it is written, where JavaScript would write another text. */
export class ExactNumber {
  constructor(readonly text: string) {}

  toJSON(): string {
    return MARK + this.text;
  }
}

/** Parse what the service sent; `foreign`: the whole text is a value of an agent. */
export function readJson(text: string, foreign = false): unknown {
  const marked = markNumbers(text, foreign);
  if (marked === text) return JSON.parse(text);
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(MARK) ? new ExactNumber(value.slice(MARK.length)) : value,
  );
}

/** The value as JSON; what `readJson` kept as it was written is written so again. */
export function writeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) as string | undefined;
  return (text ?? "null").replace(MARKED, "$1");
}

/** The text with each number inside of an agent's value that would change as a marked string. */
function markNumbers(text: string, foreign: boolean): string {
  let made = "";
  let copied = 0;
  let depth = 0;
  let within = foreign ? 0 : Infinity; // the depth of the field whose value is the agent's
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(text); found; found = TOKEN.exec(text)) {
    const [token] = found;
    if (token === '"') {
      const end = endOfString(text, found.index);
      if (end < 0) break;
      if (within > depth && text[end] === ":" && FOREIGN.includes(text.slice(found.index, end))) within = depth;
      TOKEN.lastIndex = end;
    } else if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") {
      depth -= 1;
      if (depth < within) within = Infinity;
    } else if (token === ",") {
      if (depth === within) within = Infinity;
    } else if (within <= depth && token !== "-0" && String(Number(token)) !== token) {
      made += `${text.slice(copied, found.index)}"${MARK}${token}"`;
      copied = TOKEN.lastIndex;
    }
  }
  return made + text.slice(copied);
}

/** Where the string that begins there ends; negative if it does not. */
function endOfString(text: string, begin: number): number {
  for (let end = text.indexOf('"', begin + 1); end > 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return end + 1;
  }
  return -1;
}
