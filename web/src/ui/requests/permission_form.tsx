// A permission: once, for the session, by a lasting rule, changed, or not.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { writeJson } from "../../api/json";
import type { AnswerBody, RequestOption } from "../../api/types";
import { texts } from "../../texts";
import { focusNow } from "../focus";
import { useRelative } from "../folder";
import { Icon } from "../icons";
import { MenuButton, type MenuItem } from "../menu";
import { sessionMeaning } from "./answer_words";
import { answer, equalTo, sending } from "./answering";
import type { Asked } from "./asked";
import { showExact, showHidden, showLine } from "../visible";
import { isObject, readEdited } from "./input_parts";
import { InputView } from "./input_view";

const words = texts.requests;

export function PermissionForm({ asked, headed }: { asked: Asked; headed: string | undefined }): JSX.Element {
  const [stage, setStage] = useState<"choose" | "edit" | "deny">("choose");
  const [equal, setEqual] = useState(false);
  const same = equalTo(asked);
  const session = sessionMeaning(asked);
  const busy = sending.value.has(asked.id);
  const blocked = useRelative(asked.blocked_path ?? "");
  const give = (body: AnswerBody): void => void answer(asked, body, equal);
  return (
    <div class="request-body">
      {asked.description ? <p class="verbatim">{showHidden(asked.description)}</p> : null}
      {asked.reason ? (
        <p class="hint">
          {words.why}: {showHidden(asked.reason)}
        </p>
      ) : null}
      {asked.blocked_path ? (
        <p class="hint">
          {words.path}: <code>{showExact(blocked)}</code>
        </p>
      ) : null}
      {asked.plan_prompt ? <p class="hint">{words.underPlan(showLine(asked.plan_prompt))}</p> : null}
      <InputView asked={asked} headed={headed} />
      {stage === "edit" ? <EditForm asked={asked} give={give} back={() => setStage("choose")} /> : null}
      {stage === "deny" ? <DenyForm give={give} back={() => setStage("choose")} /> : null}
      {stage === "choose" ? (
        <>
          {same.length ? (
            <label class="check">
              <input type="checkbox" checked={equal} onChange={(event) => setEqual(event.currentTarget.checked)} />
              {words.same(same.length)}
            </label>
          ) : null}
          {session ? (
            <p class="hint lasting">
              {words.session}: {showExact(session)}
            </p>
          ) : null}
          {ownAlways(asked).map((option) => (
            <p key={option.id} class="hint lasting">
              {words.always}: {showExact(option.label)}
            </p>
          ))}
          <div class="request-actions">
            <button type="button" class="button primary" data-act="allow" disabled={busy} onClick={() => give({ behavior: "allow" })}>
              <Icon name="check" size={14} />
              {busy ? words.sending : words.once}
            </button>
            {session ? (
              <button type="button" class="button" disabled={busy} onClick={() => give({ behavior: "allow", scope: "session" })}>
                {words.session}
              </button>
            ) : null}
            {lasting(asked, give).length ? <MenuButton label={words.alwaysMenu} text={words.always} quiet={false} items={lasting(asked, give)} /> : null}
            {takesChangedInput(asked) ? (
              <button type="button" class="button" data-act="edit" disabled={busy} onClick={() => setStage("edit")}>
                <Icon name="edit" size={14} />
                {words.edit}
              </button>
            ) : null}
            <span class="spacer" />
            <button type="button" class="button danger" data-act="deny" disabled={busy} onClick={() => setStage("deny")}>
              {words.deny}…
            </button>
          </div>
        </>
      ) : null}
    </div>
  );
}

/** Whether the agent runs an input that the answer changes; as `takes_changed_input` in src/footplate/events/rules.py. */
function takesChangedInput(asked: Asked): boolean {
  return asked.input != null && (!asked.options?.length || asked.options.some((option) => option.means != null));
}

