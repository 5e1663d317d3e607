import { say, term } from "../../../kit/say.ts";
import { z } from "zod";
import { Snowflake, Timestamp, text } from "../../../kernel/fields.ts";
import { agreementCovers } from "../../../kernel/vocabulary.ts";
import { effect, poachMethods, type Use } from "../effects/inputs.ts";
import { idsUpTo, listOf, Reason } from "../requests/fields.ts";
import { dateOf, day, kind, ofUser, otherSnowflake, server, snowflake, type Subject, user } from "./kind.ts";

const Kind = z.enum(["report", "agreement", "clearance"]);

const required = {
  report: ["offending_server_id", "victim_server_id", "occurred_at"],
  agreement: ["party_server_ids"],
  clearance: ["user_id", "from_server_id", "to_server_id"],
} as const;

const needed = (kind: keyof typeof required) => ({ description: `Needed when the kind is ${kind}` });

const Signature = z.strictObject({ user_id: Snowflake, at: Timestamp, evidence: text(1, 2000).optional() });

const PoachPayload = z
  .object({
    kind: Kind,
    reason: Reason.optional(),
    offender_user_ids: listOf(idsUpTo(20)).default([]),
    offending_server_id: Snowflake.optional().meta(needed("report")),
    victim_server_id: Snowflake.optional().meta(needed("report")),
    target_user_ids: idsUpTo(50).default([]),
    method: z.enum(poachMethods).default("other"),
    occurred_at: Timestamp.optional().meta(needed("report")),
    party_server_ids: z.array(Snowflake).min(2).max(10).optional().meta(needed("agreement")),
    covers: z.enum(agreementCovers).default("both"),
    cooling_off_days: z.int().min(0).max(365).default(30),
    starts_at: Timestamp.optional(),
    ends_at: Timestamp.optional(),
    terms: text(0, 4000).optional(),
    signatories: idsUpTo(20).default([]).meta({ description: "Who has to sign an agreement; it is not approved before all of them have" }),
    signatures: z.array(Signature).max(20).default([]).meta({ description: "Which of the signatories have signed" }),
    user_id: Snowflake.optional().meta(needed("clearance")),
    from_server_id: Snowflake.optional().meta(needed("clearance")),
    to_server_id: Snowflake.optional().meta(needed("clearance")),
    valid_until: Timestamp.optional(),
  })
  .superRefine(
    (payload, context) => {
      for (const field of required[payload.kind]) {
        if (payload[field] !== undefined) continue;
        const message = say("workflows.needed-for", { kind: term(payload.kind) });
        context.addIssue({ code: "custom", path: [field], message, params: { code: "required" } });
      }
    },
    // Beside other wrong fields too, so that one answer names them all.
    { when: ({ value }) => z.object({ kind: Kind }).safeParse(value).success },
  )
  .meta({ id: "PoachPayload" });

type Poach = z.output<typeof PoachPayload>;

const poachEffects: Readonly<Record<Poach["kind"], (payload: Poach) => readonly Use[]>> = {
  report: (payload) => {
    const serverId = payload.offending_server_id ?? "";
    return [
      effect("case.append", { type: "poach", subject: server(serverId), text: payload.reason }),
      effect("poach.incident", {
        serverId,
        victimServerId: payload.victim_server_id ?? "",
        offenderIds: payload.offender_user_ids,
        method: payload.method,
        occurredAt: dateOf(payload.occurred_at),
      }),
      effect("notice.owner", { serverId }),
    ];
  },
  agreement: ({ party_server_ids, covers, cooling_off_days, terms, starts_at, ends_at, signatories, signatures }) => [
    effect("agreement.create", {
      party_server_ids,
      covers,
      cooling_off_days,
      terms,
      starts_at,
      ends_at,
      unsigned: unsigned(signatories, signatures),
    }),
  ],
  clearance: (payload) => [
    effect("clearance.grant", {
      userId: payload.user_id ?? "",
      fromServerId: payload.from_server_id ?? "",
      toServerId: payload.to_server_id ?? "",
      validUntil: dateOf(payload.valid_until),
    }),
  ],
};

/** The signatories who have not signed; a request of old may have no signatures. */
function unsigned(signatories: readonly string[], signatures: Poach["signatures"] | undefined): string[] {
  return signatories.filter((id) => !(signatures ?? []).some((signature) => signature.user_id === id));
}

export const poach = kind({
  label: "Poaching",
  summary: "Report that staff were poached, agree not to, or clear a person to move.",
  prefix: "PCH",
  payload: PoachPayload,
  classes: {
    kind: "public",
    reason: "public",
    offender_user_ids: "public",
    offending_server_id: "public",
    victim_server_id: "public",
    target_user_ids: "public",
    method: "public",
    occurred_at: "public",
    party_server_ids: "public",
    covers: "public",
    cooling_off_days: "public",
    starts_at: "public",
    ends_at: "public",
    terms: "public",
    signatories: "public",
    signatures: "public",
    user_id: "public",
    from_server_id: "public",
    to_server_id: "public",
    valid_until: "public",
  },
  aliases: {
    ...ofUser,
    offender_ids: "offender_user_ids",
    offender_user_id: "offender_user_ids",
    server_id: "offending_server_id",
    guild_id: "offending_server_id",
    guild_ids: "party_server_ids",
    server_ids: "party_server_ids",
    offending_guild_id: "offending_server_id",
    victim_guild_id: "victim_server_id",
  },
  filing: {
    options: [
      "kind",
      { name: "offender", field: "offender_user_ids", as: "user" },
      { name: "offending-server", field: "offending_server_id" },
      { name: "victim-server", field: "victim_server_id" },
      { name: "occurred", field: "occurred_at", isPast: true },
      "method",
      { name: "parties", field: "party_server_ids", max: 250 },
      "covers",
      { name: "user", field: "user_id" },
      { name: "from-server", field: "from_server_id" },
      { name: "to-server", field: "to_server_id" },
    ],
    form: ["reason", "terms", "summary", "evidence"],
  },
  approvals: { usual: 1, grave: 2 },
  isGrave: ({ kind: what }) => what === "agreement",
  reversals: 1,
  clocks: { firstTouch: day, decision: 7 * day, expiry: 30 * day },
  coolDown: 7 * day,
  subjects: (payload) => poachSubjects(payload),
  // Whoever was approached bears witness; they do not judge what they say.
  conflicts: ({ target_user_ids }) => target_user_ids,
  title: ({ kind: what }) =>
    ({
      report: say("workflows.poaching-report"),
      agreement: say("workflows.no-poach-agreement"),
      clearance: say("workflows.poaching-clearance"),
    })[what],
  effects: (payload) => poachEffects[payload.kind](payload),
  example: {
    kind: "report",
    offending_server_id: snowflake,
    victim_server_id: otherSnowflake,
    occurred_at: "2026-11-20T10:00:00.000Z",
    method: "dm",
  },
});

function poachSubjects(payload: Poach): Subject[] {
  if (payload.kind === "agreement") return (payload.party_server_ids ?? []).map(server);
  if (payload.kind === "clearance") return [user(payload.user_id ?? "")];
  return [...payload.offender_user_ids.map(user), server(payload.offending_server_id ?? "")];
}
