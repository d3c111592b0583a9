// What a call shows when it is open, by its kind.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { writeJson } from "../../api/json";
import type * as t from "../../api/types";
import type { OpenSession } from "../../state/session";
import { texts } from "../../texts";
import { PlanList } from "../plan_list";
import { showHidden } from "../visible";
import { Blocks } from "./blocks";
import { DiffView } from "./diff_view";
import { Markdown } from "./markdown";
import { AgentMessage, AgentThought, UserMessage } from "./messages";
import { Output } from "./output";
import { requestOf, ToolCard } from "./tool_card";

interface BodyProps {
  item: t.ToolItem;
  live: readonly t.LivePart[];
  session: OpenSession;
}

const words = texts.tools;

function liveText(live: readonly t.LivePart[], kind: t.LivePart["kind"]): string {
  return live.find((part) => part.kind === kind)?.text ?? "";
}

export function ToolBody({ item, live, session }: BodyProps): JSX.Element {
  const input = liveText(live, "tool_input");
  return (
    <div class="card-body">
      {input ? <pre class="live-input">{showHidden(input)}</pre> : null}
      <Details item={item} live={live} session={session} />
      {item.note ? <p class="hint">{showHidden(item.note)}</p> : null}
    </div>
  );
}

function Details({ item, live, session }: BodyProps): JSX.Element {
  const { detail } = item;
  const output = liveText(live, "tool_output");
  switch (detail?.kind) {
    case "command":
      return (
        <>
          {detail.description ? <p class="hint">{showHidden(detail.description)}</p> : null}
          <pre class="command-line" tabIndex={0}>
            <span class="prompt" aria-hidden="true">
              ${" "}
            </span>
            {showHidden(detail.command)}
          </pre>
          {output ? <Output text={output} /> : <Result item={item} text={detail.output} />}
          {detail.truncated ? <p class="hint">{words.truncated}</p> : null}
        </>
      );
    case "file_change":
      return (
        <>
          {detail.changes?.map((change, place) => (
            <DiffView key={place} change={change} />
          ))}
          {item.ok === false ? <Blocks blocks={item.content} /> : null}
        </>
      );
    case "read":
      return (
        <>
          <p class="path">
            {showHidden(detail.path)} {detail.offset ? <span class="hint">{words.line(detail.offset)}</span> : null}
          </p>
          <Blocks blocks={item.content} />
        </>
      );
    case "search":
      return (
        <>
          <p>
            <code>{showHidden(detail.pattern)}</code> {detail.path ? <span class="hint">{showHidden(detail.path)}</span> : null}
          </p>
          <Blocks blocks={item.content} />
        </>
      );
    case "web":
      return (
        <>
          <p class="path">{showHidden(detail.query || detail.url || "")}</p>
          <Blocks blocks={item.content} />
        </>
      );
    case "subagent":
      return <Nested item={item} detail={detail} session={session} />;
    case "todo":
      return <PlanList entries={detail.entries ?? []} />;
    case "plan":
      return detail.plan ? <Markdown text={showHidden(detail.plan)} /> : <Blocks blocks={item.content} />;
    case "question":
      return (
        <dl class="answers">
          {detail.questions?.map((question) => (
            <div key={question.text}>
              <dt>{showHidden(question.text)}</dt>
              <dd>{showHidden(detail.answers?.[question.text] ?? "")}</dd>
            </div>
          ))}
        </dl>
      );
    default:
      return item.counts.calls ? <Nested item={item} detail={null} session={session} /> : <Plain item={item} output={output} />;
  }
}

function Result({ item, text }: { item: t.ToolItem; text: string | undefined }): JSX.Element {
  if (text) return <Output text={text} />;
  if (item.content.length) return <Blocks blocks={item.content} />;
  return item.ok === null ? <></> : <p class="hint">{words.noOutput}</p>;
}

function Plain({ item, output }: { item: t.ToolItem; output: string }): JSX.Element {
  return (
    <>
      {item.input === null ? null : (
        <details>
          <summary>{words.input}</summary>
          <pre tabIndex={0}>{showHidden(writeJson(item.input, 2))}</pre>
        </details>
      )}
      {output ? <Output text={output} /> : <Blocks blocks={item.content} />}
    </>
  );
}

interface NestedProps {
  item: t.ToolItem;
  detail: t.SubagentDetail | null;
  session: OpenSession;
}

/** What a sub-agent does, below the call that started it. */
function Nested({ item, detail, session }: NestedProps): JSX.Element {
  void session.frame.value;
  const [shown, setShown] = useState(20);
  const below = session.draft.items.filter((each) => "parent" in each && each.parent === item.id);
  const live = session.draft.liveParts().filter((part) => part.parent === item.id);
  return (
    <>
      {detail?.prompt ? (
        <details>
          <summary>{words.prompt}</summary>
          <Markdown text={showHidden(detail.prompt)} />
        </details>
      ) : null}
      {item.plan.length ? <PlanList entries={item.plan} /> : null}
      {below.length ? (
        <div class="nested">
          {below.length > shown ? (
            <button type="button" class="more" onClick={() => setShown(shown + 100)}>
              {texts.showMore}
            </button>
          ) : null}
          {below.slice(-shown).map((each) => (
            <NestedItem key={`${each.type}:${each.id}`} item={each} live={live} session={session} />
          ))}
        </div>
      ) : null}
      {item.ok === null ? null : <Blocks blocks={item.content} />}
    </>
  );
}

function NestedItem({ item, live, session }: { item: t.Item; live: readonly t.LivePart[]; session: OpenSession }): JSX.Element | null {
  const own = live.filter((part) => part.id === item.id);
  if (item.type === "tool") return <ToolCard item={item} live={own} session={session} held={requestOf(session, item.id)} />;
  if (item.type === "message") return <AgentMessage item={item} live={own} />;
  if (item.type === "thought") return <AgentThought item={item} live={own} />;
  return item.type === "user" && !item.synthetic ? <UserMessage item={item} session={session} /> : null;
}
