import { z } from "zod";
import { listQuery, Snowflake, text, Timestamp, UserRef } from "../../kernel/fields.ts";
import { fills } from "./fill.ts";
import { passedReasons } from "./free.ts";
import { slotStates } from "./records.ts";

export const callsignLimits = {
  number: 999_999,
  /** The longest a pool writes: ten departments of 80 letters, each of which can be three in upper case. */
  callsign: 2400,
  pool: 60,
  role: 60,
  department: 80,
  reason: 500,
  numbers: 100,
  days: 3650,
} as const;

export const SlotNumber = z.int().min(0).max(callsignLimits.number);
const Reason = text(1, callsignLimits.reason).meta({ description: "Kept in the audit and in the history of the person" });
const Pool = text(1, callsignLimits.pool).meta({ description: "The key of a pool", example: "north" });
const Role = text(1, callsignLimits.role).meta({ description: "A staff role, for its part of the pool", example: "senior" });
const Fill = z.enum(fills).meta({
  description: "Which free number: the lowest, the one after the highest ever given (after the last the first again), or any of them",
});

export const CallsignParam = text(1, callsignLimits.callsign).meta({ description: "A callsign, in any case", example: "NORTH-007" });
export const CallsignQuery = z.object({
  pool: Pool.optional().meta({ description: "Needed where two pools have the callsign" }),
});
export type CallsignQuery = z.infer<typeof CallsignQuery>;

export const nextModes = ["allocate", "reserve", "preview"] as const;
export const NextInput = z
  .strictObject({
    pool: Pool.optional().meta({ description: "That of the role, else of the person's own staff roles, else the one made first" }),
    user_id: Snowflake.optional(),
    role_key: Role.optional(),
    prefer: z
      .union([SlotNumber, text(1, callsignLimits.callsign)])
      .optional()
      .meta({ description: "A number or a callsign they would like", example: 7 }),
    department: text(1, callsignLimits.department).optional().meta({ description: "In place of the pool's own" }),
    mode: z
      .enum(nextModes)
      .optional()
      .meta({ description: "`allocate` where a person is named and `reserve` otherwise, unless told; `preview` takes nothing" }),
    fill: Fill.default("lowest"),
    reservation_id: z.uuid().optional().meta({ description: "A reservation that becomes the callsign of the person" }),
    reason: Reason.optional(),
  })
  .meta({ id: "NextCallsignInput" });
export type NextInput = z.input<typeof NextInput>;
export type NextAsked = z.output<typeof NextInput>;

export const LookUpQuery = z.object({
  pool: Pool.optional(),
  role_key: Role.optional(),
  user_id: Snowflake.optional(),
  fill: Fill.default("lowest"),
});
export type LookUpQuery = z.input<typeof LookUpQuery>;

export const NextView = z
  .object({
    callsign: z.string().nullable(),
    number: z.int().nullable(),
    pool: z.string().nullable(),
    state: z.enum(["assigned", "reserved", "held", "free", "exhausted", "absent"]).meta({
      description:
        "`free`: nobody has it yet; `held`: it still rests after this person; `exhausted`: no number is left; `absent`: there is no such pool",
    }),
    user_id: Snowflake.nullable(),
    reservation_id: z.string().optional(),
    expires_at: Timestamp.optional().meta({ description: "Until when it is kept for them" }),
    reused: z.boolean().meta({ description: "They had it already" }),
    skipped: z
      .array(z.object({ number: z.int(), reason: z.enum(passedReasons) }))
      .meta({ description: "The first numbers that were passed over, at most 20" }),
    free: z.int().meta({ description: "How many numbers are left" }),
    capacity: z.int().optional().meta({ description: "How many numbers there are; only where none is left" }),
    advisory: z.literal(true).optional().meta({ description: "Nothing was taken: somebody else may get it first" }),
  })
  .meta({ id: "NextCallsign" });
export type NextView = z.infer<typeof NextView>;

export const SlotView = z
  .object({
    id: z.string().nullable(),
    pool: z.string().nullable(),
    number: z.int().nullable(),
    callsign: z.string(),
    state: z.enum(["free", "absent", ...slotStates]).meta({
      description: "`free`: nobody has it; `absent`: no pool has such a callsign; `ended`: somebody had it once",
    }),
    user: UserRef.nullable().meta({ description: "Who has it, or had it last" }),
    since: Timestamp.nullable(),
    until: Timestamp.nullable(),
    origin_reference: z.string().nullable().meta({ description: "The request it comes from" }),
    reserved_by: z.string().nullable(),
    revision: z.int().meta({ description: "0 where there is no record" }),
  })
  .meta({ id: "CallsignSlot" });
export type SlotView = z.infer<typeof SlotView>;

export const SlotsQuery = z
  .strictObject({
    ...listQuery,
    pool: Pool.optional(),
    state: z.enum(["reserved", "assigned", "held", "retired", "blocked"]).optional(),
    user_id: Snowflake.optional(),
    q: text(1, callsignLimits.callsign).optional().meta({ description: "What the callsign begins with" }),
    include_ended: z.enum(["true", "false"]).default("false").meta({ description: "`true` shows what was once, too" }),
  })
  .meta({ id: "CallsignsQuery" });
export type SlotsQuery = z.input<typeof SlotsQuery>;

export const ReleaseInput = z
  .strictObject({
    reason: Reason,
    rest_days: z
      .int()
      .min(0)
      .max(callsignLimits.days)
      .optional()
      .meta({ description: "How long the number rests; as its pool says unless told. 0 frees it at once and needs `callsigns.manage`" }),
  })
  .meta({ id: "ReleaseCallsignInput" });
export type ReleaseInput = z.infer<typeof ReleaseInput>;

export const TransferInput = z.strictObject({ user_id: Snowflake, reason: Reason }).meta({ id: "TransferCallsignInput" });
export type TransferInput = z.infer<typeof TransferInput>;

export const RetireInput = z.strictObject({ reason: Reason }).meta({ id: "RetireCallsignInput" });
export type RetireInput = z.infer<typeof RetireInput>;

export const BlockInput = z
  .strictObject({ pool: Pool, numbers: z.array(SlotNumber).min(1).max(callsignLimits.numbers), reason: Reason })
  .meta({ id: "BlockCallsignsInput" });
export type BlockInput = z.infer<typeof BlockInput>;

export const BlockView = z.object({ pool: z.string(), slots: z.array(SlotView) }).meta({ id: "BlockedCallsigns" });
export type BlockView = z.infer<typeof BlockView>;
