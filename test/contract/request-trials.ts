import type { WorkflowKind } from "../../src/kernel/vocabulary.ts";
import { guilds, type PeopleGround } from "../features/people-ground.ts";
import { days, inDays, p1, p2, p3, p4, p5, s1, s2, s3, type Before } from "./request-outcome.ts";

/** How one field is tried: two requests that differ in it alone. */
export type Trial = { given: object; to: unknown; more?: Before; type?: WorkflowKind } & (
  | { /** Where the difference shows. */ acts: "decision" | "effect" | "view"; reader?: never }
  | { /** Who reads a field that only describes. */ reader: "those who decide"; acts?: never }
);

const reason = "Two people saw it and said so.";
const other = "Three people saw it and said so.";
const far = "2090-01-01T00:00:00.000Z";
const farther = "2091-01-01T00:00:00.000Z";
const past = "2026-11-20T10:00:00.000Z";
const earlier = "2026-11-19T10:00:00.000Z";

/** A trial of each field over one body. */
const over =
  (body: object, more: Before = {}) =>
  (
    to: unknown,
    { given = {}, acts = "effect", ...further }: { given?: object; acts?: "decision" | "effect" | "view" } & Before = {},
  ): Trial => ({
    given: { ...body, ...given },
    to,
    acts,
    more: { ...more, ...further },
  });
const readOver =
  (body: object, more: Before = {}) =>
  (to: unknown): Trial => ({ given: body, to, reader: "those who decide", more });

const listed = { user_id: p1, reason, category: "raid", severity: "high", scope: "servers", server_ids: [guilds[0]] };
const user = over({
  ...listed,
  recommended_action: "ban",
  duration: "P7D",
  review_after: "P90D",
  include_alts: "confirmed",
});

const server = over({
  server_id: s1,
  reason,
  server_name: "Raid Central",
  owner_user_id: p1,
  category: "raiding",
  severity: "high",
  member_policy: "flag",
  grace_period: "P7D",
  exempt_user_ids: [p2],
  aliases: [s2],
  duration: "P7D",
  review_after: "P90D",
});

const investigation = over({
  subject: { kind: "user", id: p1 },
  allegation: reason,
  category: "leak",
  confidential: false,
  lead_user_id: p2,
  team_user_ids: [p3],
  conflict_user_ids: [p4],
  interim: "suspend_permissions",
  due_at: far,
});

const applicant = {
  user_id: p1,
  reason,
  position: "moderator",
  department: "north",
  referred_by: p2,
  answers: [{ question: "Why here?", answer: "I like it." }],
  timezone: "Europe/Berlin",
  availability: "Evenings",
  experience: "Two years.",
  trial_days: 14,
  callsign: { pool: "main", preferred: 7 },
  interview: { at: past, panel: [p3], score: 50, notes: "Calm." },
};
const recruitment = over(applicant);
const ofApplicant = readOver(applicant);
const afterTrial = { pass: days(16) };

const merger = {
  source_server_id: s1,
  target_server_id: s2,
  reason,
  owner_consents: [
    { server_id: s1, user_id: p1, at: past, evidence: "ticket 1" },
    { server_id: s2, user_id: p2, at: past },
  ],
  staff_plan: [{ user_id: p3, from_role: "moderator", to_role: "helper" }],
  callsign_policy: "keep_target",
  effective_at: inDays(10),
};
const staffed: Before = {
  pass: days(14),
  async before(ground) {
    const { access } = ground.services;
    const { role } = access;
    Object.assign(access, { role: (key: string) => ({ ...role(key), callsignPool: "main" }) });
    for (const id of [p3, p4]) await ground.employ(id);
    await ground.write((db, now) =>
      db.server.create({
        data: { id: s1, hash: s1, status: "known", ownerUserId: p1, contacts: [], tags: [], createdAt: now, updatedAt: now },
      }),
    );
  },
};
const merge = over(merger, staffed);
const ofMerger = readOver(merger, staffed);

const accounts = {
  user_ids: [p1, p2],
  primary_user_id: p1,
  reason,
  kind: "declared_alt",
  confidence: "probable",
  basis: [{ type: "admission", note: "told us" }],
  propagate: { blacklist: false, matches: false },
  review_after: "P90D",
};
const alt = over(accounts);

const punished = {
  user_id: p1,
  reason,
  action: "warning",
  points: 1,
  duration: "P7D",
  rules: ["R1"],
  discord: { action: "timeout", guild_ids: [guilds[0]] },
  notify_subject: true,
  appeal_until: "P14D",
};
const punishment = over(punished);
const ofPunished = readOver({ ...punished, title: "A title", summary: "A summary", related: ["INV-REQ-000001"], external_id: "T-1" });

