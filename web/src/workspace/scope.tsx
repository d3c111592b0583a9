// What the caller's token may do, asked once; a part of the workspace that needs more says so instead of failing.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { api } from "../api/client";
import type { Info } from "../api/types";
import { token } from "../state/token";
import { texts } from "../texts";
import { Icon } from "../ui/icons";

export type Scope = Info["scopes"][number];

const scopes = signal<{ readonly token: string; readonly all: readonly Scope[] } | null>(null);

async function ask(): Promise<void> {
  const asked = token.value;
  try {
    const info = await api.info();
    scopes.value = { token: asked, all: info.scopes };
  } catch {
    scopes.value = { token: asked, all: ["admin"] }; // the calls themselves tell what is wrong
  }
}

/** Its children, unless the token is known to lack the scope. */
export function Needs({ scope, children }: { scope: Scope; children: ComponentChildren }): JSX.Element {
  const known = scopes.value?.token === token.value ? scopes.value.all : null;
  useEffect(() => {
    if (!known) void ask();
  }, [token.value]);
  if (!known) return <p class="empty">{texts.loading}</p>;
  if (!known.includes(scope) && !known.includes("admin")) {
    return (
      <p class="empty missing">
        <Icon name="warning" />
        {texts.workspace.missingScope(scope)}
      </p>
    );
  }
  return <>{children}</>;
}
