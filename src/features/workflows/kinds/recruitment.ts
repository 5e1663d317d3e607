import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Snowflake, Timestamp, text } from "../../../kernel/fields.ts";
import { effect } from "../effects/inputs.ts";
import { idsUpTo, Reason } from "../requests/fields.ts";
import { day, kind, ofUser, snowflake, user } from "./kind.ts";

const Interview = z.strictObject({
  at: Timestamp.optional(),
  panel: idsUpTo(10).optional(),
  score: z.int().min(0).max(100).optional(),
  notes: text(0, 2000).optional(),
});

const RecruitmentPayload = z
  .object({
    user_id: Snowflake,
    reason: Reason.optional(),
    position: text(1, 60).meta({ description: "Key of the staff role" }),
    department: text(1, 100).optional(),
    referred_by: Snowflake.optional(),
    answers: z
      .array(z.strictObject({ question: text(1, 500), answer: text(0, 2000) }))
      .max(20)
      .default([]),
    timezone: text(1, 60).optional(),
    availability: text(1, 500).optional(),
    experience: text(1, 2000).optional(),
    trial_days: z.int().min(0).max(365).default(30),
    callsign: z
      .union([z.literal("none"), z.strictObject({ pool: text(1, 60), preferred: z.int().min(0).max(999_999).optional() })])
      .default("none"),
    interview: Interview.optional().meta({ description: "Shown to deciders only" }),
  })
  .meta({ id: "RecruitmentPayload" });

export const recruitment = kind({
  label: "Recruitment",
  summary: "Take a person onto the staff on trial, with checks beforehand.",
  prefix: "REC",
  payload: RecruitmentPayload,
  classes: {
    user_id: "public",
    reason: "public",
    position: "public",
    department: "public",
    referred_by: "public",
    answers: "public",
    timezone: "public",
    availability: "public",
    experience: "public",
    trial_days: "public",
    callsign: "public",
    interview: "decider",
  },
  aliases: {
    ...ofUser,
    applicant_id: "user_id",
    candidate_id: "user_id",
    role: "position",
    role_key: "position",
    staff_role: "position",
  },
  filing: {
    options: [
      { name: "user", field: "user_id" },
      { field: "position", completes: "staff-role" },
      "department",
      "referred_by",
      "timezone",
      "trial_days",
    ],
    form: ["reason", "experience", "availability", "summary", "evidence"],
  },
  approvals: { usual: 1 },
  reversals: 1,
  clocks: { firstTouch: day, decision: 7 * day, expiry: 30 * day },
  coolDown: 30 * day,
  subjects: ({ user_id }) => [user(user_id)],
  conflicts: ({ referred_by }) => (referred_by === undefined ? [] : [referred_by]),
  guilds: () => "every",
  title: ({ position }) => say("workflows.recruitment-as", { position }),
  hasBlindVotes: true,
  isChecked: true,
  effects: ({ user_id: userId, position: roleKey, department, trial_days: trialDays, callsign, availability, timezone }) => [
    effect("roster.trial", { userId, roleKey, department, trialDays }),
    ...(callsign === "none"
      ? []
      : [effect("callsign.allocate", { userId, roleKey, department, pool: callsign.pool, preferred: callsign.preferred })]),
    effect("clearance.use", { userId }),
    effect("discord.roles_add", { userId, roleKey }),
    effect("notice.welcome", { userId, roleKey, trialDays }),
    effect("notice.trial_review", { userId, roleKey, trialDays, availability, timezone }),
  ],
  isRemembered: true,
  example: { user_id: snowflake, position: "moderator", timezone: "Europe/Berlin" },
});
