// Messages that wait for their turn: in another order, into the running turn, or taken back. Paused by a restart: continued.
import type { JSX } from "preact";
import { api } from "../../api/client";
import type { QueuedPrompt } from "../../api/types";
import type { OpenSession } from "../../state/session";
import { attempt } from "../../state/toasts";
import { texts } from "../../texts";
import { Icon, type IconName } from "../icons";

const words = texts.composer;

function shown(prompt: QueuedPrompt): string {
  return prompt.content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join(" ");
}

export function QueueList({ session }: { session: OpenSession }): JSX.Element | null {
  void session.frame.value;
  const { queue } = session.draft;
  if (!queue.length) return null;
  const move = (from: number, to: number): void => {
    const order = queue.map((prompt) => prompt.id);
    const [moved] = order.splice(from, 1);
    if (moved === undefined) return;
    order.splice(to, 0, moved);
    void attempt(api.reorder(session.id, order));
  };
  const steer = async (prompt: QueuedPrompt): Promise<void> => {
    try {
      await api.withdraw(session.id, prompt.id);
      await api.prompt(session.id, { content: prompt.content, mode: "steer" });
    } catch (problem) {
      await attempt(Promise.reject(problem));
    }
  };
  return (
    <section class="queue" aria-label={words.queued}>
      <h2>{words.queued}</h2>
      {session.draft.facts.state === "interrupted" ? (
        <p class="paused">
          <span>{words.paused(queue.length)}</span>
          <button type="button" class="button primary small" onClick={() => void attempt(api.continueQueue(session.id))}>
            {words.continue}
          </button>
        </p>
      ) : null}
      <ol>
        {queue.map((prompt, place) => (
          <li key={prompt.id}>
            <span>{shown(prompt)}</span>
            <Tool icon="up" label={words.moveUp} off={place === 0} act={() => move(place, place - 1)} />
            <Tool icon="down" label={words.moveDown} off={place === queue.length - 1} act={() => move(place, place + 1)} />
            <Tool icon="bolt" label={words.steerThis} off={session.draft.facts.turn === null} act={() => void steer(prompt)} />
            <Tool icon="close" label={words.takeBack} off={false} act={() => void attempt(api.withdraw(session.id, prompt.id))} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Tool({ icon, label, off, act }: { icon: IconName; label: string; off: boolean; act: () => void }): JSX.Element {
  return (
    <button type="button" class="button quiet small only-icon" aria-label={label} title={label} disabled={off} onClick={act}>
      <Icon name={icon} size={14} />
    </button>
  );
}
