// The folder that paths are told relative to: the session's, where there is one.
import { createContext } from "preact";
import { useContext } from "preact/hooks";

export const Folder = createContext("");

/** The path as somebody in that folder would say it. */
export function relativePath(path: string, folder: string): string {
  const root = folder.replace(/\/+$/, "");
  return root && path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
}

export function useRelative(path: string): string {
  return relativePath(path, useContext(Folder));
}
