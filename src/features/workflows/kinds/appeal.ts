import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Snowflake, text } from "../../../kernel/fields.ts";
import { appealOutcomes, effect } from "../effects/inputs.ts";
import { day, hour, kind, ofUser, rulings, user } from "./kind.ts";

const AppealPayload = z
  .object({
    target: text(1, 100).meta({ description: "A reference, or the id of a record, a case or a strike" }),
    grounds: text(20, 2000),
    desired_outcome: z.enum(appealOutcomes).default("overturn"),
    user_id: Snowflake.optional().meta({ description: "Whose appeal it is, when staff file it for them" }),
    answers: z
      .array(z.strictObject({ question: text(1, 500), answer: text(0, 2000) }))
      .max(20)
      .default([]),
    suspend: z.boolean().default(false).meta({
      description: "Whether the blacklist record does not count until the appeal is over: needs `blacklist.revoke`",
    }),
  })
  .meta({ id: "AppealPayload" });

export const appeal = kind({
  label: "Appeal",
  summary: "Ask that a decision is looked at again, by others than those who made it.",
  prefix: "APL",
  payload: AppealPayload,
  classes: {
    target: "public",
    grounds: "public",
    desired_outcome: "public",
    user_id: "public",
    answers: "public",
    suspend: "public",
  },
  assumed: { grounds: ({ reason, summary }) => reason ?? summary },
  aliases: { ...ofUser, target_id: "target", target_reference: "target", appeal_of: "target" },
  filing: { options: ["target", "desired_outcome", { name: "user", field: "user_id" }, "suspend"], form: ["grounds", "evidence"] },
  approvals: { usual: 1 },
  reversals: 1,
  clocks: { firstTouch: 48 * hour, decision: 14 * day, expiry: 60 * day },
  coolDown: 30 * day,
  subjects: ({ target, user_id }) => [{ kind: "record", id: target.toUpperCase() }, ...(user_id === undefined ? [] : [user(user_id)])],
  title: ({ target }) => say("workflows.appeal-against", { target }),
  words: {
    uphold: { action: "deny" },
    upheld: { action: "deny" },
    ...Object.fromEntries(rulings.map((ruling) => [ruling, { action: "approve", ruling }])),
  },
  effects: ({ target, desired_outcome, user_id }) => [effect("appeal.ruling", { target, desired_outcome, user_id })],
  filedForOneself: { about: "target" },
  suspends: ({ target, suspend }) => (suspend ? target : undefined),
  events: { filed: "appeal.filed", decided: "appeal.decided" },
  example: { target: "BLU-REQ-000001", grounds: "The account was stolen on the day of the raid." },
});
