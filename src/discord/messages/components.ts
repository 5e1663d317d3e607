import { ComponentType } from "discord-api-types/v10";
import { messageLimits, type ComponentPart, type MediaPart } from "../../kernel/message-parts.ts";
import type { Reading } from "./context.ts";
import { held, note, type Fields } from "./fields.ts";
import { mediaPart } from "./media.ts";
import { emojiPart } from "./small.ts";
import { kindOf } from "./kinds.ts";

/** Fields under which a component has others, in the order of reading. */
const nested = ["components", "component", "accessory"] as const;

/** All components under a field of a message or an embed, in the order of reading. */
export function componentParts(reading: Reading, fields: Fields, name = "components"): ComponentPart[] {
  const found: ComponentPart[] = [];
  const counter = { left: messageLimits.components };
  collect(reading, fields, name, { found, counter, depth: 0 });
  return found;
}

interface Collecting {
  found: ComponentPart[];
  counter: { left: number };
  depth: number;
}

function collect(reading: Reading, fields: Fields, name: string, { found, counter, depth }: Collecting): void {
  fields.objects(name, messageLimits.items, (inner) => {
    addOne(reading, inner, { found, counter, depth });
    return undefined;
  });
}

function addOne(reading: Reading, fields: Fields, { found, counter, depth }: Collecting): void {
  if (counter.left === 0 || depth > messageLimits.depth) {
    note(reading.budget, fields.at, "cut");
    fields.pass(...fields.names());
    return;
  }
  counter.left -= 1;
  found.push({ ...componentPart(reading, fields), depth });
  for (const name of nested) {
    if (!fields.has(name)) continue;
    if (name === "components") collect(reading, fields, name, { found, counter, depth: depth + 1 });
    else fields.object(name, (inner) => addOne(reading, inner, { found, counter, depth: depth + 1 }));
  }
}

function componentPart(reading: Reading, fields: Fields): ComponentPart {
  const media = mediaPart(reading);
  const items = fields.objects("items", messageLimits.items, (item) =>
    held<MediaPart>({ ...item.object("media", media), description: item.text("description"), spoiler: item.flag("spoiler") }),
  );
  const single = [fields.object("media", media), fields.object("file", media)].filter((one) => one !== undefined);
  return (
    held<ComponentPart>({
      kind: kindOf(ComponentType, fields.whole("type")),
      id: fields.number("id"),
      text: fields.text("content"),
      label: fields.text("label", 1000),
      name: fields.text("name", 1000),
      description: fields.text("description"),
      placeholder: fields.text("placeholder", 1000),
      value: fields.text("value"),
      url: fields.text("url", 4000),
      custom_id: fields.text("custom_id", 1000),
      sku_id: fields.id("sku_id"),
      style: fields.number("style"),
      emoji: fields.object("emoji", emojiPart),
      options: fields.objects("options", messageLimits.options, optionPart),
      default_values: fields.objects("default_values", messageLimits.items, (one) =>
        held({ type: one.text("type", 40), id: one.id("id") }),
      ),
      channel_types: fields.numbers("channel_types"),
      min_values: fields.number("min_values"),
      max_values: fields.number("max_values"),
      min_length: fields.number("min_length"),
      max_length: fields.number("max_length"),
      required: fields.flag("required"),
      disabled: fields.flag("disabled"),
      spoiler: fields.flag("spoiler"),
      divider: fields.flag("divider"),
      spacing: fields.number("spacing"),
      accent_color: fields.number("accent_color"),
      bytes: fields.number("size"),
      media: [...items, ...single],
    }) ?? {}
  );
}

const optionPart = (option: Fields) =>
  held({
    label: option.text("label", 1000),
    value: option.text("value", 1000),
    description: option.text("description", 1000),
    emoji: option.object("emoji", emojiPart),
    default: option.flag("default"),
  });
