// A button with a menu: arrow keys, Escape, click elsewhere; placed so that it stays on the screen.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons";

export interface MenuItem {
  readonly id: string;
  readonly text: string;
  readonly icon?: IconName;
  readonly hint?: string;
  readonly danger?: boolean;
  readonly act: () => void;
}

interface MenuButtonProps {
  label: string;
  icon?: IconName;
  text?: string;
  small?: boolean;
  quiet?: boolean;
  items: readonly MenuItem[];
}

export function MenuButton({ label, icon, text, small, quiet = true, items }: MenuButtonProps): JSX.Element {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const looks = `button${quiet ? " quiet" : ""}${small ? " small" : ""}${text ? "" : " only-icon"}`;
  return (
    <>
      <button ref={button} type="button" class={looks} aria-label={text ? undefined : label} title={label} aria-haspopup="menu" aria-expanded={open} onClick={() => setOpen(!open)}>
        {icon ? <Icon name={icon} size={small ? 14 : 16} /> : null}
        {text}
        {text ? <Icon name="down" size={12} /> : null}
      </button>
      {open ? <Menu label={label} items={items} anchor={button.current} close={close} /> : null}
    </>
  );
}

interface MenuProps {
  label: string;
  items: readonly MenuItem[];
  anchor: HTMLElement | null;
  close: () => void;
}

function Menu({ label, items, anchor, close }: MenuProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const menu = box.current;
    if (!menu || !anchor) return;
    const from = anchor.getBoundingClientRect();
    const size = menu.getBoundingClientRect();
    const below = from.bottom + 4 + size.height <= innerHeight - 8;
    menu.style.top = `${below ? from.bottom + 4 : Math.max(8, from.top - 4 - size.height)}px`;
    menu.style.left = `${Math.max(8, Math.min(from.left, innerWidth - size.width - 8))}px`;
    menu.querySelector("button")?.focus();
  }, []);
  useEffect(() => {
    const away = (event: Event): void => {
      if (!box.current?.contains(event.target as Node) && !anchor?.contains(event.target as Node)) close();
    };
    document.addEventListener("pointerdown", away, true);
    return () => document.removeEventListener("pointerdown", away, true);
  }, []);
  const onKey = (event: KeyboardEvent): void => {
    const buttons = [...(box.current?.querySelectorAll("button") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) buttons[(at + step + buttons.length) % buttons.length]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div ref={box} class="menu" role="menu" aria-label={label} onKeyDown={onKey}>
      {items.map((item) => (
        <button
          key={item.id}
          type="button"
          role="menuitem"
          class={item.danger ? "danger" : undefined}
          onClick={() => {
            close();
            item.act();
          }}
        >
          {item.icon ? <Icon name={item.icon} /> : null}
          {item.text}
          {item.hint ? <small>{item.hint}</small> : null}
        </button>
      ))}
    </div>
  );
}
