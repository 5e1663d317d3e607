import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Duration, Snowflake } from "../../../kernel/fields.ts";
import { altChoices, blacklistCategories, recommendedActions, severities } from "../../../kernel/vocabulary.ts";
import { effect } from "../effects/inputs.ts";
import { OptionalLength, Reason, ids, listOf } from "../requests/fields.ts";
import { day, hour, kind, listedClasses, listedConfidential, ofServers, ofUser, recordOf, snowflake, user } from "./kind.ts";

/** How long somebody whose account was taken over is listed, unless the request says otherwise. */
const compromisedLength = "P30D";

const BlacklistUserPayload = z
  .object({
    user_id: Snowflake,
    reason: Reason,
    category: z.enum(blacklistCategories.user),
    severity: z.enum(severities),
    scope: z.preprocess((given) => (given === true ? "network" : given), z.enum(["network", "servers"])),
    server_ids: listOf(ids).default([]).meta({ description: "Where the record counts: servers that the bot serves or the register knows" }),
    recommended_action: z.enum(recommendedActions).optional(),
    duration: OptionalLength,
    review_after: Duration.default("P180D"),
    include_alts: z.enum(altChoices).default("confirmed"),
    compromised_account: z.boolean().default(false),
  })
  .refine((payload) => payload.scope === "network" || payload.server_ids.length > 0, {
    path: ["server_ids"],
    message: say("blacklist.name-the-servers-of-the-scope"),
  })
  .refine((payload) => payload.scope === "servers" || payload.server_ids.length === 0, {
    path: ["server_ids"],
    message: say("workflows.the-scope-is-the-whole-network-leave"),
    params: { code: "conflicting_fields" },
  })
  .meta({ id: "BlacklistUserPayload" });

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

export const blacklistUser = kind({
  label: say("workflows.blacklist-a-user"),
  summary: "List a user on the network or on some servers.",
  prefix: "BLU",
  payload: BlacklistUserPayload,
  classes: {
    user_id: "public",
    reason: listedClasses.reason,
    category: "public",
    severity: "public",
    scope: "public",
    server_ids: "public",
    recommended_action: "public",
    duration: "public",
    review_after: "public",
    include_alts: "public",
    compromised_account: "public",
  },
  confidential: listedConfidential,
  assumed: { scope: ({ server_ids: chosen }) => (chosen === undefined || isEmptyList(chosen) ? "network" : "servers") },
  aliases: { ...ofUser, ...ofServers, everywhere: "scope" },
  place: {
    servers: "server_ids",
    everywhere: "scope",
    isEverywhere: ({ scope }) => scope === "network",
    fields: ["scope", "server_ids"],
  },
  filing: {
    options: [
      { name: "user", field: "user_id" },
      "category",
      "severity",
      "scope",
      { name: "servers", field: "server_ids", completes: "served-server" },
      "recommended_action",
      "duration",
    ],
    form: ["reason", "summary", "evidence"],
  },
  approvals: { usual: 1, grave: 2 },
  isGrave: ({ scope, severity }) => scope === "network" || severity === "critical",
  reversals: 2,
  clocks: { firstTouch: 6 * hour, decision: 48 * hour, expiry: 30 * day },
  coolDown: 14 * day,
  subjects: ({ user_id }) => [user(user_id)],
  title: () => say("workflows.blacklist-a-user"),
  effects: (payload) => {
    const { user_id: userId, severity } = payload;
    const isCompromised = payload.category === "compromised" || payload.compromised_account;
    const length = payload.duration === undefined && isCompromised ? compromisedLength : payload.duration;
    return [
      effect("blacklist.create", {
        kind: "user",
        userId,
        scope: payload.scope,
        serverIds: payload.server_ids,
        recommendedAction: payload.recommended_action,
        includeAlts: payload.include_alts,
        ...recordOf(payload),
        length,
      }),
      // Its readers are others than those of the reason, which stands in the record.
      effect("case.append", { type: "blacklist", subject: user(userId), text: "" }),
      effect("matches.recompute", {}),
      effect("recruitment.hold", { userId }),
      ...(severity === "high" || severity === "critical" ? [effect("roster.suspend", { userId, length })] : []),
    ];
  },
  example: { user_id: snowflake, category: "raid", severity: "high", reason: "Led the raid of last night." },
});
