import type { VerbInput, Verbs } from "./verbs.ts";
import type { APIEmbed } from "discord.js";
import { escapeText } from "../discord/replies.ts";
import { isSnowflake } from "../kernel/fields.ts";
import type { CommandInput, Wording } from "./entry.ts";
import { picked, textIn } from "./input.ts";
import { labelOf, mentionOf } from "./show.ts";
import type { Translate } from "../kit/say.ts";
import { annotated } from "../operations/route.ts";
import type { Call } from "../kernel/call.ts";
import { ProblemError, problems } from "../kernel/errors.ts";
import type { Page } from "../kernel/page.ts";

const short = 40;
export const colours = { low: 0x5c8a5c, medium: 0xc9a227, high: 0xd9742b, critical: 0xc0392b, plain: 0x5865f2, over: 0x80848e } as const;

/** A fact of a card: the field it is labelled as, and what it says; left out where that is nothing. */
export type Fact = readonly [field: string, text: string | number | null | undefined];

/** A card of named facts. Texts of people are escaped already. What has no room comes as a file, as of every answer. */
export function card(title: string, facts: readonly Fact[], t: Translate, colour: number = colours.plain): APIEmbed {
  const fields = facts.flatMap(([field, told]) => {
    if (told === null || told === undefined || told === "") return [];
    const value = told.toString();
    return [{ name: labelOf(field, t), value, inline: value.length < short }];
  });
  return { title, color: colour, fields };
}

/** Somebody as a mention that alerts nobody; the service itself where nobody is named. */
export function personOf(id: string | null | undefined): string | undefined {
  if (id === null || id === undefined) return undefined;
  return mentionOf(id);
}

/** An id to be copied. What is none is a text. */
export function idText(id: string): string {
  return isSnowflake(id) ? `\`${id}\`` : escapeText(id);
}

/** Who or what a record is about: servers cannot be mentioned. */
export function subjectOf({ kind, id, name }: { kind: string; id: string; name?: string | null | undefined }): string {
  const named = name === null || name === undefined ? "" : ` ${escapeText(name)}`;
  if (!isSnowflake(id)) return `${escapeText(id)}${named}`;
  return kind === "user" ? `<@${id}>${named}` : `\`${id}\`${named}`;
}

/** Who a card is about, with the id to be copied, which a mention does not show. */
export function withId(kind: string, id: string, text: string): string {
  return kind === "user" && isSnowflake(id) ? `${text} \`${id}\`` : text;
}

/** Ids in a text, mentions included, each once. */
export function idsIn(text: string | undefined): string[] {
  return [...new Set((text ?? "").split(/[\s,;<@!>]+/).filter((word) => word !== ""))];
}

/** The id in what was typed; what holds none, or several, is refused as it stands. */
export function subjectIn(given: CommandInput): string | undefined {
  const typed = textIn(given, "subject");
  const ids = idsIn(typed);
  return ids.length === 1 ? ids[0] : typed;
}

/** What a verb answers; undefined where it refuses, for what is told only to those who may see it. */
export async function readOptional<View>(verbs: Verbs, operation: string, { call }: Pick<Wording, "call">, input: VerbInput) {
  return await unlessRefused(() => readView<View>(verbs, operation, call, input));
}

export type Query = NonNullable<VerbInput["query"]>;

/** Several of the given values as filters of a list. */
export function pickedQuery(given: CommandInput, ...names: readonly string[]): Query {
  return picked(given, ...names) as Query;
}

/** A number that was typed, or came with a button. */
export function numberIn(given: CommandInput, name: string): number | undefined {
  const text = textIn(given, name);
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text);
}

/** One view, read with the rights of the caller. @throws ProblemError as the route refuses */
export async function readView<View>(verbs: Verbs, operation: string, call: Call, input: VerbInput): Promise<View> {
  return annotated(await verbs.run(operation, call, input)).view as View;
}

/** What is read to be told beside something else: what this reader is refused, for whatever reason, is left out. */
export async function unlessRefused<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ProblemError) return undefined;
    throw error;
  }
}

/** A whole list, as far as the caller may see it; undefined: not at all. */
export async function listSeen<View>({ verbs, call }: { verbs: Verbs; call: Call }, operation: string, input: VerbInput = {}) {
  const query = { ...input.query, limit: 200 };
  return (await readVisible<Page<View>>(verbs, operation, call, { ...input, query }))?.data;
}

/** As `readView`; undefined where the caller may not see it. @throws ProblemError of what may be well a little later */
export async function readVisible<View>(verbs: Verbs, operation: string, call: Call, input: VerbInput): Promise<View | undefined> {
  try {
    return await readView<View>(verbs, operation, call, input);
  } catch (error) {
    if (error instanceof ProblemError && !("retryable" in problems[error.code])) return undefined;
    throw error;
  }
}
