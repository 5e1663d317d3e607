import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Duration, Snowflake, Timestamp, text } from "../../../kernel/fields.ts";
import { discordPenalties, discordPunishments, effect, punishmentActions, type Use } from "../effects/inputs.ts";
import { DeleteMessages, deletionSeconds, deletionTime, onlyBansDelete, OptionalLength, Reason, ids, listOf } from "../requests/fields.ts";
import { asField, day, hour, kind, ofServers, ofUser, snowflake, user } from "./kind.ts";

const PunishmentPayload = z
  .object({
    user_id: Snowflake,
    reason: Reason,
    action: z.enum(punishmentActions),
    points: z.int().min(0).max(10).default(0),
    duration: OptionalLength,
    rules: z.array(text(1, 60)).max(20).default([]),
    case_reference: text(1, 60).optional(),
    demote_to: text(1, 60).optional(),
    discord: z
      .strictObject({
        action: z.enum(discordPenalties).default("none"),
        guild_ids: listOf(ids).default([]).meta({
          description: "The servers it applies in. What acts in Discord names them or says `everywhere`, unless only one server is served",
        }),
        everywhere: z.boolean().optional().meta({ description: "Whether it applies in every server that is served; then none is named" }),
        delete_messages: DeleteMessages.optional(),
      })
      .prefault({}),
    notify_subject: z.boolean().default(true),
    appeal_until: z.union([Timestamp, Duration]).default("P30D"),
  })
  .refine((payload) => payload.action !== "demotion" || payload.demote_to !== undefined, {
    path: ["demote_to"],
    message: say("workflows.a-demotion-names-the-role-it-leads"),
    params: { code: "required" },
  })
  .refine(({ discord }) => discord.everywhere !== true || discord.guild_ids.length === 0, {
    path: ["discord", "everywhere"],
    message: say("workflows.name-servers-or-say-everywhere-not-both"),
    params: { code: "conflicting_fields" },
  })
  .refine((payload) => !isInDiscord(payload.action) || [payload.action, "none"].includes(payload.discord.action), {
    path: ["discord", "action"],
    message: say("workflows.this-punishment-is-an-action-in-discord"),
    params: { code: "conflicting_fields" },
  })
  .refine(({ action, discord }) => discord.delete_messages === undefined || [action, discord.action].includes("ban"), {
    path: ["discord", "delete_messages"],
    message: onlyBansDelete,
    params: { code: "not_offered" },
  })
  .meta({ id: "PunishmentPayload" });

type Punishment = z.output<typeof PunishmentPayload>;

type DiscordPunishment = (typeof discordPunishments)[number];

function isInDiscord(action: string): action is DiscordPunishment {
  return discordPunishments.some((one) => one === action);
}

/** What the bot does in Discord: what the punishment is, or what it has besides. */
function measureOf({ action, discord }: Punishment) {
  return isInDiscord(action) ? action : discord.action;
}

/** Punishments that change how somebody stands on the staff, which is the same in every server. */
const staffMatters: ReadonlySet<string> = new Set<Punishment["action"]>([
  "probation",
  "suspension",
  "demotion",
  "termination",
  "blacklist_referral",
]);

/** What a punishment does besides its entry in a case. */
const penalties: Readonly<Record<Punishment["action"], (payload: Punishment) => readonly Use[]>> = {
  note: () => [],
  warning: () => [],
  strike: () => [],
  probation: ({ user_id: userId, duration: length }) => [effect("roster.probation", { userId, length })],
  suspension: ({ user_id: userId, duration: length }) => [
    effect("staff.suspend", { userId, length }),
    effect("roster.suspend", { userId, length }),
  ],
  demotion: ({ user_id: userId, demote_to: roleKey }) => [
    effect("roster.demote", { userId, roleKey: roleKey ?? null }),
    effect("discord.roles_remove", { userId, keptRoleKey: roleKey }),
    effect("discord.roles_add", { userId, roleKey: roleKey ?? "" }),
  ],
  termination: ({ user_id: userId }) => [
    effect("roster.terminate", { userId }),
    effect("callsign.hold", { userId }),
    effect("discord.roles_remove", { userId, keptRoleKey: undefined }),
  ],
  timeout: () => [],
  kick: () => [],
  ban: () => [],
  untimeout: () => [],
  unban: () => [],
  blacklist_referral: ({ user_id: userId, reason }) => [effect("draft.blacklist", { userId, reason })],
};

