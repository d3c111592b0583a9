// What a permission is about, in parts that can be drawn; the twin of src/footplate/events/inputs.py, where the rules are.
import { ExactNumber, readJson, writeJson } from "../../api/json";
import type { Answer, ContentBlock, FileChange, Request, RequestView } from "../../api/types";
import { formatBytes } from "../format";

export interface InputField {
  readonly name: string;
  readonly text: string;
}

export interface InputParts {
  readonly command: string;
  readonly changes: readonly FileChange[];
  readonly fields: readonly InputField[];
}

/** Texts that are drawn outside of `fields`, by the name that a field must have to be the same. */
type Shown = ReadonlyMap<string, ReadonlySet<string | null>>;

const WHOLE = "input";
/** What tools call the path and the texts of a change. */
const ROLES = [
  ...["path", "file_path", "filePath", "notebook_path", "move_path"],
  ...["content", "file_text", "new_source", "diff"],
  ...["old_string", "oldString", "old_str", "new_string", "newString", "new_str"],
];

export function splitInput(request: Pick<Request, "input" | "detail" | "description" | "content">): InputParts {
  const given = request.input ?? null;
  const command = commandOf(request.detail ?? null, given);
  const changes = request.detail?.kind === "file_change" ? (request.detail.changes ?? []) : [];
  const fields = fieldsOf(given, shownBy(command, request.description ?? "", changes));
  return { command, changes, fields: [...fields, ...(request.content ?? []).map(describeBlock)] };
}

/** What runs in place of a request: the input that the answer gave; null where it changed nothing, or the agent did not use it. */
export function changeRequest<T extends Pick<Request, "title" | "input" | "detail" | "content">>(request: T, answer: Answer | null, state: RequestView["state"]): T | null {
  const runs = state === "answered" || state === "applied";
  if (!runs || answer?.type !== "allow" || answer.updated_input == null) return null;
  const detail = request.detail?.kind === "file_change" ? null : request.detail;
  return { ...request, title: "", input: answer.updated_input, detail, content: [] };
}

/** The input that a person has written as JSON, its numbers as they are written; null where it is no object. */
export function readEdited(text: string): Record<string, unknown> | null {
  try {
    const value = readJson(text, true);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** A block of content in words; its picture is drawn beside that. */
function describeBlock(block: ContentBlock): InputField {
  const lines = (...found: (string | undefined)[]): string => found.filter(Boolean).join("\n");
  switch (block.type) {
    case "image":
      return { name: "picture", text: lines(block.media_type, sizeOf(block.data), block.uri) };
    case "resource":
      return {
        name: block.text || block.data ? "file" : "link",
        text: lines(block.name === block.uri ? "" : block.name, block.uri, block.media_type, sizeOf(block.data), block.text),
      };
    case "other":
      return { name: block.kind || "content", text: writeJson(block.raw, 2) };
    default:
      return { name: "content", text: JSON.stringify(block, null, 2) };
  }
}

/** The size of what is in base64. */
function sizeOf(data: string | undefined): string {
  return data ? formatBytes(Math.floor((data.replace(/=+$/, "").length * 3) / 4)) : "";
}

/** All texts of the input, for its size. */
export function inputText(parts: InputParts): string {
  const found = [parts.command, ...parts.changes.flatMap(textsOf), ...parts.fields.map((field) => field.text)].filter(Boolean);
  return found.map((text) => text.replace(/\n$/, "")).join("\n");
}

function commandOf(detail: Request["detail"] | null, given: unknown): string {
  if (detail && detail.kind !== "command") return "";
  const own = isObject(given) ? given["command"] : undefined;
  if (typeof own === "string") return own;
  return given === null && detail ? detail.command : "";
}

function shownBy(command: string, description: string, changes: readonly FileChange[]): Shown {
  const none = changes.length ? [null] : []; // a change may have no path and no text of that name
  const drawn = new Set<string | null>([...none, ...changes.flatMap(shownOf).filter(Boolean)]);
  const kinds = new Set<string | null>(changes.map((change) => change.kind ?? "update"));
  const own = [["command", new Set([command].filter(Boolean))], ["description", new Set([description].filter(Boolean))]] as const;
  return new Map<string, ReadonlySet<string | null>>([...own, ...ROLES.map((name) => [name, drawn] as const), ["type", kinds], ["kind", kinds]]);
}

function textsOf(change: FileChange): string[] {
  return change.hunks?.length ? [patchOf(change, false)] : [change.old_text, change.new_text].filter((text): text is string => Boolean(text));
}

/** The hunks as the text that they were read from; `short` leaves out a length of one line, as some tools do. */
function patchOf(change: FileChange, short: boolean): string {
  const span = (start: number, lines: number): string => (short && lines === 1 ? `${start}` : `${start},${lines}`);
  return (change.hunks ?? [])
    .map((hunk) => `@@ -${span(hunk.old_start, hunk.old_lines)} +${span(hunk.new_start, hunk.new_lines)} @@\n${hunk.lines.map((line) => `${line}\n`).join("")}`)
    .join("");
}

/** Every text that a drawn change contains. */
function shownOf(change: FileChange): string[] {
  const patches = change.hunks?.length ? [patchOf(change, false), patchOf(change, true)] : [];
  return [change.path, change.moved_to ?? "", ...(patches.length ? [...patches, ...patches.map((patch) => patch.replace(/\n$/, ""))] : textsOf(change))];
}

function fieldsOf(given: unknown, shown: Shown): InputField[] {
  if (given === null) return [];
  if (!isObject(given)) return [{ name: WHOLE, text: written(given) }];
  return Object.entries(given)
    .map(([name, value]) => ({ name, value: without(name, value, shown) }))
    .filter(({ value }) => value !== undefined)
    .map(({ name, value }) => ({ name, text: written(value) }));
}

/** The value of a field without what is shown elsewhere; undefined when nothing remains. */
function without(name: string, value: unknown, shown: Shown): unknown {
  if (value === null || typeof value === "string") return shown.get(name)?.has(value) ? undefined : value;
  if (Array.isArray(value)) {
    const kept = value.map((member) => without(name, member, shown));
    return !value.length || kept.some((member) => member !== undefined) ? kept.map((member) => member ?? null) : undefined;
  }
  if (!isObject(value)) return value;
  const left = Object.entries(value)
    .map(([inner, member]) => [inner, without(inner, member, shown)] as const)
    .filter(([, member]) => member !== undefined);
  return left.length || !Object.keys(value).length ? Object.fromEntries(left) : undefined;
}

function written(value: unknown): string {
  return typeof value === "string" ? value : writeJson(value, 2);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}
