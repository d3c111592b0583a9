// The frame of a page of its own: its head and its body.
import type { ComponentChildren, JSX } from "preact";
import { go } from "../state/route";
import { texts } from "../texts";
import { Icon } from "../ui/icons";

interface PageFrameProps {
  title: string;
  lead: string;
  again: () => void;
  children: ComponentChildren;
}

export function PageFrame({ title, lead, again, children }: PageFrameProps): JSX.Element {
  return (
    <>
      <header class="session-head">
        <button type="button" class="button quiet only-icon back" aria-label={texts.back} onClick={() => go({ name: "home" })}>
          <Icon name="back" />
        </button>
        <div class="names">
          <h1>{title}</h1>
          <div class="facts">
            <span>{lead}</span>
          </div>
        </div>
        <button type="button" class="button" onClick={again}>
          {texts.again}
        </button>
      </header>
      <div class="page-body" tabIndex={0} role="region" aria-label={title}>
        <div class="page-inner">{children}</div>
      </div>
    </>
  );
}
