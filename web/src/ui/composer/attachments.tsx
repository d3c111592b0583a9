// Pictures and text files that go with a message.
import type { JSX } from "preact";
import type { ContentBlock } from "../../api/types";
import { tell } from "../../state/toasts";
import { texts } from "../../texts";
import { Icon } from "../icons";

export interface Attachment {
  readonly name: string;
  readonly block: ContentBlock;
  readonly picture: string;
}

const LARGEST = 10 * 1024 * 1024;
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;

export async function readFiles(files: Iterable<File>): Promise<Attachment[]> {
  const found: Attachment[] = [];
  for (const file of files) {
    const read = await readFile(file);
    if (read) found.push(read);
  }
  return found;
}

async function readFile(file: File): Promise<Attachment | null> {
  if (file.size > LARGEST) {
    tell(texts.composer.tooLarge(file.name), "bad");
    return null;
  }
  if (PICTURES.test(file.type)) {
    const address = await dataAddress(file);
    const block: ContentBlock = { type: "image", media_type: file.type, data: address.slice(address.indexOf(",") + 1) };
    return { name: file.name, block, picture: address };
  }
  const text = await file.text();
  if (text.includes("\0") || text.includes("\ufffd")) {
    tell(texts.composer.notText(file.name), "bad");
    return null;
  }
  return { name: file.name, picture: "", block: { type: "resource", uri: `file:///${encodeURIComponent(file.name)}`, name: file.name, media_type: file.type || "text/plain", text } };
}

function dataAddress(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error ?? new Error(file.name)));
    reader.readAsDataURL(file);
  });
}

export function toBlocks(text: string, files: readonly Attachment[]): ContentBlock[] {
  const said: ContentBlock[] = text ? [{ type: "text", text }] : [];
  return [...files.map((file) => file.block), ...said];
}

export function AttachmentList({ files, remove }: { files: readonly Attachment[]; remove: (place: number) => void }): JSX.Element | null {
  if (!files.length) return null;
  return (
    <ul class="attachments">
      {files.map((file, place) => (
        <li key={place}>
          {file.picture ? <img src={file.picture} alt="" /> : <Icon name="file" />}
          <span>{file.name}</span>
          <button type="button" class="button quiet small only-icon" aria-label={texts.composer.removeFile(file.name)} onClick={() => remove(place)}>
            <Icon name="close" size={12} />
          </button>
        </li>
      ))}
    </ul>
  );
}
