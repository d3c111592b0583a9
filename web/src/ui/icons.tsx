// Small line icons, drawn with the text's colour. All are decoration: names stand beside them.
import type { JSX } from "preact";

const PATHS = {
  plus: "M8 3v10M3 8h10",
  search: "M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10Zm3.6-1.4L14 14",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5l3.2 3L13 4.5",
  chevron: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  up: "M4 10l4-4 4 4",
  back: "M10 3L5 8l5 5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  send: "M8 13V3M4 7l4-4 4 4",
  stop: "M4.5 4.5h7v7h-7z",
  clip: "M12.5 7.5l-5 5a3 3 0 0 1-4.2-4.2l5.6-5.6a2 2 0 0 1 2.8 2.8l-5.5 5.5a1 1 0 0 1-1.4-1.4l4.9-4.9",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  edit: "M3 13l.6-2.8L11 2.8 13.2 5l-7.4 7.4L3 13Z",
  terminal: "M3 4l3.5 3.5L3 11M8 12h5",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  folder: "M2 4h4l1.5 2H14v7H2z",
  globe: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM2 8h12M8 2c2 2 2 10 0 12M8 2C6 4 6 12 8 14",
  agent: "M8 2v2M4 5h8v7H4zM6.5 8v1M9.5 8v1M2 8v2M14 8v2",
  list: "M3 4l1 1 1.6-2M3 8.5l1 1 1.6-2M3 13l1 1 1.6-2M8 4.5h5M8 9h5M8 13.5h5",
  question: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.7.4-1.1.8-1.1 1.8M8 12.7h.01",
  map: "M2.5 4l3.5-1.5 4 1.5 3.5-1.5v9.5L10 13.5 6 12l-3.5 1.5zM6 2.5V12M10 4v9.5",
  plug: "M5.5 2v3.5M10.5 2v3.5M3.5 5.5h9V8a4.5 4.5 0 0 1-9 0zM8 12.5V15",
  tool: "M10 6l3.2-3.2A3.5 3.5 0 0 1 8.8 7.4L4 12.2 2.8 11 7.6 6.2A3.5 3.5 0 0 1 12 1.8L8.8 5z",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3zM6.5 14h3",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.3 6.3a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.9.7-.9 1.3M8 11.3h.01",
  fork: "M4 2.5v4a2 2 0 0 0 2 2h4a2 2 0 0 1 2 2v3M4 6.5v7M4 2.5h.01M12 13.5h.01M4 13.5h.01",
  archive: "M2 3h12v3H2zM3 6v7.5h10V6M6.5 9h3",
  trash: "M3 4.5h10M6 4.5V2.8h4v1.7M4.3 4.5l.6 9h6.2l.6-9",
  download: "M8 2.5v7M5 7l3 3 3-3M3 13h10",
  link: "M6.5 9.5l3-3M7 4.5l1.3-1.3a2.8 2.8 0 0 1 4 4L11 8.5M9 11.5l-1.3 1.3a2.8 2.8 0 0 1-4-4L5 7.5",
  wide: "M9.5 2.5h4v4M13.5 2.5L9 7M6.5 13.5h-4v-4M2.5 13.5L7 9",
  narrow: "M13 7H9V3M9 7l4.5-4.5M3 9h4v4M7 9l-4.5 4.5",
  branch: "M5 11V5M5 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM5 14a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM11 7a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM11 7c0 2.5-2.5 3-6 3",
  refresh: "M13 3v3.5H9.5M12.7 6.3A5 5 0 1 0 13 9.5",
  upload: "M8 10V3M5 5.5l3-3 3 3M3 13h10",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  newFile: "M8.5 14H4V2h5l3 3v3M9 2v3h3M12 10.5v4M10 12.5h4",
  newFolder: "M8 13H2V4h4l1.5 2H14v3M12 10.5v4M10 12.5h4",
  wrap: "M2.5 4h11M2.5 8h8.5a2.2 2.2 0 0 1 0 4.4H8M9.5 10.8L7.8 12.4l1.7 1.6M2.5 12.4h2.5",
  minus: "M3 8h10",
  picture: "M2 3h12v10H2zM2 11l3.5-3.5 3 3L11 8l3 3M10.5 6h.01",
  panel: "M2 3h12v10H2zM10 3v10",
  bolt: "M9 1.5L3.5 9H8l-1 5.5L12.5 7H8z",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 5v3.2l2 1.3",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 7.3v3.5M8 5.2h.01",
  warning: "M8 2.5l6 10.5H2zM8 6.5v3M8 11.3h.01",
  brain: "M6 3a2 2 0 0 1 2 2v7a2 2 0 0 1-3.8.8A2.3 2.3 0 0 1 3 9a2 2 0 0 1 .6-3.4A2.2 2.2 0 0 1 6 3ZM10 3a2 2 0 0 0-2 2v7a2 2 0 0 0 3.8.8A2.3 2.3 0 0 0 13 9a2 2 0 0 0-.6-3.4A2.2 2.2 0 0 0 10 3Z",
  pencil: "M3 13l.6-2.8L11 2.8 13.2 5l-7.4 7.4L3 13Z",
  pulse: "M1.5 8.5h3l2-5 3 9 2-4h3",
  out: "M6.5 2.5h-4v11h4M10.5 11l3-3-3-3M13 8H6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The mark of the product: a footplate between two wheels. */
export function Mark({ size = 22 }: { size?: number }): JSX.Element {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden="true">
      <rect x="1" y="1" width="22" height="22" rx="6" fill="var(--accent)" />
      <path d="M5 9h14M8 9V5.5h5V9" stroke="var(--on-accent)" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" />
      <circle cx="8" cy="15.5" r="2.6" stroke="var(--on-accent)" stroke-width="1.8" />
      <circle cx="16" cy="15.5" r="2.6" stroke="var(--on-accent)" stroke-width="1.8" />
      <path d="M8 15.5h8" stroke="var(--on-accent)" stroke-width="1.8" stroke-linecap="round" />
    </svg>
  );
}