const report = {
  kind: "report",
  reason,
  offender_user_ids: [p1],
  offending_server_id: s1,
  victim_server_id: s2,
  target_user_ids: [p2],
  method: "dm",
  occurred_at: past,
};
const poaching = over(report);
const signed = {
  kind: "agreement",
  reason,
  party_server_ids: [s1, s2],
  covers: "staff",
  cooling_off_days: 14,
  starts_at: inDays(-1),
  ends_at: far,
  terms: "Nobody asks the staff of the other.",
  signatories: [p1],
  signatures: [{ user_id: p1, at: past, evidence: "ticket 2" }],
};
const agreement = over(signed);
const ofSigned = readOver(signed);
const clearance = over({ kind: "clearance", user_id: p1, from_server_id: s1, to_server_id: s2, valid_until: far });

async function punishTwice(ground: PeopleGround): Promise<void> {
  for (const id of [p1, p2]) {
    await ground.employ(id);
    const { reference } = await ground.file("punishment", { user_id: id, action: "suspension", duration: "P30D", reason });
    await ground.approve("punishment", reference);
  }
}
async function listOnce(ground: PeopleGround): Promise<void> {
  const { reference } = await ground.file("blacklist-user", listed);
  await ground.approve("blacklist-user", reference);
}
const appealed = {
  target: "PUN-REQ-000001",
  grounds: "It was somebody else who used the account.",
  desired_outcome: "overturn",
  answers: [{ question: "What happened?", answer: "A leak." }],
};
const appeal = over(appealed, { before: punishTwice });
const ofAppeal = readOver(appealed, { before: punishTwice });

