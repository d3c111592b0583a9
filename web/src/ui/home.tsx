// What is shown when no session is: what waits, and how to begin.
import type { JSX } from "preact";
import { waiting } from "../state/attention";
import { openStart } from "../state/overlay";
import { texts } from "../texts";
import { Icon } from "./icons";
import { Tray } from "./requests/tray";

export function Home(): JSX.Element {
  const count = waiting.value.length;
  return (
    <div class="home">
      <div class="home-inner">
        <div>
          <h1>{count ? texts.requests.trayCount(count) : texts.name}</h1>
          <p class="lead">{count ? "" : texts.tagline}</p>
        </div>
        {count ? <Tray /> : null}
        <div>
          <button type="button" class="button primary" onClick={() => openStart()}>
            <Icon name="plus" />
            {texts.start.open}
          </button>
        </div>
      </div>
    </div>
  );
}
