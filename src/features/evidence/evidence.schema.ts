import { say } from "../../kit/say.ts";
import { z } from "zod";
import { MessageParts } from "../../kernel/message-parts.ts";
import { ListedLinkView } from "../../kernel/listed-by.ts";
import { anyCase, listQuery, Snowflake, snowflakeForm, text, Timestamp } from "../../kernel/fields.ts";
import { hostKinds } from "./hosts.ts";

export const evidenceKinds = ["file", "message", "link", "text", "record"] as const;
export const fileStatuses = ["stored", "missing", "too_large", "redacted"] as const;

/** How many pieces one record holds. */
export const maxPieces = 100;

const Title = text(1, 200).meta({ description: "What it is, in a few words" });
const Note = text(1, 10_000).meta({ description: "What it shows; of a text, the text itself" });
const Confidential = z
  .boolean()
  .default(false)
  .meta({ description: "Only for holders of the permission that the record's confidential parts need" });
const about = { title: Title.optional(), note: Note.optional(), confidential: Confidential };

const MessageAddress = z.strictObject({ channel_id: Snowflake, message_id: Snowflake });
const messageUrl = new RegExp(
  `^https://(?:(?:ptb|canary)\\.)?discord(?:app)?\\.com/channels/${snowflakeForm}/(${snowflakeForm})/(${snowflakeForm})$`,
);
const MessageUrl = z
  .string()
  .max(200)
  .regex(messageUrl, say("evidence.send-the-link-of-a-message-in"))
  .meta({ example: "https://discord.com/channels/80351110224678900/80351110224678901/80351110224678902" });

const FileInput = z.strictObject({ kind: z.literal("file"), ...about });
const LinkInput = z.strictObject({
  kind: z.literal("link"),
  ...about,
  url: text(1, 2000)
    .regex(anyCase(/^https?:\/\/[^\s]+$/), say("blacklist.only-http-and-https-addresses-are-kept"))
    .meta({ description: "Kept as text and never fetched" }),
});
const TextInput = z.strictObject({ kind: z.literal("text"), ...about, note: Note });
const RecordInput = z.strictObject({
  kind: z.literal("record"),
  ...about,
  record_ref: text(1, 100).meta({ description: "What the other record is called, such as `CASE-000123`", example: "CASE-000123" }),
});
const MessageInput = z
  .strictObject({ kind: z.literal("message"), ...about, message: MessageAddress.optional(), message_url: MessageUrl.optional() })
  .refine(({ message, message_url: url }) => (message === undefined) !== (url === undefined), {
    path: ["message"],
    message: say("evidence.name-the-message-by-message-or-by"),
  });

export const AddEvidenceInput = z
  .discriminatedUnion("kind", [FileInput, LinkInput, TextInput, RecordInput, MessageInput])
  .meta({ id: "AddEvidence", description: "One piece of evidence; a `file` is sent as `multipart/form-data`" });
export type AddEvidenceInput = z.input<typeof AddEvidenceInput>;
export type ParsedEvidence = z.output<typeof AddEvidenceInput>;

/** The text fields beside an uploaded file. */
export const UploadFields = z.strictObject({
  kind: z.literal("file").default("file"),
  title: z.string().optional(),
  note: z.string().optional(),
  confidential: z
    .enum(["true", "false"])
    .transform((value) => value === "true")
    .optional(),
});

/** The channel and message a link of Discord names. */
export function messageOfUrl(url: string): { channel_id: string; message_id: string } {
  const [, channel = "", message = ""] = messageUrl.exec(url) ?? [];
  return { channel_id: channel, message_id: message };
}

export const RedactEvidenceInput = z
  .strictObject({ reason: text(3, 1000).meta({ description: "Why the content goes; it is kept" }) })
  .meta({ id: "RedactEvidence" });
export type RedactEvidenceInput = z.input<typeof RedactEvidenceInput>;

export const ListEvidenceQuery = z.strictObject(listQuery);
export type ListEvidenceQuery = z.output<typeof ListEvidenceQuery>;

const FilePart = z
  .object({
    position: z.int().meta({ description: "Names the file in `/evidence/{id}/files/{position}`" }),
    name: z.string().nullable().meta({ description: "As its sender called it; null once redacted" }),
    mime: z.string().meta({ description: "What its bytes look like, whatever its sender said" }),
    bytes: z.int(),
    sha256: z.string().nullable().meta({ description: "Null for a file that could not be kept, and once redacted" }),
    status: z.enum(fileStatuses),
  })
  .meta({ id: "EvidenceFile" });
export type FilePart = z.infer<typeof FilePart>;

const MessagePart = z
  .object({
    guild_id: Snowflake,
    channel_id: Snowflake,
    message_id: Snowflake,
    author_id: Snowflake,
    content: z.string().nullable().meta({ description: "Null once redacted" }),
    sent_at: Timestamp,
    edited_at: Timestamp.nullable(),
    text: z.string().nullable().meta({
      description: "Everything the message showed, in words: its text, what was forwarded, embeds, polls and the rest; null once redacted",
    }),
    parts: MessageParts.nullable().meta({ description: "Null once redacted, and of messages that an earlier version kept" }),
    attachments: z.array(FilePart).meta({
      description:
        "Files of the message and of the messages in it, pictures of stickers and of embeds; `file` in `parts` is a position here",
    }),
  })
  .meta({ id: "EvidenceMessage" });

export const EvidenceView = z
  .object({
    id: z.string(),
    kind: z.enum(evidenceKinds),
    record: z.object({ kind: z.enum(hostKinds), id: z.string(), reference: z.string() }).meta({ description: "What it belongs to" }),
    title: z.string().nullable(),
    note: z.string().nullable(),
    url: z.string().nullable(),
    record_ref: z.string().nullable(),
    file: FilePart.nullable(),
    message: MessagePart.nullable(),
    sha256: z.string().nullable().meta({ description: "Of its content as it is stored now; null once redacted" }),
    salt: z.string().nullable().meta({ description: "Key of `commitment`, as base64url; null once redacted" }),
    commitment: z.string().nullable().meta({
      description: "HMAC-SHA-256 of `sha256` under `salt`, as base64url, from when it was captured; it stays when the content is redacted",
    }),
    captured_at: Timestamp,
    captured_by: Snowflake.nullable(),
    verified: z.boolean().meta({ description: "Whether the service itself fetched the message from Discord" }),
    visibility: z.enum(["staff", "confidential"]),
    redacted_at: Timestamp.nullable(),
    redacted_by: Snowflake.nullable(),
    redact_reason: z.string().nullable(),
    revision: z.int(),
    listed_links: z.array(ListedLinkView).optional().meta({
      description:
        "Invites and domains in its title, note and address that followed lists name, an entry about a domain standing for all below it; for holders of lists.read, where lists are followed",
    }),
  })
  .meta({ id: "Evidence", description: "What a record rests on" });
export type EvidenceView = z.infer<typeof EvidenceView>;
