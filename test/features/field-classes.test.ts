// @module-tag sqlite
import { describe, expect, test } from "vitest";
import { recordClasses } from "../../src/features/blacklist/blacklist.policy.ts";
import { entryClasses } from "../../src/features/roster/roster.policy.ts";
import { kinds } from "../../src/features/workflows/kinds/kinds.ts";
import { workflowKinds, type WorkflowKind } from "../../src/kernel/vocabulary.ts";

const record = (field: keyof typeof recordClasses): unknown => recordClasses[field];
const entry = (field: keyof typeof entryClasses): unknown => entryClasses[field];
/** Cases, links, agreements, incidents and clearances are hidden or shown as a whole: who reads one reads every field of it. */
const whole = "public";
/** Nothing is made of it. */
const nothing = null;

/** What an approval makes of every field of a payload: the class that the field has there. Written down beside the code. */
const becomes: Readonly<Record<WorkflowKind, Readonly<Record<string, unknown>>>> = {
  "blacklist-user": {
    user_id: record("subject_id"),
    reason: record("reason_internal"),
    category: record("category"),
    severity: record("severity"),
    scope: record("scope"),
    server_ids: record("server_ids"),
    recommended_action: record("recommended_action"),
    duration: record("expires_at"),
    review_after: record("review_at"),
    include_alts: record("include_alts"),
    compromised_account: nothing,
  },
  "blacklist-server": {
    server_id: record("subject_id"),
    reason: record("reason_internal"),
    server_name: record("subject_snapshot"),
    owner_user_id: nothing,
    category: record("category"),
    severity: record("severity"),
    member_policy: record("member_policy"),
    grace_period: record("grace_period_seconds"),
    exempt_user_ids: record("exempt_user_ids"),
    aliases: record("subject_id"),
    duration: record("expires_at"),
    review_after: record("review_at"),
  },
  investigation: {
    subject: whole,
    allegation: whole,
    category: nothing,
    confidential: whole,
    lead_user_id: whole,
    team_user_ids: whole,
    conflict_user_ids: nothing,
    interim: whole,
    due_at: whole,
  },
  recruitment: {
    user_id: entry("user"),
    reason: nothing,
    position: entry("staff_role"),
    department: entry("department"),
    referred_by: nothing,
    answers: nothing,
    timezone: nothing,
    availability: nothing,
    experience: nothing,
    trial_days: entry("trial_ends_at"),
    callsign: entry("callsigns"),
    // No record takes it over; it is for those who decide.
    interview: "decider",
  },
  "server-merge": {
    source_server_id: whole,
    target_server_id: whole,
    reason: nothing,
    owner_consents: nothing,
    staff_plan: entry("staff_role"),
    callsign_policy: entry("callsigns"),
    effective_at: whole,
  },
  "alt-request": {
    user_ids: whole,
    primary_user_id: whole,
    reason: nothing,
    kind: whole,
    confidence: whole,
    basis: whole,
    propagate: whole,
    review_after: whole,
  },
  punishment: {
    user_id: whole,
    reason: whole,
    action: whole,
    points: whole,
    duration: whole,
    rules: nothing,
    case_reference: whole,
    demote_to: entry("staff_role"),
    discord: nothing,
    notify_subject: nothing,
    appeal_until: nothing,
  },
  poach: {
    kind: nothing,
    reason: whole,
    offender_user_ids: whole,
    offending_server_id: whole,
    victim_server_id: whole,
    target_user_ids: nothing,
    method: whole,
    occurred_at: whole,
    party_server_ids: whole,
    covers: whole,
    cooling_off_days: whole,
    starts_at: whole,
    ends_at: whole,
    terms: whole,
    signatories: nothing,
    signatures: nothing,
    user_id: whole,
    from_server_id: whole,
    to_server_id: whole,
    valid_until: whole,
  },
  appeal: { target: nothing, grounds: nothing, desired_outcome: nothing, user_id: nothing, answers: nothing, suspend: record("status") },
};

/** Readers of records are cleared as staff, as readers of requests are for what is public. */
const openness = (of: unknown): unknown => (of === nothing || of === "staff" ? "public" : of);

describe.each(workflowKinds)("%s", (type) => {
  const { classes, payload, confidential } = kinds[type];
  const fields = Object.keys(payload.shape).toSorted();

  test("has a class for every field of its payload, and for no other", () => {
    expect(Object.keys(classes).toSorted()).toEqual(fields);
    expect(Object.keys(becomes[type]).toSorted()).toEqual(fields);
  });

  test("shows each field to the same people as what an approval makes of it", () => {
    const expected = Object.fromEntries(fields.map((field) => [field, openness(becomes[type][field])]));
    expect(Object.fromEntries(fields.map((field) => [field, openness(classes[field])]))).toEqual(expected);
  });

  test("says who reads what is confidential of it", () => {
    expect(confidential !== undefined).toBe(Object.values(classes).includes("confidential"));
  });
});
