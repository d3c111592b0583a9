// Questions of an agent: one choice, several, own words, previews; all are sent together.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Question } from "../../api/types";
import { texts } from "../../texts";
import { Markdown, saysAll } from "../conversation/markdown";
import { showExact, showHidden, showLine } from "../visible";
import { answer, sending } from "./answering";
import type { Asked } from "./asked";
import { WholeText } from "./whole_text";

const words = texts.requests;

interface Given {
  readonly labels: readonly string[];
  readonly other: string;
  readonly otherOn: boolean;
}

const NOTHING: Given = { labels: [], other: "", otherOn: false };

function isGiven(given: Given | undefined): boolean {
  return given !== undefined && (given.labels.length > 0 || (given.otherOn && given.other.trim() !== ""));
}

function replyOf(question: Question, given: Given): string | string[] {
  const own = given.otherOn && given.other.trim() ? [given.other.trim()] : [];
  if (question.multiple) return [...given.labels, ...own];
  return own[0] ?? given.labels[0] ?? "";
}

export function QuestionForm({ asked }: { asked: Asked }): JSX.Element {
  const questions = asked.questions ?? [];
  const [given, setGiven] = useState<Record<string, Given>>({});
  const busy = sending.value.has(asked.id);
  const ready = questions.every((question) => isGiven(given[question.text]));
  const send = (event: Event): void => {
    event.preventDefault();
    if (!ready) return;
    const answers = Object.fromEntries(questions.map((question) => [question.text, replyOf(question, given[question.text] ?? NOTHING)]));
    void answer(asked, { answers });
  };
  return (
    <form class="request-body" onSubmit={send}>
      {asked.description ? <p class="verbatim">{showHidden(asked.description)}</p> : null}
      {questions.map((question, place) => (
        <QuestionField
          key={question.text}
          name={`${asked.id}-${place}`}
          question={question}
          given={given[question.text] ?? NOTHING}
          set={(value) => setGiven({ ...given, [question.text]: value })}
        />
      ))}
      <div class="request-actions">
        <button type="submit" class="button primary" disabled={!ready || busy}>
          {busy ? words.sending : words.submit}
        </button>
        <button type="button" class="button quiet" disabled={busy} onClick={() => void answer(asked, { decline: true })}>
          {words.decline}
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  name: string;
  question: Question;
  given: Given;
  set: (given: Given) => void;
}

function QuestionField({ name, question, given, set }: FieldProps): JSX.Element {
  const kind = question.multiple ? "checkbox" : "radio";
  const choices = question.choices ?? [];
  const choose = (label: string, on: boolean): void => {
    if (!question.multiple) set({ labels: [label], other: given.other, otherOn: false });
    else set({ ...given, labels: on ? [...given.labels, label] : given.labels.filter((each) => each !== label) });
  };
  const preview = choices.find((choice) => given.labels.includes(choice.label) && choice.preview)?.preview ?? "";
  return (
    <fieldset class="ask">
      <legend>
        {question.header ? <span class="badge">{showLine(question.header)}</span> : null} {showHidden(question.text)}
      </legend>
      {question.multiple ? <p class="hint">{words.severalHint}</p> : null}
      <div class="options">
        {choices.map((choice) => (
          <label key={choice.label} class="option" data-chosen={given.labels.includes(choice.label)}>
            <input type={kind} name={name} checked={given.labels.includes(choice.label)} onChange={(event) => choose(choice.label, event.currentTarget.checked)} />
            <span>
              <strong>{showExact(choice.label)}</strong>
              {choice.description ? <span class="hint">{showHidden(choice.description)}</span> : null}
            </span>
          </label>
        ))}
        <label class="option" data-chosen={given.otherOn}>
          <input
            type={kind}
            name={name}
            checked={given.otherOn}
            onChange={(event) => set({ ...given, labels: question.multiple ? given.labels : [], otherOn: event.currentTarget.checked })}
          />
          <span class="own">
            <strong>{words.other}</strong>
            <input
              class="field"
              aria-label={showLine(`${words.other}: ${question.text}`)}
              placeholder={words.otherHint}
              value={given.other}
              onInput={(event) => set({ labels: question.multiple ? given.labels : [], other: event.currentTarget.value, otherOn: event.currentTarget.value !== "" })}
            />
          </span>
        </label>
      </div>
      {preview ? (
        <div class="preview" aria-label={words.preview}>
          {/^\s*(```|#|[-*] )/.test(preview) && saysAll(preview) ? <Markdown text={showHidden(preview)} /> : <WholeText text={preview} label={words.preview} />}
        </div>
      ) : null}
    </fieldset>
  );
}
