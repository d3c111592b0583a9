// The toasts that are shown now.
import type { JSX } from "preact";
import { dismiss, toasts } from "../state/toasts";
import { texts } from "../texts";
import { Icon } from "./icons";

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={`toast ${toast.tone}`}>
          <span>{toast.text}</span>
          <button type="button" class="button quiet small only-icon" aria-label={texts.close} onClick={() => dismiss(toast.id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}
