// Copying, also where the page has no clipboard of its own (plain HTTP to another machine).
import { tell } from "../state/toasts";
import { texts } from "../texts";

export function copyText(text: string): void {
  const done = (): void => tell(texts.copied, "good");
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => copyByHand(text, done));
  else copyByHand(text, done);
}

function copyByHand(text: string, done: () => void): void {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  document.body.append(field);
  field.select();
  if (document.execCommand("copy")) done();
  field.remove();
}
