import { say } from "../../../kit/say.ts";
import { z } from "zod";
import type { TimeSpec } from "../../../commands/entry.ts";
import { Duration, parseDuration, Snowflake, ToldMessage, text } from "../../../kernel/fields.ts";

export const Reason = text(10, 2000).meta({ description: "Why, in 10 to 2,000 characters" });
/** Discord ids, at most so many. A second `.max()` on one list would not reach the document. */
export function idsUpTo(max: number) {
  return z.array(Snowflake).max(max);
}

export const ids = idsUpTo(100);

/** How long something is to last. */
export const OptionalLength = Duration.nullable().optional().meta({ description: "null: permanent" });

const maxDeletion = 7 * 86_400;
const noDeletion = "none";

/** How far back a ban deletes the messages of the person. */
export const DeleteMessages = z
  .string()
  .max(40)
  .refine(
    (length) => length === noDeletion || (parseDuration(length) ?? Infinity) <= maxDeletion,
    say("workflows.write-a-length-of-7-days-at"),
  )
  .meta({
    id: "DeleteMessages",
    description: "Of a ban: how far back the messages of the person in the server are deleted, 7 days at most; `none` by default",
    example: "P1D",
  });

/** How {@link DeleteMessages} is typed. */
export const deletionTime: TimeSpec = {
  kind: "length",
  canBeNone: true,
  usual: [
    ["hour", 1],
    ["hour", 6],
    ["day", 1],
    ["day", 3],
    ["day", 7],
  ],
  accepts: (length) => DeleteMessages.safeParse(length).success,
};

/** The refusal of it for anything but a ban. */
export const onlyBansDelete = say("workflows.only-a-ban-deletes-messages");

/** Seconds of {@link DeleteMessages}; 0 deletes nothing. */
export function deletionSeconds(length: string | undefined): number {
  return length === undefined ? 0 : (parseDuration(length) ?? 0);
}

/** A list for which a client may send its only entry bare. */
export function listOf<List extends z.ZodType>(list: List) {
  return z.preprocess((given) => (typeof given === "string" || typeof given === "number" ? [given] : given), list);
}

/** A value that a client may send as a list of one. */
export function onlyOf<One extends z.ZodType>(one: One) {
  return z.preprocess((given) => (Array.isArray(given) && given.length === 1 ? (given[0] as unknown) : given), one);
}

const address = text(1, 2000).regex(/^https?:\/\//, say("blacklist.only-http-and-https-addresses-are-kept"));

const EvidenceObject = z.strictObject({
  kind: z.enum(["message", "link", "text", "record"]).optional(),
  title: text(1, 200).optional(),
  note: text(1, 2000).optional(),
  url: address.optional(),
  record_ref: text(1, 100).optional(),
  message: ToldMessage.optional(),
});

/** A piece of evidence; a bare text is a link or a note. Addresses are kept as text and never fetched. */
export const Evidence = z
  .preprocess((item) => (typeof item === "string" ? evidenceOfText(item) : item), EvidenceObject)
  .meta({ id: "WorkflowEvidence" });

function evidenceOfText(item: string): object {
  return /^https?:\/\/\S+$/.test(item) ? { kind: "link", url: item } : { kind: "text", note: item };
}

export const priorities = ["low", "normal", "high", "critical"] as const;

/** The most pieces of evidence that stand in a request itself. */
export const maxEvidence = 100;

/** Where in Discord a request was filed. */
export const Origin = z
  .strictObject({ guild_id: Snowflake.optional(), channel_id: Snowflake, message_id: Snowflake.optional() })
  .meta({ id: "WorkflowOrigin", description: "Where in Discord it was filed" });

/** The server that a request was filed in; undefined when it was filed over HTTP without one. */
export function guildOf(origin: unknown): string | undefined {
  return Origin.safeParse(origin).data?.guild_id;
}

const RelatedReferences = z
  .array(text(1, 100))
  .max(20)
  .meta({ id: "RelatedReferences", description: "References of related requests and records" });
const OnDuplicate = z.enum(["refuse", "join"]).meta({
  id: "OnDuplicate",
  description: "When the same is open already: `refuse` it with its reference, or `join` it with the evidence",
});

/** What every kind of request takes besides its payload. */
export const CommonFields = z.object({
  title: text(3, 120).optional(),
  summary: text(0, 2000).optional(),
  priority: z.enum(priorities).default("normal"),
  urgent: z.boolean().default(false).meta({ description: "Divides the time limits by four" }),
  evidence: z.array(Evidence).max(20).default([]),
  related: RelatedReferences.default([]),
  external_id: text(1, 200).optional().meta({ description: "The client's own id of this request" }),
  origin: Origin.optional(),
  on_duplicate: OnDuplicate.default("refuse"),
});
export type CommonFields = z.output<typeof CommonFields>;
