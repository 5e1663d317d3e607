import type { APIEmbed } from "discord.js";
import { cutText, isBlank } from "../cut-text.ts";
import type { ReplyFile } from "../command.ts";

const limits = { embeds: 10, all: 6000, title: 256, description: 4096, fields: 25, name: 256, value: 1024, footer: 2048 } as const;
const nothing = "–";

interface FittedEmbeds {
  embeds: APIEmbed[];
  isCut: boolean;
}

/** Fits embeds into Discord's limits: of each part, and 6,000 characters for all; empty parts are left out. */
export function fitEmbeds(embeds: readonly APIEmbed[]): FittedEmbeds {
  let isCut = embeds.length > limits.embeds;
  let left: number = limits.all;
  const take = (text: string | undefined, limit: number): string | undefined => {
    if (text === undefined || isBlank(text)) return undefined;
    const space = Math.min(limit, left);
    if (text.length > space) isCut = true;
    if (space === 0) return undefined;
    const fitting = cutText(text, space);
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

  return { embeds: embeds.slice(0, limits.embeds).map(embedOf).filter(isSeen), isCut };
}

function isSeen({ title, description, fields, footer, author, image, thumbnail }: APIEmbed): boolean {
  return [title, description, fields, footer, author, image, thumbnail].some((part) => part !== undefined);
}

const fileLimits = { files: 10, bytes: 10 * 1024 * 1024, name: 100 } as const;

interface FittedFiles {
  files: { name: string; attachment: Buffer }[];
  /** The names of the files that do not fit. */
  missing: string[];
}

/** Fits files into the limits of a message: ten, of ten megabytes together. */
export function fitFiles(files: readonly ReplyFile[]): FittedFiles {
  const fitted: FittedFiles = { files: [], missing: [] };
  let left: number = fileLimits.bytes;
  for (const { name, content } of files) {
    const attachment = Buffer.from(content);
    const plain = nameOf(name);
    if (fitted.files.length === fileLimits.files || attachment.length > left) fitted.missing.push(plain);
    else {
      left -= attachment.length;
      fitted.files.push({ name: plain, attachment });
    }
  }
  return fitted;
}

/** The name without characters that mean something in a path; its extension stays. */
function nameOf(name: string): string {
  const plain = name.replaceAll(/[\p{Cc}\p{Cf}\p{Surrogate}/\\]/gu, "_");
  const ending = /\.[\w-]{1,10}$/.exec(plain)?.[0] ?? "";
  const stem = plain.slice(0, plain.length - ending.length).slice(0, fileLimits.name - ending.length);
  return `${stem.replace(/[\ud800-\udbff]$/, "") || "file"}${ending}`;
}
