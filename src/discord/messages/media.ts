import type { MediaPart } from "../../kernel/message-parts.ts";
import type { Reading } from "./context.ts";
import { held, type Fields } from "./fields.ts";

/** A picture or a film of an embed or a component. Its bytes are fetched where Discord has a copy of its own. */
export function mediaPart({ files, isFetched }: Reading): (fields: Fields) => MediaPart | undefined {
  return (fields) => {
    const attachment = fields.id("attachment_id");
    const url = fields.text("url", 4000);
    const proxy = fields.text("proxy_url", 4000);
    const source = [url, proxy].find((one) => one !== undefined && isFetched(one));
    const known = attachment === undefined ? undefined : files.find(attachment);
    fields.pass("id", "placeholder", "placeholder_version");
    return held({
      url,
      ...picture(fields),
      attachment_id: attachment,
      file: known ?? (source === undefined ? undefined : files.add({ name: nameOf(url ?? source), bytes: 0, url: source }, fields.at)),
    });
  };
}

function picture(fields: Fields) {
  return {
    description: fields.text("description"),
    content_type: fields.text("content_type", 200),
    width: fields.number("width"),
    height: fields.number("height"),
    flags: fields.number("flags"),
  };
}

/** What a file is called by its address. */
function nameOf(url: string): string {
  const [path = ""] = url.split(/[?#]/);
  return path.split("/").at(-1) ?? "";
}
