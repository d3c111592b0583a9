// Colours for code, loaded when the first block of code is shown. The colours are classes; the text stays text.
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = { bash, c, cpp, css, diff, dockerfile, go, ini, java, javascript, json, makefile, markdown, php, python, ruby, rust, sql, typescript, xml, yaml };
for (const [name, grammar] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, grammar);
hljs.registerAliases(["toml", "conf"], { languageName: "ini" });
hljs.registerAliases(["console", "shell", "zsh"], { languageName: "bash" });

/** Puts coloured pieces in place of the plain text; made node by node, so no HTML is ever parsed. */
export function highlight(element: HTMLElement, text: string, language: string): void {
  if (!hljs.getLanguage(language)) return;
  const { _emitter } = hljs.highlight(text, { language, ignoreIllegals: true }) as unknown as { _emitter: Emitter };
  element.replaceChildren(draw(_emitter.rootNode));
}

interface Emitter {
  readonly rootNode: Node;
}

interface Node {
  readonly scope?: string;
  readonly children: readonly (Node | string)[];
}

function draw(node: Node): DocumentFragment | HTMLElement {
  const made = node.scope ? document.createElement("span") : document.createDocumentFragment();
  if (made instanceof HTMLElement) made.className = `hl-${node.scope?.split(".")[0] ?? ""}`;
  for (const child of node.children) made.append(typeof child === "string" ? child : draw(child));
  return made;
}
