// A plan put up for approval: approve it and say how to go on, or send it back with words.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { texts } from "../../texts";
import { Markdown, saysAll } from "../conversation/markdown";
import { focusNow } from "../focus";
import { showHidden, showExact } from "../visible";
import { answer, sending } from "./answering";
import type { Asked } from "./asked";
import { WholeText } from "./whole_text";

const words = texts.requests;

export function PlanForm({ asked, modes }: { asked: Asked; modes: readonly string[] }): JSX.Element {
  const [mode, setMode] = useState("");
  const [revising, setRevising] = useState(false);
  const [message, setMessage] = useState("");
  const [plain, setPlain] = useState(() => !saysAll(asked.plan ?? ""));
  const prompts = asked.allowed_prompts ?? [];
  const [granted, setGranted] = useState<readonly number[]>([]);
  const busy = sending.value.has(asked.id);
  const offered = modes.filter((each) => each !== "plan" && each !== "default");
  const flip = (place: number, on: boolean): void => setGranted(on ? [...granted, place] : granted.filter((each) => each !== place));
  return (
    <div class="request-body">
      {asked.plan ? (
        <>
        <div class="plan-text" tabIndex={0} role="group" aria-label={texts.plan.title}>
          {plain ? <WholeText text={asked.plan} label={texts.plan.title} /> : <Markdown text={showHidden(asked.plan)} />}
        </div>
        <button type="button" class="more" aria-pressed={plain} onClick={() => setPlain(!plain)}>
          {plain ? words.planFormatted : words.planSource}
        </button>
        </>
      ) : null}
      {prompts.length ? (
        <fieldset class="ask">
          <legend>{words.allowedPrompts}</legend>
          {prompts.map((prompt, place) => (
            <label key={place} class="check">
              <input type="checkbox" checked={granted.includes(place)} onChange={(event) => flip(place, event.currentTarget.checked)} />
              <code>{showExact(prompt)}</code>
            </label>
          ))}
        </fieldset>
      ) : null}
      {revising ? (
        <form
          class="stage"
          onSubmit={(event) => {
            event.preventDefault();
            void answer(asked, { behavior: "deny", message });
          }}
        >
          <textarea class="field" rows={3} ref={focusNow} aria-label={words.reviseHint} placeholder={words.reviseHint} value={message} onInput={(event) => setMessage(event.currentTarget.value)} />
          <div class="request-actions">
            <button type="submit" class="button primary" disabled={busy}>
              {words.reviseSend}
            </button>
            <button type="button" class="button quiet" onClick={() => setRevising(false)}>
              {texts.cancel}
            </button>
          </div>
        </form>
      ) : (
        <div class="request-actions">
          <button type="button" class="button primary" data-act="allow" disabled={busy} onClick={() => void answer(asked, { behavior: "allow", mode, prompts: granted })}>
            {busy ? words.sending : words.approve}
          </button>
          {offered.length ? (
            <label class="inline-field">
              <span>{words.approveMode}</span>
              <select class="field select" aria-label={words.approveHow} value={mode} onChange={(event) => setMode(event.currentTarget.value)}>
                <option value="">{words.approveModes["default"]}</option>
                {offered.map((each) => (
                  <option key={each} value={each}>
                    {words.approveModes[each] ?? each}
                  </option>
                ))}
              </select>
            </label>
          ) : null}
          <span class="spacer" />
          <button type="button" class="button" data-act="deny" disabled={busy} onClick={() => setRevising(true)}>
            {words.revise}
          </button>
          <button type="button" class="button danger" disabled={busy} onClick={() => void answer(asked, { behavior: "deny", interrupt: true })}>
            {texts.composer.interrupt}
          </button>
        </div>
      )}
    </div>
  );
}
