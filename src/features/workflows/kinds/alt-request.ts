import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Duration, Snowflake, text, isAnonymous, notAnonymous } from "../../../kernel/fields.ts";
import { linkBases, linkConfidences, linkKinds } from "../../../kernel/vocabulary.ts";
import { effect } from "../effects/inputs.ts";
import { listOf, Reason } from "../requests/fields.ts";
import { day, kind, asField, ofUser, otherSnowflake, snowflake, user } from "./kind.ts";

const Basis = z.strictObject({
  type: z.enum(linkBases).default("other"),
  note: text(1, 2000).refine(isAnonymous, notAnonymous).optional().meta({ description: "Addresses, devices and fingerprints are refused" }),
});

const AltRequestPayload = z
  .object({
    user_ids: listOf(z.array(Snowflake).min(2).max(10)),
    primary_user_id: Snowflake.optional(),
    reason: Reason.optional(),
    kind: z.enum(linkKinds).default("suspected_evasion"),
    confidence: z.enum(linkConfidences),
    basis: z.array(Basis).max(20),
    propagate: z.preprocess(
      withoutCases,
      z.strictObject({ blacklist: z.boolean().default(false), matches: z.boolean().default(false) }).prefault({}),
    ),
    review_after: Duration.optional(),
  })
  .refine((payload) => new Set(payload.user_ids).size === payload.user_ids.length, {
    path: ["user_ids"],
    message: say("workflows.name-each-account-once"),
  })
  .meta({ id: "AltRequestPayload" });

/** Requests of old say of cases, too, whether they propagate. */
function withoutCases(given: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  return Object.fromEntries(Object.entries(given).filter(([name]) => name !== "cases"));
}

export const altRequest = kind({
  label: say("workflows.linked-accounts"),
  summary: "Say that accounts belong to one person.",
  prefix: "ALT",
  payload: AltRequestPayload,
  classes: {
    user_ids: "public",
    primary_user_id: "public",
    reason: "public",
    kind: "public",
    confidence: "public",
    basis: "public",
    propagate: "public",
    review_after: "public",
  },
  aliases: {
    ...asField(ofUser, "primary_user_id"),
    user_id: "primary_user_id",
    alt_user_ids: "user_ids",
    alt_ids: "user_ids",
    member_ids: "user_ids",
    discord_user_ids: "user_ids",
    accounts: "user_ids",
    alt_user_id: "user_ids",
    alt_id: "user_ids",
  },
  unsupported: {
    "propagate.cases": say("workflows.cases-of-confirmed-accounts-are-shown-together"),
  },
  anyway: { "propagate.cases": [false] },
  prepare: addPrimaryAccount,
  filing: {
    path: "alt",
    options: [
      { name: "user", field: ["user_ids", "primary_user_id"], as: "user", required: true },
      { name: "other", field: "user_ids", as: "user", required: true },
      "confidence",
      { name: "third", field: "user_ids", as: "user", required: false },
      { name: "fourth", field: "user_ids", as: "user", required: false },
      { name: "account-kind", field: "kind" },
      { name: "basis-kind", field: "basis.0.type" },
    ],
    form: [{ name: "basis", field: "basis.0.note" }, "reason", "summary", "evidence"],
  },
  approvals: { usual: 1, grave: 2 },
  isGrave: ({ confidence, propagate }) => confidence === "confirmed" && (propagate.matches || propagate.blacklist),
  reversals: 1,
  clocks: { firstTouch: day, decision: 7 * day, expiry: 30 * day },
  coolDown: 7 * day,
  subjects: ({ user_ids }) => user_ids.map(user),
  title: () => say("workflows.linked-accounts"),
  effects: ({ user_ids, primary_user_id, confidence, kind: what, basis, propagate, review_after }) => [
    effect("account_link.create", { user_ids, primary_user_id, confidence, kind: what, basis, propagate, review_after }),
  ],
  example: {
    user_ids: [snowflake, otherSnowflake],
    confidence: "suspected",
    basis: [{ type: "behaviour", note: "Same phrases, never online together." }],
  },
});

/** A primary account belongs to the accounts, whether or not the client repeats it there. */
function addPrimaryAccount(fields: Map<string, unknown>): void {
  const primary = fields.get("primary_user_id");
  const given = fields.get("user_ids");
  if (primary === undefined || given === undefined) return;
  const accounts: unknown[] = Array.isArray(given) ? given : [given];
  if (!accounts.includes(primary)) fields.set("user_ids", [...accounts, primary]);
}
