// Markdown of an agent, made safe: no script, no handler, no style, no foreign request, no class of ours.
import DOMPurify from "dompurify";
import { Marked } from "marked";
import type { JSX } from "preact";
import { memo } from "preact/compat";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { texts } from "../../texts";
import { copyText } from "../clipboard";
import { showHidden } from "../visible";
import { LARGE, LargeText } from "./large_text";

const marked = new Marked({ gfm: true, breaks: false });
const purify = DOMPurify(window);
const HIGHLIGHT_AT_MOST = 40_000;

purify.addHook("afterSanitizeAttributes", (node) => {
  const names = [...node.classList].filter((name) => name.startsWith("language-"));
  if (names.length && node.tagName === "CODE") node.className = names.join(" ");
  else node.removeAttribute("class");
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer");
  }
  if (node.tagName === "INPUT") node.setAttribute("disabled", "");
});

const RULES = {
  ALLOWED_TAGS: [
    ...["a", "b", "blockquote", "br", "code", "del", "details", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "kbd"],
    ...["li", "ol", "p", "pre", "s", "strong", "sub", "summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul", "span"],
  ],
  ALLOWED_ATTR: ["href", "title", "class", "align", "start", "colspan", "rowspan"],
  ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
  RETURN_TRUSTED_TYPE: true as const,
};

/** Foreign pictures are named, not fetched; a list with boxes keeps its marks. */
marked.use({
  renderer: {
    image: ({ href, text }) => `<a href="${escapeText(href)}">${escapeText(text || href)}</a>`,
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}

export function safeHtml(dirty: string): string {
  return purify.sanitize(dirty, RULES) as unknown as string;
}

export function toHtml(text: string): string {
  return safeHtml(marked.parse(text, { async: false }));
}

/** The marks of lists, and the lines around code, whose language stands above it. */
const MARKS = /^[\s>*+-]*\d+[.)]\s|^\s*(`{3,}|~{3,})[ \t]*[\w+#-]*[ \t]*$/gm;
const WORDS = /[\p{L}\p{N}_]+/gu;

/** Whether formatted text shows every word of its source, and nothing that cannot be seen; tags may hide anything. */
export function saysAll(text: string): boolean {
  if (text.length > LARGE) return true;
  if (/<[!/a-z]/i.test(text)) return false;
  const shown = new DOMParser().parseFromString(toHtml(text), "text/html").body.textContent ?? "";
  const words = shown.match(WORDS) ?? [];
  let at = 0;
  for (const word of text.replace(MARKS, "").match(WORDS) ?? []) {
    while (at < words.length && words[at] !== word) at += 1;
    if (at === words.length) return false;
    at += 1;
  }
  return showHidden(shown) === shown;
}

/** Finished text. */
export const Markdown = memo(function Markdown({ text }: { text: string }): JSX.Element {
  return text.length > LARGE ? <LargeText text={text} /> : <Block text={text} done />;
});

/** Text that is still being written: what is finished above the last blank line is not made again. */
export function LiveMarkdown({ text }: { text: string }): JSX.Element {
  if (text.length > LARGE) return <LargeText text={text} />;
  const blocks = splitBlocks(text);
  return (
    <div class="live-text">
      {blocks.map((block, place) => (
        <Block key={place} text={block} done={place < blocks.length - 1} />
      ))}
    </div>
  );
}

/** Cuts at blank lines that are outside of fenced code, so that only the last piece changes while text grows. */
export function splitBlocks(text: string): string[] {
  const blocks: string[] = [];
  let from = 0;
  let at = 0;
  let fence = "";
  while (at < text.length) {
    const end = text.indexOf("\n", at);
    const line = end < 0 ? text.slice(at) : text.slice(at, end);
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (mark && !fence) fence = mark;
    else if (mark && fence && line.trim().startsWith(fence[0] as string) && mark.length >= fence.length) fence = "";
    if (end < 0) break;
    at = end + 1;
    if (!fence && line.trim() === "" && !/^(\s{2,}|[-*+] |\d+[.)] )/.test(text.slice(at, at + 4))) {
      if (at > from + 1) blocks.push(text.slice(from, at));
      from = at;
    }
  }
  if (from < text.length) blocks.push(text.slice(from));
  return blocks;
}

const Block = memo(function Block({ text, done }: { text: string; done: boolean }): JSX.Element {
  const html = useMemo(() => toHtml(text), [text]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current && done) dressCode(box.current);
  }, [html, done]);
  return <div ref={box} class="prose" dangerouslySetInnerHTML={{ __html: html }} />;
});

/** Gives every block of code its copy button and, once the highlighter is here, its colours. */
function dressCode(root: HTMLElement): void {
  for (const pre of root.querySelectorAll("pre")) {
    if (pre.dataset["dressed"]) continue;
    pre.dataset["dressed"] = "yes";
    const code = pre.querySelector("code");
    const text = (code ?? pre).textContent ?? "";
    const language = /language-([\w+#-]+)/.exec(code?.className ?? "")?.[1] ?? "";
    pre.before(codeHead(language, text));
    pre.tabIndex = 0;
    if (code && language && text.length < HIGHLIGHT_AT_MOST) void colour(code, text, language);
  }
}

function codeHead(language: string, text: string): HTMLElement {
  const head = document.createElement("div");
  head.className = "code-head";
  const name = document.createElement("span");
  name.textContent = language;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button quiet small";
  button.textContent = texts.copy;
  button.addEventListener("click", () => copyText(text));
  head.append(name, button);
  return head;
}

async function colour(code: HTMLElement, text: string, language: string): Promise<void> {
  const { highlight } = await import("./highlight");
  highlight(code, text, language);
}
