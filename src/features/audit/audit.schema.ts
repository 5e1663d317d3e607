import { z } from "zod";
import { listQuery, redacted, Snowflake, Timestamp } from "../../kernel/fields.ts";

const text = z.string().min(1).max(200);

export const ListAuditQuery = z
  .strictObject({
    ...listQuery,
    actor: Snowflake.optional().meta({ description: "Who did it" }),
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
    outcome: z.enum(["ok", "denied", "failed"]).optional(),
    from: Timestamp.optional().meta({ description: "Not before this time" }),
    to: Timestamp.optional().meta({ description: "Before this time" }),
  })
  .meta({ id: "ListAuditQuery" });
export type ListAuditQuery = z.input<typeof ListAuditQuery>;

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
    checkpoints: z.int().nonnegative(),
    first_bad_seq: z.int().positive().optional(),
    kind: z
      .enum(["entry_changed", "entry_missing", "entry_inserted", "order_changed", "payload_changed"])
      .optional()
      .meta({ description: "What is wrong at first_bad_seq" }),
  })
  .meta({ id: "AuditVerification" });
export type AuditVerification = z.infer<typeof AuditVerification>;
