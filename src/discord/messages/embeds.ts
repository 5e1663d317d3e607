import { messageLimits, type EmbedPart } from "../../kernel/message-parts.ts";
import { componentParts } from "./components.ts";
import type { Reading } from "./context.ts";
import { held, type Fields } from "./fields.ts";
import { mediaPart } from "./media.ts";

/** An embed with all its parts. */
export function embedPart(reading: Reading): (fields: Fields) => EmbedPart | undefined {
  const media = mediaPart(reading);
  return (fields) =>
    held<EmbedPart>({
      type: fields.text("type", 100),
      url: fields.text("url", 4000),
      title: fields.text("title"),
      description: fields.text("description"),
      color: fields.number("color"),
      timestamp: fields.time("timestamp"),
      author: fields.object("author", (author) => {
        author.pass("proxy_icon_url");
        return held({ name: author.text("name"), url: author.text("url", 4000), icon_url: author.text("icon_url", 4000) });
      }),
      provider: fields.object("provider", (provider) => held({ name: provider.text("name"), url: provider.text("url", 4000) })),
      fields: fields.objects("fields", messageLimits.fields, (field) =>
        held({ name: field.text("name"), value: field.text("value"), inline: field.flag("inline") }),
      ),
      footer: fields.object("footer", (footer) => {
        footer.pass("proxy_icon_url");
        return held({ text: footer.text("text"), icon_url: footer.text("icon_url", 4000) });
      }),
      image: fields.object("image", media),
      thumbnail: fields.object("thumbnail", media),
      video: fields.object("video", media),
      flags: fields.number("flags"),
      components: componentParts(reading, fields),
    });
}