export const punishment = kind({
  label: "Punishment",
  summary: "Act on what a person did, from a note to a termination.",
  prefix: "PUN",
  payload: PunishmentPayload,
  classes: {
    user_id: "public",
    reason: "public",
    action: "public",
    points: "public",
    duration: "public",
    rules: "public",
    case_reference: "public",
    demote_to: "public",
    discord: "public",
    notify_subject: "public",
    appeal_until: "public",
  },
  aliases: {
    ...ofUser,
    punishment: "action",
    punishment_type: "action",
    server_ids: "discord.guild_ids",
    ...asField(ofServers, "discord.guild_ids"),
    everywhere: "discord.everywhere",
    "discord.server_ids": "discord.guild_ids",
    ...Object.fromEntries(Object.keys(ofServers).map((name) => [`discord.${name}`, "discord.guild_ids"])),
  },
  place: {
    servers: "discord.guild_ids",
    everywhere: "discord.everywhere",
    // Requests of earlier versions that act in Discord and name no server mean all of them, and so does `everywhere`.
    isEverywhere: (payload) => measureOf(payload) !== "none" && payload.discord.guild_ids.length === 0,
    isOursAlone: true,
    acts: (payload) => measureOf(payload) !== "none",
    unlimited: (payload) =>
      staffMatters.has(payload.action) && measureOf(payload) === "none"
        ? say("workflows.this-punishment-holds-in-every-server-leave")
        : undefined,
    example: ({ user_id, action, reason, discord }, serverId) => ({
      user_id,
      action,
      reason,
      ...(discord.action !== "none" && { discord: { action: discord.action } }),
      guild_ids: [serverId],
    }),
    fields: ["action", "discord"],
  },
  filing: {
    options: [
      { name: "user", field: "user_id" },
      "action",
      "points",
      "duration",
      "rules",
      "case_reference",
      { field: "demote_to", completes: "staff-role" },
      { name: "discord", field: "discord.action" },
      { name: "delete-messages", field: "discord.delete_messages", time: deletionTime },
      { name: "servers", field: "discord.guild_ids", completes: "served-server" },
      "notify_subject",
    ],
    form: ["reason", "summary", "evidence"],
  },
  approvals: { usual: 1, grave: 2 },
  isGrave: ({ action, duration }) => action === "termination" || duration === null,
  reversals: 1,
  clocks: { firstTouch: 12 * hour, decision: 72 * hour, expiry: 30 * day },
  coolDown: 0,
  subjects: ({ user_id }) => [user(user_id)],
  guilds(payload) {
    const { action, discord } = payload;
    if (action === "demotion" || action === "termination") return "every";
    if (measureOf(payload) === "none") return [];
    return discord.guild_ids.length === 0 ? "every" : discord.guild_ids;
  },
  title: ({ action }) => say("workflows.punishment", { action: String(action) }),
  effects: (payload) => {
    const { user_id: userId, action, points, reason, rules, duration: length, discord, appeal_until: appealUntil } = payload;
    const measure = measureOf(payload);
    const text = rules.length === 0 ? reason : `${reason}\nRules: ${rules.join(", ")}`;
    return [
      effect("case.append", { type: "punishment", subject: user(userId), text, caseKey: payload.case_reference }),
      effect("case.action", { userId, action, points, reason, length }),
      ...penalties[action](payload),
      // Told first: whom the bot has removed it can no longer write to.
      ...(payload.notify_subject
        ? [
            effect("notice.subject", {
              userId,
              action,
              points,
              length,
              appealUntil,
              roleKey: payload.demote_to,
              discordAction: measure,
              guildIds: discord.guild_ids,
            }),
          ]
        : []),
      ...(measure === "none"
        ? []
        : [
            effect("discord.punish", {
              userId,
              action: measure,
              guildIds: discord.guild_ids,
              length,
              deleteMessageSeconds: deletionSeconds(discord.delete_messages),
            }),
          ]),
      ...(measure === "ban" ? [effect("discord.ban_end", { length })] : []),
    ];
  },
  example: { user_id: snowflake, action: "strike", points: 1, reason: "Ignored the second warning about insults." },
});
