import { messageLimits, type StickerPart } from "../../kernel/message-parts.ts";
import type { Reading } from "./context.ts";
import { held, type Fields } from "./fields.ts";
import { userId } from "./small.ts";

/** Stickers of a message: Discord lists them with little, and sometimes a second time with more. */
export function stickerParts(reading: Reading, fields: Fields): StickerPart[] {
  const short = fields.objects("sticker_items", messageLimits.items, stickerPart);
  const long = fields.objects("stickers", messageLimits.items, stickerPart);
  const all = new Map<string, StickerPart>();
  for (const sticker of [...short, ...long]) {
    const key = sticker.id ?? `#${all.size.toString()}`;
    all.set(key, { ...all.get(key), ...sticker });
  }
  return [...all.values()].map((sticker) => withPicture(reading, sticker, fields.at));
}

function withPicture({ files, stickerUrl }: Reading, sticker: StickerPart, at: string): StickerPart {
  const url = sticker.id === undefined ? undefined : stickerUrl(sticker.id, sticker.format ?? 1);
  if (url === undefined) return sticker;
  const ending = url.split(".").at(-1) ?? "png";
  const file = files.add({ name: `${sticker.name ?? "sticker"}.${ending}`, bytes: 0, url }, `${at}/sticker_items`);
  return { ...sticker, ...(file !== undefined && { file }) };
}

function stickerPart(fields: Fields): StickerPart | undefined {
  fields.pass("available", "sort_value");
  return held<StickerPart>({
    id: fields.id("id"),
    name: fields.text("name", 200),
    description: fields.text("description", 1000),
    tags: fields.text("tags", 1000),
    type: fields.number("type"),
    format: fields.number("format_type"),
    pack_id: fields.id("pack_id"),
    guild_id: fields.id("guild_id"),
    uploaded_by: fields.object("user", userId),
  });
}
