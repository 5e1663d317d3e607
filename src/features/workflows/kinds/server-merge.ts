import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Snowflake, Timestamp, text } from "../../../kernel/fields.ts";
import { callsignPolicies, effect } from "../effects/inputs.ts";
import { Reason } from "../requests/fields.ts";
import { day, hour, kind, otherSnowflake, server, snowflake } from "./kind.ts";

const ServerMergePayload = z
  .object({
    source_server_id: Snowflake,
    target_server_id: Snowflake,
    reason: Reason.optional(),
    owner_consents: z
      .array(z.strictObject({ server_id: Snowflake, user_id: Snowflake, at: Timestamp, evidence: text(1, 2000).optional() }))
      .max(4)
      .default([]),
    staff_plan: z
      .array(z.strictObject({ user_id: Snowflake, from_role: text(1, 60).optional(), to_role: text(1, 60) }))
      .max(100)
      .default([]),
    callsign_policy: z.enum(callsignPolicies).default("keep_target"),
    effective_at: Timestamp,
  })
  .refine((payload) => payload.source_server_id !== payload.target_server_id, {
    path: ["target_server_id"],
    message: say("workflows.a-server-cannot-merge-with-itself"),
  })
  .meta({ id: "ServerMergePayload" });

export const serverMerge = kind({
  label: say("workflows.server-merge"),
  summary: "Bring one server into another at a date both owners agree to.",
  prefix: "SMR",
  payload: ServerMergePayload,
  classes: {
    source_server_id: "public",
    target_server_id: "public",
    reason: "public",
    owner_consents: "public",
    staff_plan: "public",
    callsign_policy: "public",
    effective_at: "public",
  },
  aliases: {
    source_id: "source_server_id",
    source_guild_id: "source_server_id",
    target_id: "target_server_id",
    target_guild_id: "target_server_id",
  },
  unsupported: {
    announce: say("workflows.a-merger-is-not-announced-by-the"),
    initiated_by: say("workflows.both-owners-have-to-consent-whoever-began"),
    records: say("workflows.records-of-the-source-count-for-the"),
    source_after: say("workflows.the-source-stays-in-the-register-as"),
  },
  anyway: { announce: [false], records: ["link"], source_after: ["archive"] },
  filing: {
    options: [
      { name: "source", field: "source_server_id" },
      { name: "target", field: "target_server_id" },
      { name: "effective", field: "effective_at" },
      "callsign_policy",
    ],
    form: ["reason", "summary", "evidence"],
  },
  approvals: { usual: 2 },
  reversals: 2,
  clocks: { firstTouch: 48 * hour, decision: 14 * day, expiry: 60 * day },
  coolDown: 0,
  subjects: ({ source_server_id, target_server_id }) => [server(source_server_id), server(target_server_id)],
  concerned: ({ staff_plan }) => planned(staff_plan),
  title: () => say("workflows.server-merge"),
  effects: ({ source_server_id, target_server_id, owner_consents, staff_plan, callsign_policy, effective_at }) => {
    const consents = owner_consents.map(({ server_id, user_id }) => ({ server_id, user_id }));
    const merger = { source_server_id, target_server_id, owner_consents: consents, staff_plan, callsign_policy, effective_at };
    return [effect("merge.plan", merger), effect("server.merge", merger)];
  },
  example: { source_server_id: snowflake, target_server_id: otherSnowflake, effective_at: "2027-01-01T00:00:00.000Z" },
});

/** The people of a staff plan; a request of old may have none. */
function planned(plan: readonly { user_id: string }[] | undefined): string[] {
  return (plan ?? []).map(({ user_id: id }) => id);
}
