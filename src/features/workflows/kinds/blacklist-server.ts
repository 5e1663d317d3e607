import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Duration, Snowflake, text } from "../../../kernel/fields.ts";
import { blacklistCategories, memberPolicies, severities } from "../../../kernel/vocabulary.ts";
import { effect } from "../effects/inputs.ts";
import { OptionalLength, Reason, ids, idsUpTo, onlyOf } from "../requests/fields.ts";
import { asField, day, hour, kind, listedClasses, listedConfidential, ofServers, recordOf, server, snowflake } from "./kind.ts";

const BlacklistServerPayload = z
  .object({
    server_id: onlyOf(Snowflake),
    reason: Reason,
    server_name: text(1, 100).optional(),
    owner_user_id: Snowflake.optional(),
    category: z.enum(blacklistCategories.server),
    severity: z.enum(severities),
    member_policy: z.enum(memberPolicies),
    grace_period: Duration.default("P7D").meta({ description: "How long members may take to leave" }),
    exempt_user_ids: ids.default([]),
    aliases: idsUpTo(20).default([]).meta({ description: "Other ids of the same server" }),
    duration: OptionalLength,
    review_after: Duration.default("P180D"),
  })
  .meta({ id: "BlacklistServerPayload" });

export const blacklistServer = kind({
  label: say("workflows.blacklist-a-server"),
  summary: "List a server, and say what becomes of its members.",
  prefix: "BLS",
  payload: BlacklistServerPayload,
  classes: {
    server_id: "public",
    reason: listedClasses.reason,
    server_name: "public",
    owner_user_id: "public",
    category: "public",
    severity: "public",
    member_policy: "public",
    grace_period: "public",
    exempt_user_ids: listedClasses.exempt_user_ids,
    aliases: "public",
    duration: "public",
    review_after: "public",
  },
  confidential: listedConfidential,
  aliases: {
    target_id: "server_id",
    target_server_id: "server_id",
    discord_server_id: "server_id",
    ...asField(ofServers, "server_id"),
    server_ids: "server_id",
    target_guild_id: "server_id",
    guild_name: "server_name",
    owner_id: "owner_user_id",
  },
  unsupported: {
    invite_codes: say("workflows.send-invites-as-evidence-the-register-of"),
    min_tenure: say("workflows.every-member-of-a-listed-server-is"),
  },
  filing: {
    options: [
      { name: "server", field: "server_id" },
      "category",
      "severity",
      "member_policy",
      "server_name",
      { name: "owner", field: "owner_user_id" },
      "duration",
    ],
    form: ["reason", "summary", "evidence"],
  },
  approvals: { usual: 2 },
  reversals: 2,
  clocks: { firstTouch: 12 * hour, decision: 72 * hour, expiry: 30 * day },
  coolDown: 14 * day,
  subjects: ({ server_id }) => [server(server_id)],
  conflicts: ({ owner_user_id }) => (owner_user_id === undefined ? [] : [owner_user_id]),
  title: ({ server_name }) =>
    server_name === undefined ? say("workflows.blacklist-a-server") : say("workflows.blacklist-the-server", { name: server_name }),
  effects: (payload) => {
    const serverIds = [...new Set([payload.server_id, ...payload.aliases])];
    return [
      effect("blacklist.create", {
        kind: "server",
        serverIds,
        name: payload.server_name,
        memberPolicy: payload.member_policy,
        gracePeriod: payload.grace_period,
        exemptUserIds: payload.exempt_user_ids,
        ...recordOf(payload),
        length: payload.duration,
      }),
      effect("matches.recompute", {}),
      effect("agreements.suspend", { serverIds }),
    ];
  },
  example: {
    server_id: snowflake,
    server_name: "Raid Central",
    category: "raiding",
    severity: "high",
    member_policy: "flag",
    reason: "Organises raids on our partners.",
  },
});
