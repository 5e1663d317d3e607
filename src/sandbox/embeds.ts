import type { APIEmbed } from "discord-api-types/v10";
import { invalidForm } from "./errors.ts";

const mostEmbeds = 10;
const mostFields = 25;
/** Characters of all embeds of a message together. */
const mostText = 6000;

type Measured = readonly [path: string, text: string | undefined, most: number, isRequired: boolean];

/** Checks embeds as Discord does and fills in what it answers. */
export function readEmbeds(embeds: APIEmbed[]): APIEmbed[] {
  if (embeds.length > mostEmbeds) throw invalidForm("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
  let total = 0;
  for (const [index, embed] of embeds.entries()) {
    if ((embed.fields?.length ?? 0) > mostFields)
      throw invalidForm(`embeds.${index}.fields`, "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    for (const [path, text, most, isRequired] of textsOf(embed)) {
      const place = `embeds.${index}.${path}`;
      if (isRequired && !text?.trim()) throw invalidForm(place, "BASE_TYPE_REQUIRED", "This field is required");
      if ((text?.length ?? 0) > most) throw invalidForm(place, "BASE_TYPE_MAX_LENGTH", `Must be ${most} or fewer in length.`);
      total += text?.length ?? 0;
    }
    checkColour(embed.color, `embeds.${index}.color`);
  }
  if (total > mostText) throw invalidForm("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000");
  return embeds.map(presentEmbed);
}

const textsOf = (embed: APIEmbed): Measured[] => [
  ["title", embed.title, 256, false],
  ["description", embed.description, 4096, false],
  ["footer.text", embed.footer?.text, 2048, embed.footer !== undefined],
  ["author.name", embed.author?.name, 256, embed.author !== undefined],
  ...(embed.fields ?? []).flatMap(({ name, value }, index): Measured[] => [
    [`fields.${index}.name`, name, 256, true],
    [`fields.${index}.value`, value, 1024, true],
  ]),
];

function checkColour(color: number | undefined, at: string): void {
  if (color !== undefined && color !== null && !(Number.isInteger(color) && color >= 0 && color <= 0xffffff))
    throw invalidForm(at, "NUMBER_TYPE_MAX", "int value should be less than or equal to 16777215.");
}

const presentEmbed = (embed: APIEmbed): APIEmbed => ({
  ...embed,
  type: "rich" as NonNullable<APIEmbed["type"]>,
  ...(embed.fields && { fields: embed.fields.map((field) => ({ ...field, inline: field.inline ?? false })) }),
});
