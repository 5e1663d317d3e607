import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Duration, parseDuration, Snowflake, text, Timestamp } from "../../../kernel/fields.ts";
import { levels } from "../../../kernel/permissions.ts";
import { DeleteMessages, Evidence, onlyBansDelete } from "../requests/fields.ts";
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
/** The most people that one ban takes. */
export const maxBanned = 200;

export const ModerateInput = z
  .strictObject({
    action: z.enum(directActions),
    user_id: Snowflake.optional(),
    user_ids: z.array(Snowflake).min(1).max(maxBanned).optional().meta({
      description:
        "Of a ban, instead of `user_id`: several people, all of whom the acting person may ban, or it is refused. Each gets a request and a case",
    }),
    reason: text(1, 1000).meta({
      description: "Why, in 10 characters or more, or the name of a reason template of the server. The person is told it",
    }),
    duration: Duration.nullable().optional().meta({
      description:
        "How long: needed for a timeout (28 days at most); of a ban, until the bot lifts it; of a warning, until it counts no longer. `null`: permanent, which needs as many approvals as everything grave",
    }),
    points: z.int().min(0).max(10).optional().meta({ description: "Of a warning: what it adds to the ledger of strikes; 0 unless told" }),
    delete_messages: DeleteMessages.optional(),
    notify_subject: z
      .boolean()
      .optional()
      .meta({ description: "Whether the person is written to; by default one person is, several are not" }),
    evidence: z.array(Evidence).max(20).optional(),
    channel_id: Snowflake.optional().meta({ description: "Where in Discord it was done" }),
  })
  .superRefine(
    ({ action, user_id: userId, user_ids: userIds, duration, points, delete_messages: deletion, notify_subject: isTold }, context) => {
      const { length, hasPoints = false, isAnnounced = false } = actionSpecs[action];
      const refuse = (field: string, code: string, message: string) =>
        context.addIssue({ code: "custom", path: [field], message, params: { code } });
      if (userId === undefined && userIds === undefined) refuse("user_id", "required", say("workflows.say-who-it-is-about"));
      if (userId !== undefined && userIds !== undefined)
        refuse("user_ids", "conflicting_fields", say("workflows.send-user-id-for-one-person-or"));
      if (userIds !== undefined && action !== "ban") refuse("user_ids", "not_offered", say("workflows.only-a-ban-takes-several-people"));
      for (const [index, id] of (userIds ?? []).entries())
        if (userIds?.indexOf(id) !== index)
          context.addIssue({
            code: "custom",
            path: ["user_ids", index],
            message: say("workflows.this-person-is-named-twice"),
            params: { code: "repeated" },
          });
      if (length === "none" && duration !== undefined) refuse("duration", "not_offered", say("workflows.this-has-no-length"));
      if (length === "needed" && typeof duration !== "string")
        refuse("duration", "required", say("workflows.say-how-long-28-days-at-most"));
      if (action === "timeout" && (parseDuration(duration ?? "") ?? 0) > maxTimeout)
        refuse("duration", "too_long", say("workflows.discord-times-nobody-out-for-longer-than"));
      if (points !== undefined && !hasPoints) refuse("points", "not_offered", say("workflows.only-a-warning-carries-points-here"));
      if (deletion !== undefined && action !== "ban") refuse("delete_messages", "not_offered", onlyBansDelete);
      if (isTold === true && !isAnnounced) refuse("notify_subject", "not_offered", say("workflows.the-person-is-not-written-to-about"));
    },
  )
  .meta({ id: "ModerateInput" });
export type ModerateInput = z.input<typeof ModerateInput>;

/** Why something waits for others, though the caller may file it. */
export const waitReasons = ["not_set_up", "level", "length", "approvals", "rank", "conflict", "denied", "key", "others"] as const;
export type WaitReason = (typeof waitReasons)[number];

/** What its author takes back alone for a while. */
export const undoableActions = ["warning", "note", "timeout"] as const satisfies readonly DirectAction[];
export type UndoableAction = (typeof undoableActions)[number];

export const UndoInput = z
  .strictObject({
    reason: text(10, 1000).optional().meta({ description: "Why, in 10 characters or more; the person reads it if they were written to" }),
  })
  .meta({ id: "UndoInput" });
export type UndoInput = z.input<typeof UndoInput>;

const UndoRefusal = z.object({
  code: z.enum(["not_direct", "not_own", "action", "late", "built_on", "right"]),
  detail: z.string(),
});
export type UndoRefusal = z.infer<typeof UndoRefusal>;

export const UndoAnswer = z
  .object({
    success: z.literal(true),
    id: z.string(),
    reference: z.string().meta({ example: "PUN-REQ-000001" }),
    status: z.enum(statuses),
    undone: z.boolean().meta({ description: "It was taken back. Otherwise nothing was changed" }),
    refused: UndoRefusal.nullable().meta({ description: "Why it was not taken back; null: it was" }),
    deciders: z.array(Snowflake).meta({ description: "Of what was not taken back: up to three people who may reverse it" }),
    effects: z.array(EffectView).meta({ description: "What was done and how it stands now" }),
    replayed: z.literal(true).optional().meta({ description: "It was taken back before; nothing happened" }),
  })
  .meta({ id: "ModerationUndone", description: "What came of taking back one's own act" });
export type UndoAnswer = z.infer<typeof UndoAnswer>;

const Left = z.object({
  user_ids: z.array(Snowflake),
  code: z.string().meta({ example: "storage_busy" }),
  detail: z.string().meta({ description: "Why, in a sentence" }),
});
export type Left = z.infer<typeof Left>;

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
    undo_until: Timestamp.nullable().meta({ description: "Until when its author takes it back alone; null: not at all" }),
    warnings: z.array(WarningView),
    effects: z.array(EffectView).meta({
      description: "What was done, or is left for the bot; empty while it waits, and of several people, whose requests say it",
    }),
    requests: z
      .array(z.object({ user_id: Snowflake, id: z.string(), reference: z.string() }))
      .meta({ description: "The request about each person; `id` and `reference` are those of the first" }),
    left: Left.nullable().meta({
      description:
        "Of several people: the last ones of `user_ids`, where something went wrong on the way and nothing was done about them. The same request with the same `Idempotency-Key` goes on with them. null: nobody was left out",
    }),
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
      context.addIssue({
        code: "custom",
        path: [name, "max"],
        message: say("workflows.this-has-no-length"),
        params: { code: "not_offered" },
      });
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
        message: say("workflows.another-reason-has-this-name"),
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
