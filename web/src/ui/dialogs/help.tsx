// The sheet of keys.
import type { JSX } from "preact";
import { KEYS } from "../../state/keys";
import { texts } from "../../texts";
import { Dialog } from "./dialog";

export default function HelpSheet(): JSX.Element {
  return (
    <Dialog title={texts.help.title}>
      <dl class="keys">
        {KEYS.map((key) => (
          <div key={key.id}>
            <dt>{texts.help.keys[key.id]}</dt>
            <dd>
              {key.shown.split(" ").map((part) => (
                <kbd key={part}>{part}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
