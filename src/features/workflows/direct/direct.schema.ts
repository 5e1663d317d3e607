import { z } from "zod";
import { Duration, parseDuration, Snowflake, text, Timestamp } from "../../../kernel/fields.ts";
import { levels } from "../../../kernel/permissions.ts";
import { Evidence } from "../requests/fields.ts";
import { EffectView, WarningView } from "../requests/workflows.schema.ts";
import type { Lasting } from "./in-force.ts";
import { statuses } from "../state/table.ts";

/** What a moderator does to one person in one step. */
export const directActions = ["warning", "note", "timeout", "kick", "ban", "untimeout", "unban"] as const;
export type DirectAction = (typeof directActions)[number];

/** What a server can let a level do alone; whoever could have done it alone may take it back, too. */
export const directRules = ["warning", "note", "timeout", "kick", "ban"] as const;
export type DirectRuleName = (typeof directRules)[number];

interface ActionSpec {
  /** The rule of the server that covers it. */
  rule: DirectRuleName;
  /** Whether it lasts: `needed` has no default. */
  length: "needed" | "optional" | "none";
  hasPoints?: true;
  /** Whether the person is written to about it. */
  isAnnounced?: true;
  /** What it ends. */
  lifts?: Lasting;
}

/** Everything that differs between the actions. */
export const actionSpecs: Readonly<Record<DirectAction, ActionSpec>> = {
  warning: { rule: "warning", length: "optional", hasPoints: true, isAnnounced: true },
  note: { rule: "note", length: "none" },
  timeout: { rule: "timeout", length: "needed", isAnnounced: true },
  kick: { rule: "kick", length: "none", isAnnounced: true },
  ban: { rule: "ban", length: "optional", isAnnounced: true },
  untimeout: { rule: "timeout", length: "none", lifts: "timeout" },
  unban: { rule: "ban", length: "none", lifts: "ban" },
};

const maxTimeout = 28 * 86_400;

export const ModerateInput = z
  .strictObject({
    action: z.enum(directActions),
    user_id: Snowflake,
    reason: text(1, 1000).meta({
      description: "Why, in 10 characters or more, or the name of a reason template of the server. The person is told it",
    }),
    duration: Duration.nullable().optional().meta({
      description:
        "How long: needed for a timeout (28 days at most); of a ban, until the bot lifts it; of a warning, until it counts no longer. `null`: permanent, which needs as many approvals as everything grave",
    }),
    points: z.int().min(0).max(10).optional().meta({ description: "Of a warning: what it adds to the ledger of strikes; 0 unless told" }),
    notify_subject: z.boolean().optional().meta({ description: "Whether the person is written to; true unless told" }),
    evidence: z.array(Evidence).max(20).optional(),
    channel_id: Snowflake.optional().meta({ description: "Where in Discord it was done" }),
  })
  .superRefine(({ action, duration, points, notify_subject: isTold }, context) => {
    const { length, hasPoints = false, isAnnounced = false } = actionSpecs[action];
    const refuse = (field: string, code: string, message: string) =>
      context.addIssue({ code: "custom", path: [field], message, params: { code } });
    if (length === "none" && duration !== undefined) refuse("duration", "not_offered", "This has no length.");
    if (length === "needed" && typeof duration !== "string") refuse("duration", "required", "Say how long: 28 days at most.");
    if (action === "timeout" && (parseDuration(duration ?? "") ?? 0) > maxTimeout)
      refuse("duration", "too_long", "Discord times nobody out for longer than 28 days. Use a ban with a length instead.");
    if (points !== undefined && !hasPoints) refuse("points", "not_offered", "Only a warning carries points here.");
    if (isTold === true && !isAnnounced) refuse("notify_subject", "not_offered", "The person is not written to about this.");
  })
  .meta({ id: "ModerateInput" });
export type ModerateInput = z.input<typeof ModerateInput>;

/** Why something waits for others, though the caller may file it. */
export const waitReasons = ["not_set_up", "level", "length", "approvals", "rank", "conflict", "denied", "key", "others"] as const;
export type WaitReason = (typeof waitReasons)[number];