/** Each lasting rule that is proposed, with the place where it would be kept. */
function lasting(asked: Asked, give: (body: AnswerBody) => void): MenuItem[] {
  const suggestions = asked.suggestions ?? [];
  const found: MenuItem[] = suggestions.map((each, place) => ({
    id: `suggestion-${place}`,
    text: showExact(each.allows || each.label),
    hint: words.destinations[each.destination ?? ""] || showExact(each.label),
    act: () => give({ behavior: "allow", scope: each.destination === "session" ? "session" : "always", suggestion: place }),
  }));
  if (asked.plan_prompt) found.push({ id: "exact", text: words.exact, act: () => give({ behavior: "allow", scope: "exact" }) });
  for (const option of ownAlways(asked)) found.push({ id: option.id, text: showExact(option.label), act: () => give({ option: option.id }) });
  return found;
}

/** The agent's own options for "always", where it proposes no rules. */
function ownAlways(asked: Asked): RequestOption[] {
  return asked.suggestions?.length ? [] : (asked.options ?? []).filter((option) => option.kind === "allow_always");
}

interface StageProps {
  give: (body: AnswerBody) => void;
  back: () => void;
}

function EditForm({ asked, give, back }: StageProps & { asked: Asked }): JSX.Element {
  const fields = isObject(asked.input) ? asked.input : null;
  const [text, setText] = useState(writeJson(fields ?? {}, 2));
  const [problem, setProblem] = useState("");
  const [single, setSingle] = useState(() => mainField(fields));
  const send = (): void => {
    if (single) {
      give({ behavior: "allow", updated_input: { ...fields, [single.name]: single.text } });
      return;
    }
    const edited = readEdited(text);
    if (edited) give({ behavior: "allow", updated_input: edited });
    else setProblem(words.editBad);
  };
  const rows = Math.min(14, Math.max(2, (single?.text ?? text).split("\n").length + 1));
  return (
    <div class="stage">
      <label class="label" for={`edit-${asked.id}`}>
        {words.editTitle}
        {single ? ` (${single.name})` : ""}
      </label>
      <textarea
        id={`edit-${asked.id}`}
        class="field mono"
        rows={rows}
        ref={focusNow}
        spellcheck={false}
        value={single ? single.text : text}
        onInput={(event) => (single ? setSingle({ ...single, text: event.currentTarget.value }) : setText(event.currentTarget.value))}
      />
      <Revealed text={single ? single.text : text} />
      {problem ? (
        <p class="hint" role="alert">
          {problem}
        </p>
      ) : null}
      <div class="request-actions">
        <button type="button" class="button primary" onClick={send}>
          {words.editAllow}
        </button>
        {single ? (
          <button type="button" class="button quiet" onClick={() => setSingle(null)}>
            {words.editAll}
          </button>
        ) : null}
        <button type="button" class="button quiet" onClick={back}>
          {texts.cancel}
        </button>
      </div>
    </div>
  );
}

/** A field shows a text as it is: where that hides something, it is shown once more. */
function Revealed({ text }: { text: string }): JSX.Element | null {
  const shown = showHidden(text);
  if (shown === text) return null;
  return (
    <div role="status">
      <p class="hint">{words.hidden}</p>
      <pre class="whole">{shown}</pre>
    </div>
  );
}

/** A command is edited as a command, not as JSON; but a text field would turn each carriage return into a line feed. */
function mainField(fields: Record<string, unknown> | null): { name: string; text: string } | null {
  for (const name of ["command", "content", "new_string"]) {
    const value = fields?.[name];
    if (typeof value === "string" && !value.includes("\r")) return { name, text: value };
  }
  return null;
}

function DenyForm({ give, back }: StageProps): JSX.Element {
  const [message, setMessage] = useState("");
  return (
    <form
      class="stage"
      onSubmit={(event) => {
        event.preventDefault();
        give({ behavior: "deny", message });
      }}
    >
      <textarea class="field" rows={2} ref={focusNow} aria-label={words.denyMessage} placeholder={words.denyHint} value={message} onInput={(event) => setMessage(event.currentTarget.value)} onKeyDown={(event) => {
        if (event.key === "Enter" && !event.shiftKey) {
          event.preventDefault();
          give({ behavior: "deny", message });
        }
      }} />
      <div class="request-actions">
        <button type="submit" class="button danger">
          {words.denySend}
        </button>
        <button type="button" class="button danger" onClick={() => give({ behavior: "deny", message, interrupt: true })}>
          <Icon name="stop" size={14} />
          {words.denyStop}
        </button>
        <button type="button" class="button quiet" onClick={back}>
          {texts.cancel}
        </button>
      </div>
    </form>
  );
}
