import { type CommonParts, messageLimits } from "../../kernel/message-parts.ts";
import type { Reading } from "./context.ts";
import { held, type Fields } from "./fields.ts";
import { applicationPart, userId } from "./small.ts";

type AttachmentPart = NonNullable<CommonParts["attachments"]>[number];

/** A file of a message. Its address is valid for a day only: its bytes are kept in its place. */
export function attachmentPart({ files }: Reading): (fields: Fields) => AttachmentPart | undefined {
  return (fields) => {
    const id = fields.id("id");
    const name = fields.text("filename", 1000);
    const bytes = fields.number("size");
    const url = fields.text("url", 4000);
    fields.pass("proxy_url", "placeholder", "placeholder_version");
    return held<AttachmentPart>({
      id,
      name,
      title: fields.text("title", 1000),
      description: fields.text("description"),
      content_type: fields.text("content_type", 200),
      bytes,
      width: fields.number("width"),
      height: fields.number("height"),
      duration_seconds: fields.number("duration_secs"),
      waveform: fields.text("waveform"),
      ephemeral: fields.flag("ephemeral"),
      flags: fields.number("flags"),
      clip_created_at: fields.time("clip_created_at"),
      clip_participants: fields.objects("clip_participants", messageLimits.items, userId),
      application: fields.object("application", applicationPart),
      file: files.add({ name: name ?? "file", bytes: bytes ?? 0, url: url ?? "" }, fields.at, id ?? url ?? fields.at),
    });
  };
}