export const ModerationAnswer = z
  .object({
    success: z.literal(true),
    id: z.string(),
    reference: z.string().meta({ example: "PUN-REQ-000001" }),
    status: z.enum(statuses),
    direct: z.boolean().meta({ description: "It was decided at once. Otherwise it waits for somebody else" }),
    waits: z
      .object({ code: z.enum(waitReasons), detail: z.string() })
      .nullable()
      .meta({ description: "Why it waits; null: it is done" }),
    deciders: z.array(Snowflake).meta({ description: "Of what waits: up to three people who may decide it" }),
    approvals: z.object({ have: z.int(), required: z.int() }),
    warnings: z.array(WarningView),
    effects: z.array(EffectView).meta({ description: "What was done, or is left for the bot; empty while it waits" }),
  })
  .meta({ id: "Moderation", description: "What came of a moderation action" });
export type ModerationAnswer = z.infer<typeof ModerationAnswer>;

const DirectRule = z
  .strictObject({
    level: z.enum(levels).exclude(["none"]).meta({ description: "The lowest level that does it alone" }),
    max: Duration.optional().meta({ description: "The longest that is done alone; without it also what has no end" }),
  })
  .meta({ id: "DirectRule" });
export type DirectRule = z.output<typeof DirectRule>;

const rule = (description: string) => DirectRule.nullable().default(null).meta({ description });
const rules = {
  warning: rule("Warnings"),
  note: rule("Notes that only staff read"),
  timeout: rule("Timeouts, and lifting them"),
  kick: rule("Kicks"),
  ban: rule("Bans, and lifting them"),
} as const satisfies Record<DirectRuleName, unknown>;

export const DirectRules = z.strictObject(rules);
export type DirectRules = z.output<typeof DirectRules>;

export const PutDirectInput = DirectRules.superRefine((given, context) => {
  for (const name of ["note", "kick"] as const)
    if (given[name]?.max !== undefined)
      context.addIssue({ code: "custom", path: [name, "max"], message: "This has no length.", params: { code: "not_offered" } });
}).meta({ id: "PutDirectInput", description: "All rules of the server; what is left out or null is off" });
export type PutDirectInput = z.input<typeof PutDirectInput>;

const stored = { revision: z.int().positive(), updated_by: z.string().nullable(), updated_at: Timestamp.nullable() };

export const DirectView = z
  .object({ guild_id: Snowflake, ...rules, ...stored })
  .meta({ id: "DirectModeration", description: "What each level does alone in a server" });
export type DirectView = z.infer<typeof DirectView>;

export const ReasonTemplate = z
  .strictObject({
    name: text(1, 50).meta({ description: "What is typed instead of the text", example: "spam" }),
    text: text(10, 1000).meta({ example: "Advertising in several channels after being asked to stop." }),
  })
  .meta({ id: "ReasonTemplate" });
export type ReasonTemplate = z.output<typeof ReasonTemplate>;

export const ReasonTemplates = z.strictObject({ reasons: z.array(ReasonTemplate).max(25) });
export type ReasonTemplates = z.output<typeof ReasonTemplates>;

export const PutReasonsInput = ReasonTemplates.superRefine(({ reasons }, context) => {
  const names = reasons.map(({ name }) => nameKey(name));
  for (const [index, name] of names.entries())
    if (names.indexOf(name) !== index)
      context.addIssue({
        code: "custom",
        path: ["reasons", index, "name"],
        message: "Another reason has this name.",
        params: { code: "taken" },
      });
}).meta({ id: "PutReasonsInput", description: "All reason templates of the server" });
export type PutReasonsInput = z.input<typeof PutReasonsInput>;

export const ReasonsView = z
  .object({ guild_id: Snowflake, ...ReasonTemplates.shape, ...stored })
  .meta({ id: "ReasonTemplates", description: "Reasons that a server gives often" });
export type ReasonsView = z.infer<typeof ReasonsView>;

/** Names are compared without regard to case. */
export function nameKey(name: string): string {
  return name.trim().normalize("NFC").toLowerCase();
}
