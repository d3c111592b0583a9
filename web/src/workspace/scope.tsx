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

/** Of which token; `all` null: nobody could say, so the calls themselves tell what is wrong. */
const scopes = signal<{ readonly token: string; readonly all: readonly Scope[] | null } | null>(null);

async function ask(): Promise<void> {
  const asked = token.value;
  const all = await api.info().then(
    (info) => info.scopes,
    () => null,
  );
  scopes.value = { token: asked, all };
}

/** Its children, once it is known that the token does not lack the scope. */
export function Needs({ scope, children }: { scope: Scope; children: ComponentChildren }): JSX.Element {
  const known = scopes.value?.token === token.value ? scopes.value : null;
  useEffect(() => {
    if (!known?.all) void ask();
  }, [token.value]);
  if (!known) return <p class="empty">{texts.loading}</p>;
  if (known.all && !known.all.includes(scope)) {
    return (
      <p class="empty missing">
        <Icon name="warning" />
        {texts.workspace.missingScope(scope)}
      </p>
    );
  }
  return <>{children}</>;
}