/** What each field of each kind does, by its path in the payload; of a list the first entry is tried. A field without an entry is red. */
export const trials: Readonly<Record<WorkflowKind, Readonly<Record<string, Trial>>>> = {
  "blacklist-user": {
    user_id: user(p2),
    reason: user(other),
    category: user("harassment"),
    severity: user("low"),
    scope: user("network", { acts: "decision" }),
    "server_ids.*": user(guilds[1]),
    recommended_action: user("kick"),
    duration: user("P9D"),
    review_after: user("P60D"),
    include_alts: user("none"),
    compromised_account: user(true, { given: { duration: undefined, compromised_account: false } }),
  },
  "blacklist-server": {
    server_id: server(s3),
    reason: server(other),
    server_name: server("Raid East"),
    owner_user_id: server(p3, { acts: "decision", staff: [p1, p3] }),
    category: server("scam"),
    severity: server("low"),
    member_policy: server("inform"),
    grace_period: server("P3D"),
    "exempt_user_ids.*": server(p3),
    "aliases.*": server(s3),
    duration: server("P9D"),
    review_after: server("P60D"),
  },
  investigation: {
    "subject.kind": investigation("server"),
    "subject.id": investigation(p5),
    allegation: investigation(other),
    category: investigation("security"),
    confidential: investigation(true),
    lead_user_id: investigation(p5, { staff: [p2, p5] }),
    "team_user_ids.*": investigation(p5, { staff: [p3, p5] }),
    "conflict_user_ids.*": investigation(p5, { acts: "decision", staff: [p4, p5] }),
    interim: investigation("remove_from_queue"),
    due_at: investigation(farther),
  },
  recruitment: {
    user_id: recruitment(p4),
    reason: ofApplicant(other),
    position: recruitment("helper"),
    department: recruitment("south"),
    referred_by: recruitment(p5, { acts: "decision", staff: [p2, p5] }),
    "answers.*.question": ofApplicant("Why now?"),
    "answers.*.answer": ofApplicant("A friend told me."),
    timezone: recruitment("Asia/Tokyo", afterTrial),
    availability: recruitment("Mornings", afterTrial),
    experience: ofApplicant("None."),
    trial_days: recruitment(21),
    callsign: recruitment({ pool: "main" }, { given: { callsign: "none" } }),
    "callsign.pool": recruitment("nowhere", { acts: "decision" }),
    "callsign.preferred": recruitment(8),
    "interview.at": ofApplicant(earlier),
    "interview.panel.*": ofApplicant(p4),
    "interview.score": ofApplicant(60),
    "interview.notes": ofApplicant("Tense."),
  },
  "server-merge": {
    source_server_id: merge(s3, { acts: "decision" }),
    target_server_id: merge(s3, { acts: "decision" }),
    reason: ofMerger(other),
    "owner_consents.*.server_id": merge(s3, { acts: "decision" }),
    "owner_consents.*.user_id": merge(p5, { acts: "decision" }),
    "owner_consents.*.at": ofMerger(earlier),
    "owner_consents.*.evidence": ofMerger("ticket 3"),
    "staff_plan.*.user_id": merge(p4),
    "staff_plan.*.from_role": merge("helper", { acts: "decision" }),
    "staff_plan.*.to_role": merge("release"),
    callsign_policy: merge("renumber"),
    effective_at: merge(inDays(12)),
  },
  "alt-request": {
    "user_ids.*": alt(p3),
    primary_user_id: alt(p2),
    reason: readOver(accounts)(other),
    kind: alt("shared_account"),
    confidence: alt("confirmed"),
    "basis.*.type": alt("behaviour"),
    "basis.*.note": alt("seen together"),
    "propagate.blacklist": alt(true),
    "propagate.matches": alt(true),
    review_after: alt("P60D"),
  },
  punishment: {
    user_id: punishment(p2),
    reason: punishment(other),
    action: punishment("strike"),
    points: punishment(2),
    duration: punishment("P9D"),
    "rules.*": punishment("R2"),
    case_reference: punishment("CASE-000002", {
      given: { case_reference: "CASE-000001" },
      async before(ground) {
        for (const title of ["One", "Two"]) {
          const body = { type: "general", title: `Case ${title}`, subjects: [{ kind: "user", id: p1 }] };
          await ground.post("/cases", body, { actor: ground.requester });
        }
      },
    }),
    demote_to: punishment("moderator", { given: { action: "demotion", demote_to: "helper" }, before: (ground) => ground.employ(p1) }),
    "discord.action": punishment("kick"),
    "discord.delete_messages": punishment("1h", { given: { discord: { action: "ban", guild_ids: [guilds[0]] } } }),
    "discord.guild_ids.*": punishment(guilds[1]),
    // Servers are named as well: both together are refused.
    "discord.everywhere": punishment(true, {
      given: { discord: { action: "timeout", guild_ids: [guilds[0]], everywhere: false } },
      acts: "decision",
    }),
    notify_subject: punishment(false),
    appeal_until: punishment("P20D"),
  },
  poach: {
    kind: poaching("agreement", { acts: "decision" }),
    reason: poaching(other),
    "offender_user_ids.*": poaching(p3),
    offending_server_id: poaching(s3),
    victim_server_id: poaching(s3),
    "target_user_ids.*": poaching(p3, { acts: "decision", staff: [p2, p3] }),
    method: poaching("offer"),
    occurred_at: poaching(earlier),
    "party_server_ids.*": agreement(s3),
    covers: agreement("members"),
    cooling_off_days: agreement(21),
    starts_at: agreement(inDays(5)),
    ends_at: agreement(farther),
    terms: agreement("Nobody asks anybody."),
    "signatories.*": agreement(p2, { acts: "decision" }),
    "signatures.*.user_id": agreement(p2, { acts: "decision" }),
    "signatures.*.at": ofSigned(earlier),
    "signatures.*.evidence": ofSigned("ticket 3"),
    user_id: clearance(p2),
    from_server_id: clearance(s3),
    to_server_id: clearance(s3),
    valid_until: clearance(farther),
  },
  appeal: {
    target: appeal("PUN-REQ-000002"),
    grounds: ofAppeal("It was not me, it was my brother."),
    desired_outcome: appeal("clarify"),
    user_id: appeal(p2, { given: { user_id: p1 }, acts: "view" }),
    "answers.*.question": ofAppeal("Where were you?"),
    "answers.*.answer": ofAppeal("At school."),
    suspend: appeal(true, { given: { target: "BLU-REQ-000001", suspend: false }, before: listOnce }),
  },
};

/** What every kind of request takes besides its payload. */
export const commonTrials: Readonly<Record<string, Trial>> = {
  title: punishment("Another title", { given: { title: "A title" } }),
  summary: ofPunished("Another summary"),
  priority: punishment("high", { given: { priority: "low" } }),
  urgent: punishment(true, { given: { urgent: false }, acts: "view" }),
  evidence: { ...user(["https://example.org/2"], { given: { evidence: ["https://example.org/1"] } }), type: "blacklist-user" },
  related: ofPunished(["INV-REQ-000002"]),
  external_id: ofPunished("T-2"),
  origin: punishment({ guild_id: guilds[1], channel_id: s1 }, { given: { origin: { guild_id: guilds[0], channel_id: s1 } } }),
  on_duplicate: punishment("join", {
    given: { on_duplicate: "refuse" },
    acts: "decision",
    before: (ground) => ground.file("punishment", punished),
  }),
};
