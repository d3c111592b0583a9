// Focus for a field that appears because somebody asked for it.

/** As a `ref`: the element gets the focus once it is there. */
export function focusNow(element: HTMLElement | null): void {
  element?.focus();
}
