import type { APIEmbed } from "discord.js";
import { cutText, isBlank } from "./cut-text.ts";

const limits = { embeds: 10, all: 6000, title: 256, description: 4096, fields: 25, name: 256, value: 1024, footer: 2048 } as const;
const nothing = "–";

interface FittedEmbeds {
  embeds: APIEmbed[];
  isCut: boolean;
}

/** Embeds as Discord takes them: each part within its limit, all together within 6,000 characters, what is empty left out. */
export function fitEmbeds(given: readonly APIEmbed[]): FittedEmbeds {
  let isCut = given.length > limits.embeds;
  let left: number = limits.all;
  const take = (text: string | undefined, most: number): string | undefined => {
    if (text === undefined || isBlank(text)) return undefined;
    const room = Math.min(most, left);
    if (text.length > room) isCut = true;
    if (room === 0) return undefined;
    const fitting = cutText(text, room);
    left -= fitting.length;
    return fitting;
  };

  const fieldsOf = (fields: NonNullable<APIEmbed["fields"]>): NonNullable<APIEmbed["fields"]> => {
    const fitting: NonNullable<APIEmbed["fields"]> = [];
    for (const { name, value, ...rest } of fields) {
      const isFull = fitting.length === limits.fields || left < limits.name + 2;
      if (isFull) isCut = true;
      else fitting.push({ ...rest, name: take(name, limits.name) ?? blank(), value: take(value, limits.value) ?? blank() });
    }
    return fitting;
  };

  const blank = (): string => {
    left -= nothing.length;
    return nothing;
  };

  const embedOf = ({ title, description, fields, footer, author, ...rest }: APIEmbed): APIEmbed => {
    const name = take(author?.name, limits.name);
    const head = take(title, limits.title);
    const foot = take(footer?.text, limits.footer);
    const text = take(description, limits.description);
    const facts = fieldsOf(fields ?? []);
    return {
      ...rest,
      ...(author !== undefined && name !== undefined && { author: { ...author, name } }),
      ...(head !== undefined && { title: head }),
      ...(text !== undefined && { description: text }),
      ...(facts.length > 0 && { fields: facts }),
      ...(footer !== undefined && foot !== undefined && { footer: { ...footer, text: foot } }),
    };
  };

  const embeds = given.slice(0, limits.embeds).map(embedOf).filter(isSeen);
  return { embeds, isCut };
}

function isSeen({ title, description, fields, footer, author, image, thumbnail }: APIEmbed): boolean {
  return [title, description, fields, footer, author, image, thumbnail].some((part) => part !== undefined);
}
