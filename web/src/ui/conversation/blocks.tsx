// Content blocks: text, pictures, files, changes, output.
import type { JSX } from "preact";
import { writeJson } from "../../api/json";
import type { ContentBlock } from "../../api/types";
import { texts } from "../../texts";
import { baseName } from "../format";
import { Icon } from "../icons";
import { DiffView } from "./diff_view";
import { LARGE } from "./large_text";
import { Markdown } from "./markdown";
import { Output } from "./output";

const PICTURES = /^image\/(png|jpeg|gif|webp)$/;

export function Blocks({ blocks, plain }: { blocks: readonly ContentBlock[]; plain?: boolean }): JSX.Element {
  return (
    <>
      {blocks.map((block, place) => (
        <Block key={place} block={block} plain={plain ?? false} />
      ))}
    </>
  );
}

function Block({ block, plain }: { block: ContentBlock; plain: boolean }): JSX.Element {
  switch (block.type) {
    case "text":
      return plain && block.text.length <= LARGE ? <div class="plain-text">{block.text}</div> : <Output text={block.text} markdown />;
    case "image":
      if (block.data && PICTURES.test(block.media_type)) {
        return <img class="picture" src={`data:${block.media_type};base64,${block.data}`} alt={texts.conversation.image} loading="lazy" />;
      }
      return <Named icon="file" name={block.uri || block.media_type} />;
    case "resource":
      return (
        <div class="resource">
          <Named icon="file" name={block.name || baseName(block.uri)} title={block.uri} />
          {block.text ? <Output text={block.text} /> : null}
        </div>
      );
    case "diff":
      return <DiffView change={{ path: block.path, old_text: block.old_text ?? null, new_text: block.new_text ?? "" }} />;
    case "terminal":
      return <Output text={block.output} />;
    case "other":
      return <Output text={writeJson(block.raw, 2)} />;
  }
}

function Named({ icon, name, title }: { icon: "file"; name: string; title?: string }): JSX.Element {
  return (
    <span class="named" title={title}>
      <Icon name={icon} size={14} />
      {name}
    </span>
  );
}

export { Markdown };
