import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { listQuery, Snowflake, text, Timestamp } from "../../../kernel/fields.ts";

export const repairPermission = "callsigns.repair";

/** Every kind of damage that is looked for. */
export const repairCodes = [
  "duplicate",
  "orphan_assignment",
  "roster_without_callsign",
  "callsign_without_roster",
  "nickname_mismatch",
  "out_of_range",
  "expired_reservation",
  "hold_over",
  "template_drift",
  "case_collision",
] as const;
export type RepairCode = (typeof repairCodes)[number];

export const severities = ["info", "warning", "error"] as const;
export const repairActions = ["end", "hold", "protect", "rename", "assign", "allocate", "set_nickname"] as const;
export type RepairAction = (typeof repairActions)[number];

const code = z.enum(repairCodes).meta({ id: "CallsignDamage", description: "What is wrong" });
const Hash = z.string().regex(/^[0-9a-f]{64}$/, say("callsigns.name-the-plan-of-a-dry-run"));

export const RepairInput = z
  .strictObject({
    pool: text(1, 64).optional().meta({ description: "The key of one pool; every pool unless told", example: "north" }),
    dry_run: z.boolean().default(true).meta({ description: "`false` carries out the plan whose `plan_hash` is sent along" }),
    fix: z.array(code).min(1).max(repairCodes.length).optional().meta({ description: "What is put right; everything unless told" }),
    plan_hash: Hash.optional().meta({ description: "Of the dry run; needed with `dry_run: false`" }),
  })
  .meta({ id: "RepairCallsignsInput" });
export type RepairInput = z.input<typeof RepairInput>;

const subject = {
  code,
  pool: z.string(),
  number: z.int().nullable(),
  callsign: z.string().nullable(),
  user_id: z.string().nullable(),
  detail: z.string(),
};

export const Finding = z.object({ ...subject, severity: z.enum(severities) }).meta({ id: "CallsignFinding" });
export type Finding = z.infer<typeof Finding>;

export const RepairStep = z
  .object({
    ...subject,
    position: z.int().meta({ description: "In which order it is done, the first being 1" }),
    action: z.enum(repairActions).meta({
      description:
        "`end` frees the number, `hold` lets it rest, `protect` has the database keep it to one holder, `rename` writes the callsign anew, `assign` gives what was reserved for or rested after somebody, `allocate` gives a free number",
    }),
    from: z.string().nullable(),
    to: z.string().nullable(),
    needs_discord: z.literal(true).optional().meta({ description: "The bot does it in Discord, after everything else" }),
  })
  .meta({ id: "CallsignRepairStep" });
export type RepairStep = z.infer<typeof RepairStep>;

export const Unfixable = z.object({ ...Finding.shape, why: z.string() }).meta({ id: "CallsignUnfixable" });
export type Unfixable = z.infer<typeof Unfixable>;

export const NicknameResult = z
  .object({
    user_id: z.string(),
    guild_id: z.string(),
    applied: z.boolean(),
    reason: z.string().nullable(),
  })
  .meta({ id: "CallsignNicknameResult" });
export type NicknameResult = z.infer<typeof NicknameResult>;

export const RepairView = z
  .object({
    dry_run: z.boolean(),
    plan_hash: z.string(),
    findings: z.array(Finding),
    plan: z.array(RepairStep),
    unfixable: z.array(Unfixable),
    not_looked_for: z
      .array(z.object({ code, why: z.string() }))
      .meta({ description: "What cannot be told now, such as who has left while the guild state is old" }),
    left_off: z
      .object({ findings: z.int(), steps: z.int() })
      .meta({ description: "How many further ones there are: repair these first, and ask again" }),
    applied: z.int().meta({ description: "How many steps of the plan were carried out" }),
    nicknames: z.array(NicknameResult).meta({ description: "What became of each nickname" }),
    undo_token: z.string().nullable().meta({ description: "The id of the repair: undone at `/callsigns/repair/{id}/undo`" }),
    undo_until: Timestamp.nullable(),
    summary: z.record(z.string(), z.int()).meta({ description: "How many findings there are of each code" }),
  })
  .meta({ id: "CallsignRepairPlan" });
export type RepairView = z.infer<typeof RepairView>;

export const UndoRepairInput = z.strictObject({ reason: text(1, 1000) }).meta({ id: "UndoCallsignRepairInput" });
export type UndoRepairInput = z.input<typeof UndoRepairInput>;

export const UndoneRepairView = z
  .object({
    id: z.string(),
    undone_at: Timestamp,
    restored: z.int().meta({ description: "How many slots stand again as before" }),
    left: z.array(z.object({ callsign: z.string(), why: z.string() })).meta({ description: "What stays as it is" }),
    nicknames: z.array(NicknameResult),
  })
  .meta({ id: "UndoneCallsignRepair" });
export type UndoneRepairView = z.infer<typeof UndoneRepairView>;

export const ListRepairsQuery = z.strictObject(listQuery).meta({ id: "CallsignRepairsQuery" });
export type ListRepairsQuery = z.input<typeof ListRepairsQuery>;

export const RepairRecordView = z
  .object({
    id: z.string(),
    pool: z.string().nullable(),
    at: Timestamp,
    actor_id: Snowflake.nullable(),
    counts: z.record(z.string(), z.int()).meta({ description: "How many steps were done for each code" }),
    undo_until: Timestamp,
    undone_at: Timestamp.nullable(),
    undone_by: Snowflake.nullable(),
  })
  .meta({ id: "CallsignRepair", description: "A repair that was carried out" });
export type RepairRecordView = z.infer<typeof RepairRecordView>;
