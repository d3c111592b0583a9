// xterm under a policy that forbids <style> and style="": for it, elements are made that need neither.
//
// xterm puts its rules into style elements when it is opened, and colours beyond the sixteen into style attributes when
// it draws; the page's policy (style-src 'self') refuses both. Rules that a script adopts are allowed, and so is
// `element.style`. So what it makes as a "style" element is an empty one that passes its text on to an adopted sheet,
// and its other elements take a style attribute as `element.style`. The policy stays as it is.
import type { Terminal } from "@xterm/xterm";

/** An element that stands where a style element would: its text becomes an adopted sheet, for as long as it is there. */
function sheetElement(): HTMLElement {
  const element = document.createElement("span");
  element.hidden = true;
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, "textContent", { set: (css: string) => sheet.replaceSync(css), get: () => "" });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}

/** As `setAttribute`, but a style goes the way that the policy allows. */
function setAllowed(this: HTMLElement, name: string, value: string): void {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

function make(tag: string, options?: ElementCreationOptions): HTMLElement {
  if (tag === "style") return sheetElement();
  const element = Document.prototype.createElement.call(document, tag, options);
  element.setAttribute = setAllowed;
  return element;
}

/** What draws the rows makes its elements with a document of its own, for which xterm has no setting. */
interface Inside {
  readonly _core?: { readonly _renderService?: { readonly _renderer?: { readonly value?: { readonly _rowFactory?: { _document: object } } } } };
}

/** Opens the terminal in the element. */
export function openStyled(terminal: Terminal, element: HTMLElement): void {
  Object.defineProperty(document, "createElement", { value: make, configurable: true });
  try {
    terminal.open(element);
  } finally {
    Reflect.deleteProperty(document, "createElement");
  }
  const rows = (terminal as unknown as Inside)._core?._renderService?._renderer?.value?._rowFactory;
  if (rows) rows._document = { createElement: make };
}
