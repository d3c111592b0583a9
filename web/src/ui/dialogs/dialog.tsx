// A dialog of the browser's own: it keeps the focus in, gives it back, and closes with Escape.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { closeOverlay } from "../../state/overlay";
import { texts } from "../../texts";
import { Icon } from "../icons";

interface DialogProps {
  title: string;
  children: ComponentChildren;
  foot?: ComponentChildren;
  onSubmit?: () => void;
  wide?: boolean;
}

export function Dialog({ title, children, foot, onSubmit, wide }: DialogProps): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <dialog
      ref={box}
      class={wide ? "wide" : undefined}
      aria-label={title}
      onClose={closeOverlay}
      onClick={(event) => event.target === box.current && closeOverlay()}
    >
      <form class="dialog-form" onSubmit={submit}>
        <header class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="button quiet only-icon" aria-label={texts.close} onClick={closeOverlay}>
            <Icon name="close" />
          </button>
        </header>
        <div class="dialog-body">{children}</div>
        {foot ? <footer class="dialog-foot">{foot}</footer> : null}
      </form>
    </dialog>
  );
}
