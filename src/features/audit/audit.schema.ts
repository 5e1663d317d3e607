import { say } from "../../kit/say.ts";
import { z } from "zod";
import { listQuery, redacted, Snowflake, Timestamp, wholeNumber } from "../../kernel/fields.ts";

const text = z.string().min(1).max(200);

/** To count what a text is in, every entry would have to be read. */
const canCount = ({ q, count }: { q?: string | undefined; count?: string | undefined }): boolean => q === undefined || count !== "true";
const notCounted = { path: ["count"], error: say("audit.what-is-searched-by-text-cannot-be") };

const search = {
  action: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .meta({ description: "One action or several, separated by commas", example: "staff_role.update,staff_role.create" }),
  action_prefix: text.optional().meta({ description: "The start of the action", example: "blacklist." }),
  target: text.optional().meta({ description: "`kind:id`, or the id or reference alone", example: "BLU-REQ-000001" }),
  subject: Snowflake.optional().meta({ description: "The person it was done to" }),
  client: text.optional().meta({ description: "Id of the API key" }),
  via: z.enum(["rest", "slash", "job", "cli", "web"]).optional(),
  outcome: z
    .enum(["ok", "denied", "failed"])
    .optional()
    .meta({ description: "denied: a refused attempt; failed: what was to be done and came to nothing, such as a message of the bot" }),
  request_id: text.optional().meta({ description: "The request it was done in" }),
  from: Timestamp.optional().meta({ description: "Not before this time" }),
  to: Timestamp.optional().meta({ description: "Before this time" }),
  q: z.string().trim().min(2).max(200).optional().meta({
    description: "Text in the action, the target or the reason. A page looks at 20,000 entries at most; the cursor goes on from there",
  }),
};
const actor = Snowflake.optional().meta({ description: "Who did it" });

export const ExportAuditQuery = z.strictObject({ actor, ...search }).meta({ id: "ExportAuditQuery" });
export type ExportAuditQuery = z.input<typeof ExportAuditQuery>;

export const ListOwnAuditQuery = z
  .strictObject({ ...listQuery, ...search })
  .refine(canCount, notCounted)
  .meta({ id: "ListOwnAuditQuery" });
export type ListOwnAuditQuery = z.input<typeof ListOwnAuditQuery>;

export const ListAuditQuery = z
  .strictObject({ ...listQuery, actor, ...search })
  .refine(canCount, notCounted)
  .meta({ id: "ListAuditQuery" });
export type ListAuditQuery = z.input<typeof ListAuditQuery>;

/** The filters of a list, an export or the own entries, as they were parsed. */
export type AuditFilters = z.output<typeof ExportAuditQuery>;

export const AuditView = z
  .object({
    seq: z.int().positive().meta({ description: "Position in the chain; without gaps" }),
    id: z.string(),
    at: Timestamp,
    action: z.string().meta({ description: "`entity.verb`", example: "blacklist.create" }),
    outcome: z.string(),
    actor: z.object({ id: z.string() }).nullable(),
    client: z.object({ id: z.string() }).nullable(),
    via: z.string(),
    target: z.object({ kind: z.string(), id: z.string(), reference: z.string().nullable() }).nullable(),
    subject_user_id: z.string().nullable(),
    guild_id: z.string().nullable(),
    request_id: z.string(),
    permission_used: z.string().nullable(),
    break_glass: z.boolean(),
    reason: z.string().nullable().optional().meta({ description: "Absent once its details were erased" }),
    before: z.unknown().optional(),
    after: z.unknown().optional(),
    prev_hash: z.string(),
    hash: z.string(),
    redacted,
  })
  .meta({ id: "AuditEntry", description: "One entry of the hash chain" });
export type AuditView = z.infer<typeof AuditView>;

export const AuditVerification = z
  .object({
    ok: z.boolean(),
    entries: z.int().nonnegative().meta({ description: "Entries found good" }),
    checkpoints: z.int().nonnegative().meta({ description: "Signed positions that the chain agrees with" }),
    first_bad_seq: z.int().positive().optional(),
    kind: z
      .enum([
        "entry_changed",
        "entry_missing",
        "entry_inserted",
        "order_changed",
        "payload_changed",
        "details_missing",
        "checkpoint_mismatch",
        "checkpoint_forged",
        "tail_missing",
      ])
      .optional()
      .meta({ description: "What is wrong at first_bad_seq" }),
    checkpoint_warnings: z
      .array(
        z.object({
          kind: z.enum(["other_key", "other_installation", "unreadable_line", "newer_than_copy", "restored"]),
          count: z.int().positive().meta({ description: "Lines of the file" }),
        }),
      )
      .optional()
      .meta({ description: "Signed positions that prove less than they should, or nothing" }),
  })
  .meta({ id: "AuditVerification" });
export type AuditVerification = z.infer<typeof AuditVerification>;

const position = wholeNumber(1, 2_147_483_647);

export const VerifyAuditQuery = z
  .strictObject({
    from: position.optional().meta({ description: "The first position to look at; the first of the chain unless told", example: 1 }),
    to: position.optional().meta({ description: "The last position to look at; the last of the chain unless told", example: 1000 }),
  })
  .refine(({ from = 1, to }) => to === undefined || from <= to, {
    path: ["to"],
    message: say("audit.it-lies-before-from-there-is-nothing"),
  })
  .meta({ id: "VerifyAuditQuery" });
export type VerifyAuditQuery = z.input<typeof VerifyAuditQuery>;

export const CheckpointView = z
  .object({
    checkpoint: z
      .object({
        v: z.int(),
        origin: z.string().meta({ description: "The id of the installation" }),
        seq: z.int().positive(),
        hash: z.string().meta({ description: "The hash of the entry at seq" }),
        at: Timestamp,
        key: z.string().meta({ description: "The id of the key" }),
        restored: z
          .object({ from: z.int().positive(), reason: z.string() })
          .optional()
          .meta({ description: "A backup was put back: earlier lines beyond `seq` no longer count; `from` is the newest of them" }),
        sig: z.string().meta({ description: "Ed25519 over the JSON of the other members with sorted keys, as base64url" }),
      })
      .nullable()
      .meta({ description: "The youngest line of the file; null before the first" }),
    key: z.object({ id: z.string(), public_key: z.string().meta({ description: "32 bytes as base64url" }) }),
  })
  .meta({ id: "AuditCheckpoint", description: "The youngest signed position of the chain, and the key that proves it" });
export type CheckpointView = z.infer<typeof CheckpointView>;

export const AuditLines = z.string().meta({ description: "A JSON object per line: a head, the entries, and an end with their number" });

/** What a page says about a search that looked only so far. */
export const AuditNotes = z.object({
  examined: z.int().nonnegative().optional().meta({
    description:
      "How many positions of the chain were looked at for this page: always with `q`, and where the page ended before it was full",
  }),
  examined_to: z
    .int()
    .positive()
    .optional()
    .meta({ description: "The position the search has come to, where it has not come to the end; the cursor goes on from there" }),
});
