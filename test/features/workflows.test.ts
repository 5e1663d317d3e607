import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { workflowKinds } from "../../src/kernel/vocabulary.ts";
import { kinds } from "../../src/features/workflows/kinds/kinds.ts";
import { worded } from "../../src/kit/say.ts";
import { createGround, freshId, ownGuilds, type Ground } from "./workflows-ground.ts";
import { sizeOf } from "../support/size.ts";

const reason = "Led the raid of last night.";
const listing = { category: "raid", severity: "high", reason };
const serverListing = { category: "raiding", severity: "high", member_policy: "flag", reason };
const poaching = { kind: "report", offendingServerId: "1", victimServerId: "2", occurredAt: "2026-11-20T10:00:00.000Z" };
const denial = { decision: "deny", reason: "There is not enough evidence." };
const times = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const atOnce = sizeOf({ quick: 60, all: 100, long: 200 });

async function file(ground: Ground, kind: string, body: object, actor: string) {
  const answer = await ground.post(`/workflows/${kind}`, body, { actor });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}

/** A user blacklist request that one approval decides. */
async function singleApproval(ground: Ground, actor: string, user = freshId()) {
  return file(ground, "blacklist-user", { user_id: user, ...listing, server_ids: [ownGuilds[0]] }, actor);
}

const bodies: Record<(typeof workflowKinds)[number], { minimal: object; full: object }> = {
  "blacklist-user": {
    minimal: { discord_user_id: "1", ...listing },
    full: {
      user_id: "1",
      reason,
      category: "raid",
      severity: "critical",
      scope: "servers",
      server_ids: [ownGuilds[0]],
      recommended_action: "ban",
      duration: null,
      review_after: "P90D",
      include_alts: "confirmed",
      compromised_account: false,
    },
  },
  "blacklist-server": {
    minimal: { serverId: "1", category: "raiding", severity: "high", memberPolicy: "flag", reason },
    full: {
      server_id: "1",
      reason,
      server_name: "Raid Central",
      owner_user_id: "2",
      category: "raiding",
      severity: "high",
      member_policy: "deny_staff",
      grace_period: "3d",
      exempt_user_ids: ["3"],
      aliases: ["4"],
      duration: "P1Y",
      review_after: "90d",
    },
  },
  investigation: {
    minimal: { target_user_id: "1", reason },
    full: {
      subject: { kind: "staff", id: "1" },
      allegation: reason,
      category: "leak",
      confidential: true,
      lead_user_id: "2",
      team_user_ids: ["3"],
      conflict_user_ids: ["4"],
      interim: "suspend_permissions",
      due_at: "2027-01-01T00:00:00.000Z",
    },
  },
  recruitment: {
    minimal: { memberId: "1", role: "moderator" },
    full: {
      user_id: "1",
      position: "moderator",
      department: "EU",
      referred_by: "2",
      answers: [{ question: "Why?", answer: "Because." }],
      timezone: "Europe/Berlin",
      availability: "evenings",
      experience: "none",
      trial_days: 14,
      callsign: { pool: "main", preferred: 7 },
      interview: { at: "2027-01-01T00:00:00.000Z", panel: ["3"], score: 80, notes: "calm" },
      reason,
    },
  },
  "server-merge": {
    minimal: { sourceServerId: "1", targetServerId: "2", effectiveAt: "2027-01-01T00:00:00.000Z" },
    full: {
      source_server_id: "1",
      target_server_id: "2",
      owner_consents: [{ server_id: "1", user_id: "3", at: "2027-01-01T00:00:00.000Z", evidence: "message" }],
      staff_plan: [{ user_id: "4", from_role: "mod", to_role: "release" }],
      callsign_policy: "renumber",
      effective_at: "2027-01-01T00:00:00.000Z",
      reason,
    },
  },
  "alt-request": {
    minimal: { userIds: ["1", "2"], confidence: "suspected", basis: [{ type: "behaviour" }] },
    full: {
      user_ids: ["1", "2"],
      primary_user_id: "1",
      kind: "declared_alt",
      confidence: "confirmed",
      basis: [{ type: "admission", note: "told us" }],
      propagate: { blacklist: true, matches: true },
      review_after: "P1Y",
      reason,
    },
  },
  punishment: {
    minimal: { target_id: "1", action: "warning", reason },
    full: {
      user_id: "1",
      action: "demotion",
      points: 3,
      duration: "7d",
      rules: ["R1"],
      case_reference: "CASE-000001",
      demote_to: "helper",
      discord: { action: "timeout", guild_ids: [ownGuilds[0]] },
      notify_subject: false,
      appeal_until: "P14D",
      reason,
    },
  },
  poach: {
    minimal: poaching,
    full: {
      kind: "agreement",
      party_server_ids: ["1", "2"],
      covers: "staff",
      cooling_off_days: 14,
      starts_at: "2027-01-01T00:00:00.000Z",
      ends_at: "2028-01-01T00:00:00.000Z",
      terms: "be nice",
      signatories: ["3"],
      signatures: [{ user_id: "3", at: "2026-11-20T10:00:00.000Z", evidence: "signed in the ticket" }],
      reason,
    },
  },
  appeal: {
    minimal: { target: "BLU-REQ-000077", grounds: "The account was stolen that day." },
    full: {
      target: "BLU-REQ-000078",
      grounds: "The account was stolen that day.",
      desired_outcome: "reduce",
      user_id: "1",
      answers: [{ question: "What happened?", answer: "A leak." }],
    },
  },
};
const common = {
  title: "A title",
  summary: "A summary",
  priority: "high",
  urgent: true,
  evidence: [{ kind: "link", title: "clip", url: "https://example.org/clip" }, "seen it", "https://example.org/2"],
  related: ["INV-REQ-000009"],
  external_id: "T-1",
};

/** Short ids of the table become Discord ids of their own. */
function withIds(value: unknown, ids = new Map<string, string>()): unknown {
  if (typeof value === "string" && /^\d$/.test(value)) {
    if (!ids.has(value)) ids.set(value, freshId());
    return ids.get(value);
  }
  if (Array.isArray(value)) return value.map((entry) => withIds(entry, ids));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withIds(entry, ids)]));
}

function camel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camel);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), camel(entry)]),
  );
}

test.each(workflowKinds)("%s requests are created from a minimal, a full, a camelCase and a wrapped body", async (kind) => {
  const ground = await createGround();
  const actor = ground.staff("senior");
  const full = { ...bodies[kind].full, ...common };
  const forms = [
    bodies[kind].minimal,
    full,
    camel({ ...full, ...(kind === "appeal" && { target: "BLU-REQ-000079" }) }),
    { payload: bodies[kind].full, external_id: "T-2", ...(kind === "appeal" && { payload: { ...bodies[kind].full, target: "x" } }) },
  ];
  const filed = new Map<string, number>();
  for (const [index, form] of forms.entries()) {
    // What is confidential is counted apart.
    const prefix = `${kinds[kind].prefix}${kind === "investigation" && index > 0 ? "C" : ""}`;
    filed.set(prefix, (filed.get(prefix) ?? 0) + 1);
    const answer = await ground.post(`/workflows/${kind}`, withIds(form), { actor });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    expect(answer.body).toMatchObject({
      success: true,
      status: "pending",
      reference: `${prefix}-REQ-${String(filed.get(prefix)).padStart(6, "0")}`,
    });
    expect(answer.body.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.body.warnings.filter((warning: any) => warning.code === "unknown_field_kept" && index > 0)).toEqual([]);
    const view = (await ground.get(`/workflows/${kind}/${answer.body.id}`, { actor: ground.staff("owner") })).body.data;
    expect(view).toMatchObject({
      id: answer.body.id,
      type: kind,
      status: "pending",
      revision: 1,
      ...((index === 1 || index === 2) && { title: "A title", priority: "high", urgent: true }),
    });
    expect(view.subjects.length).toBeGreaterThan(0);
  }
});

test("creation refuses what names no subject, and points at fields as the client spelled them", async () => {
  const ground = await createGround();
  const actor = ground.staff("senior");
  for (const kind of workflowKinds) expect((await ground.post(`/workflows/${kind}`, {}, { actor })).status, kind).toBe(422);
  const answer = await ground.post(
    "/workflows/blacklist-user",
    { payload: { targetUserId: 80351110224678912, createdBy: "x" } },
    { actor },
  );
  expect(answer.body.errors.map((error: any) => [error.pointer, error.code]).toSorted()).toEqual([
    ["/payload/category", "required"],
    ["/payload/createdBy", "server_owned"],
    ["/payload/reason", "required"],
    ["/payload/severity", "required"],
    ["/payload/targetUserId", "invalid_snowflake"],
  ]);
  expect(await ground.database.read.workflowRequest.count()).toBe(0);
  expect(await ground.database.read.counter.count()).toBe(0);
});

test.each([
  ["blacklist-server", ["invite_codes", "min_tenure"]],
  ["server-merge", ["announce", "initiated_by", "records", "source_after"]],
] as const)("%s refuses fields that would do nothing, and says what to do instead", async (type, fields) => {
  const ground = await createGround();
  const actor = ground.staff("owner");
  const payload = withIds(bodies[type].full) as object;
  const spelled = (name: string): string => Object.keys(camel({ [name]: 1 }) as object).join("");
  for (const field of fields) {
    const filed = await ground.post(`/workflows/${type}`, { payload: { ...payload, [spelled(field)]: "another" } }, { actor });
    expect(filed.body.errors).toEqual([
      {
        pointer: `/payload/${spelled(field)}`,
        in: "body",
        code: "unsupported_field",
        detail: worded(kinds[type].unsupported?.[field] ?? ""),
      },
    ]);
  }
  expect(await ground.database.read.workflowRequest.count()).toBe(0);
  const { body } = await ground.post(`/workflows/${type}`, payload, { actor });
  expect(body.success).toBe(true);
  const amended = await ground.patch(`/workflows/${type}/${body.reference}`, { payload: { [fields[0]]: null } }, { actor });
  expect(amended.body.errors).toEqual([
    { pointer: `/payload/${fields[0]}`, in: "body", code: "unsupported_field", detail: worded(kinds[type].unsupported?.[fields[0]] ?? "") },
  ]);
});

test("values of such fields that say what happens anyway are accepted, and kept nowhere", async () => {
  const ground = await createGround();
  const actor = ground.staff("owner");
  const merger = { ...(withIds(bodies["server-merge"].full) as object), announce: false, records: "link", source_after: "archive" };
  const { status, body } = await ground.post("/workflows/server-merge", merger, { actor });
  expect(status).toBe(201);
  const { body: read } = await ground.get(`/workflows/server-merge/${body.reference}`, { actor });
  expect(Object.keys(read.data.payload)).not.toEqual(expect.arrayContaining(["records"]));
  const linked = { ...(withIds(bodies["alt-request"].full) as object), propagate: { blacklist: true, cases: false } };
  expect((await ground.post("/workflows/alt-request", linked, { actor })).status).toBe(201);
});

test(`${atOnce.toString()} creations at once get unique references without a gap`, async () => {
  const ground = await createGround();
  const bodies = times(atOnce).map(() => withIds(poaching));
  const answers = await Promise.all(bodies.map((body) => ground.post("/workflows/poach", body, { scopes: "*,system.act" })));
  expect(answers.map((answer) => answer.status)).toEqual(times(atOnce).map(() => 201));
  const references = new Set(answers.map((answer) => answer.body.reference));
  expect(references).toEqual(new Set(times(atOnce).map((number) => `PCH-REQ-${number.toString().padStart(6, "0")}`)));
  expect((await ground.get("/audit/verify")).body.data).toEqual({ ok: true, entries: atOnce, checkpoints: 0 });
});

test("one prefix for every kind means one counter", async () => {
  const ground = await createGround({ referencePrefix: "ACME" });
  const actor = ground.staff("senior");
  const first = await singleApproval(ground, actor);
  const second = await file(ground, "recruitment", { user_id: freshId(), position: "mod" }, actor);
  expect([first.reference, second.reference]).toEqual(["ACME-REQ-000001", "ACME-REQ-000002"]);
});

test("the same kind about the same subject is open once, whoever asks at the same time", async () => {
  const ground = await createGround();
  const user = freshId();
  const answers = await Promise.all(
    times(8).map(() => ground.post("/workflows/blacklist-user", { user_id: user, ...listing }, { actor: ground.staff("moderator") })),
  );
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
  expect(answers.find((answer) => answer.status === 409)?.body).toMatchObject({ code: "duplicate_open", reference: "BLU-REQ-000001" });
  const other = await file(ground, "punishment", { user_id: user, action: "note", reason }, ground.staff("moderator"));
  expect(other.duplicates).toEqual([{ reference: "BLU-REQ-000001", type: "blacklist-user", status: "pending" }]);
  const joined = await ground.post(
    "/workflows/blacklist-user",
    { user_id: user, ...listing, on_duplicate: "join" },
    { actor: ground.staff("moderator") },
  );
  expect(joined.body).toMatchObject({ reference: "BLU-REQ-000001", status: "pending", joined: true });
});

test("a denied request cannot be filed again during its cool-down", async () => {
  const ground = await createGround();
  const [actor, user] = [ground.staff("moderator"), freshId()];
  const { reference } = await singleApproval(ground, actor, user);
  expect(
    (await ground.post(`/workflows/blacklist-user/${reference}/decision`, denial, { actor: ground.staff("senior") })).body.status,
  ).toBe("denied");
  const again = await ground.post("/workflows/blacklist-user", { user_id: user, ...listing }, { actor });
  expect(again.body).toMatchObject({ status: 429, code: "cooldown", until: expect.any(String) });
  expect(Number(again.headers.get("retry-after"))).toBeGreaterThan(13 * 86_400);
  ground.pass(15 * 86_400);
  expect((await ground.post("/workflows/blacklist-user", { user_id: user, ...listing }, { actor })).status).toBe(201);
});

test("a person files at most so many requests an hour and about one subject", async () => {
  const ground = await createGround();
  const [actor, user] = [ground.staff("senior"), freshId()];
  const kinds = [
    ["punishment", { user_id: user, action: "note", reason }],
    ["recruitment", { user_id: user, position: "mod" }],
    ["investigation", { user_id: user, allegation: reason }],
    ["alt-request", { user_ids: [user, freshId()], confidence: "suspected", basis: [] }],
    ["poach", { kind: "clearance", user_id: user, from_server_id: freshId(), to_server_id: freshId() }],
  ] as const;
  for (const [kind, body] of kinds) await file(ground, kind, body, actor);
  const sixth = await ground.post("/workflows/blacklist-user", { user_id: user, ...listing }, { actor });
  expect(sixth.body).toMatchObject({ status: 429, code: "rate_limited" });
  for (let filed = kinds.length; filed < 20; filed += 1) await singleApproval(ground, actor);
  const late = await ground.post("/workflows/blacklist-user", { user_id: freshId(), ...listing }, { actor });
  expect(late.body.code).toBe("rate_limited");
  ground.pass(3601);
  await singleApproval(ground, actor);
});

test("an approval lists the user, matches them, and is one audit chain", async () => {
  const ground = await createGround();
  const [requester, decider, user] = [ground.staff("moderator"), ground.staff("senior"), ground.staff("viewer")];
  const filed = await singleApproval(ground, requester, user);
  expect(filed.effects_preview.map((effect: any) => effect.key)).toEqual([
    "blacklist.create",
    "case.append",
    "matches.recompute",
    "recruitment.hold",
    "roster.suspend",
  ]);
  const answer = await ground.post(
    `/workflows/BLACKLIST_USER/${filed.reference.toLowerCase()}/decision`,
    { decision: "approved", reason: "Clear enough." },
    { actor: decider },
  );
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({
    success: true,
    id: filed.id,
    reference: filed.reference,
    status: "approved",
    final: true,
    approvals: { have: 1, required: 1 },
  });
  expect(answer.body.effects).toMatchObject([
    { key: "blacklist.create", status: "done", target: { kind: "blacklist", reference: "BL-000001" } },
    { key: "case.append", status: "done", target: { kind: "case", reference: "CASE-000001" } },
    { key: "matches.recompute", status: "done", detail: "1 added, 0 changed, 0 removed." },
    { key: "recruitment.hold", status: "skipped" },
    { key: "roster.suspend", status: "skipped" },
    { key: "notice.requester", status: "pending" },
  ]);
  const record = (await ground.get("/blacklist/BL-000001", { actor: decider })).body.data;
  expect(record).toMatchObject({
    subject_id: user,
    source: "workflow",
    origin_reference: filed.reference,
    approved_by: [decider],
    created_by: requester,
    reason_public: "Clear enough.",
    reason_internal: reason,
  });
  expect(await ground.database.read.match.findMany({ select: { userId: true, recordReference: true } })).toEqual([
    { userId: user, recordReference: "BL-000001" },
  ]);
  expect((await ground.get("/audit")).body.data.map((entry: any) => entry.action)).toEqual([
    "workflow.approve",
    "case.link",
    "case.note",
    "case.open",
    "blacklist.create",
    "workflow.create",
  ]);
  expect((await ground.get("/audit/verify")).body.data.ok).toBe(true);
  const view = (await ground.get(`/workflows/blacklist-user/${filed.id}`, { actor: decider })).body.data;
  expect(view).toMatchObject({ status: "approved", decision: { outcome: "approved", by: decider }, allowed_actions: [], revision: 2 });
});

test("a second listing strengthens the active record", async () => {
  const ground = await createGround();
  const [admin, user] = [ground.staff("admin"), freshId()];
  await ground.post("/blacklist", { kind: "user", subject_id: user, severity: "low", duration: "1d" }, { actor: admin });
  const filed = await file(
    ground,
    "blacklist-user",
    { user_id: user, ...listing, severity: "critical", evidence: ["seen it"] },
    ground.staff("moderator"),
  );
  await ground.post(`/workflows/blacklist-user/${filed.id}/decision`, { decision: "approve" }, { actor: ground.staff("senior") });
  const answer = await ground.post(
    `/workflows/blacklist-user/${filed.id}/decision`,
    { decision: "approve" },
    { actor: ground.staff("senior") },
  );
  expect(answer.body.effects[0]).toMatchObject({ key: "blacklist.merge", target: { reference: "BL-000001" } });
  const record = (await ground.get("/blacklist/BL-000001", { actor: admin })).body.data;
  expect(record).toMatchObject({
    severity: "critical",
    recommended_action: "ban",
    expires_at: null,
    evidence: [{ kind: "text", note: "seen it" }],
    revision: 2,
  });
  expect(await ground.database.read.blacklistRecord.count()).toBe(1);
});

test("a server is listed with its other ids", async () => {
  const ground = await createGround();
  const filed = await file(
    ground,
    "blacklist-server",
    { server_id: freshId(), aliases: [freshId()], ...serverListing, grace_period: "2d" },
    ground.staff("moderator"),
  );
  for (const _ of times(2))
    await ground.post(`/workflows/blacklist-server/${filed.id}/decision`, { decision: "yes" }, { actor: ground.staff("admin") });
  const rows = await ground.database.read.blacklistRecord.findMany({ select: { kind: true, gracePeriod: true, memberPolicy: true } });
  expect(rows).toEqual(times(2).map(() => ({ kind: "server", gracePeriod: 172_800, memberPolicy: "flag" })));
});

test("two approvals are needed where the kind says so, from two people", async () => {
  const ground = await createGround();
  const [first, second] = [ground.staff("admin"), ground.staff("admin")];
  const { id } = await file(ground, "blacklist-server", { server_id: freshId(), ...serverListing }, ground.staff("moderator"));
  const approve = (actor: string) => ground.post(`/workflows/blacklist-server/${id}/decision`, { action: "approve" }, { actor });
  expect((await approve(first)).body).toMatchObject({
    status: "in_review",
    final: false,
    approvals: { have: 1, required: 2 },
    effects: [],
  });
  expect((await approve(first)).body).toMatchObject({ status: "in_review", replayed: true, approvals: { have: 1, required: 2 } });
  expect(await ground.database.read.blacklistRecord.count()).toBe(0);
  expect((await approve(second)).body).toMatchObject({ status: "approved", final: true, approvals: { have: 2, required: 2 } });
  expect((await approve(second)).body).toMatchObject({
    status: "approved",
    replayed: true,
    effects: [{ key: "blacklist.create" }, {}, {}, {}],
  });
  expect((await approve(ground.staff("admin"))).body).toMatchObject({
    status: 409,
    code: "already_decided",
    decision: { outcome: "approved", by: second },
  });
  const opposite = await ground.post(`/workflows/blacklist-server/${id}/decision`, denial, { actor: first });
  expect(opposite.body.code).toBe("already_decided");
  expect(await ground.database.read.blacklistRecord.count()).toBe(1);
});

test.each(times(3))("approvals in the same instant have one outcome and one effect (round %i)", async () => {
  const ground = await createGround();
  const { id } = await singleApproval(ground, ground.staff("moderator"));
  const deciders = times(6).map(() => ground.staff("senior"));
  const answers = await Promise.all(
    deciders.map((actor) => ground.post(`/workflows/blacklist-user/${id}/decision`, { decision: "approve" }, { actor })),
  );
  expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, ...times(5).map(() => 409)]);
  expect(await ground.database.read.blacklistRecord.count()).toBe(1);
  expect(await ground.database.read.workflowVote.count()).toBe(1);
});

test("requester, subject and the people named as partial never decide, and nothing is written", async () => {
  const ground = await createGround();
  const [requester, subject, partial, free] = [
    ground.staff("senior"),
    ground.staff("moderator"),
    ground.staff("senior"),
    ground.staff("senior"),
  ];
  const { id } = await file(
    ground,
    "investigation",
    { subject: { kind: "staff", id: subject }, allegation: reason, conflict_user_ids: [partial] },
    requester,
  );
  const before = await ground.database.read.auditEntry.count();
  for (const actor of [requester, partial]) {
    const answer = await ground.post(`/workflows/investigation/${id}/decision`, { decision: "approve" }, { actor });
    expect(answer.body).toMatchObject({ status: 403, code: "conflict_of_interest" });
    expect(JSON.stringify(answer.body)).not.toContain(actor);
  }
  expect((await ground.post(`/workflows/investigation/${id}/decision`, { decision: "approve" }, { actor: subject })).body.code).toBe(
    "permission_denied",
  );
  expect(await ground.database.read.auditEntry.count()).toBe(before);
  expect(await ground.database.read.workflowVote.count()).toBe(0);
  expect((await ground.post(`/workflows/investigation/${id}/decision`, { decision: "approve" }, { actor: free })).body).toMatchObject({
    status: "approved",
    effects: [{ key: "case.open", target: { kind: "case" } }, { key: "notice.requester" }],
  });
});

test("nobody decides about staff of equal or higher rank, owners excepted; filing about them is allowed", async () => {
  const ground = await createGround();
  const subject = ground.staff("senior");
  const { id } = await file(ground, "punishment", { user_id: subject, action: "strike", reason }, ground.staff("moderator"));
  const decide = (level: "senior" | "admin" | "owner") =>
    ground.post(`/workflows/punishment/${id}/decision`, denial, { actor: ground.staff(level) });
  expect((await decide("senior")).body.code).toBe("hierarchy_violation");
  expect((await decide("admin")).body.status).toBe("denied");
});

test("who decided first never decides the appeal", async () => {
  const ground = await createGround();
  const [decider, other] = [ground.staff("senior"), ground.staff("senior")];
  const filed = await singleApproval(ground, ground.staff("moderator"));
  await ground.post(`/workflows/blacklist-user/${filed.id}/decision`, { decision: "approve" }, { actor: decider });
  for (const target of [filed.reference.toLowerCase(), "BL-000001"]) {
    const appeal = await file(ground, "appeal", { target, grounds: "The account was stolen that day." }, ground.staff("viewer"));
    const view = (actor: string) => ground.get(`/workflows/appeal/${appeal.id}`, { actor });
    expect((await view(decider)).body.data.allowed_actions).toEqual([]);
    expect((await view(other)).body.data.allowed_actions).toContain("approve");
    expect((await ground.post(`/workflows/appeal/${appeal.id}/decision`, { decision: "approve" }, { actor: decider })).body.code).toBe(
      "conflict_of_interest",
    );
  }
});

test("a refused caller changes nothing and leaves no audit entry", async () => {
  const ground = await createGround();
  const { id } = await singleApproval(ground, ground.staff("moderator"));
  const route = `/workflows/blacklist-user/${id}/decision`;
  const approve = { decision: "approve" };
  expect((await ground.post(route, approve, { actor: ground.staff("moderator") })).body).toMatchObject({
    code: "permission_denied",
    required: "workflows.blacklist-user.decide",
  });
  expect((await ground.post(route, approve, { actor: ground.staff("senior"), scopes: "workflows.read" })).body).toMatchObject({
    missing_in: "key",
  });
  expect((await ground.post(route, approve)).body.code).toBe("acting_user_required");
  expect((await ground.post(route, approve, { scopes: "*,system.act" })).body.code).toBe("acting_user_required");
  expect(
    (await ground.post("/workflows/recruitment", { user_id: freshId(), position: "mod" }, { actor: ground.staff("viewer") })).body.code,
  ).toBe("permission_denied");
  expect(await ground.database.read.auditEntry.count()).toBe(1);
  expect(await ground.database.read.workflowVote.count()).toBe(0);
});

test("the kind in the path must be the request's", async () => {
  const ground = await createGround();
  const { id, reference } = await singleApproval(ground, ground.staff("moderator"));
  const actor = ground.staff("owner");
  const missing = await ground.post(`/workflows/punishment/PUN-REQ-000009/decision`, { decision: "approve" }, { actor });
  for (const path of [`/workflows/punishment/${id}`, `/workflows/poach/${reference}`]) {
    const answer = await ground.post(`${path}/decision`, { decision: "approve" }, { actor });
    expect(answer.status).toBe(404);
    expect({ ...answer.body, request_id: "", instance: "" }).toEqual({ ...missing.body, request_id: "", instance: "" });
    expect((await ground.get(path, { actor })).status).toBe(404);
  }
});

test("a kind that does not exist is a wrong path, whoever asks", async () => {
  const ground = await createGround();
  const { id } = await singleApproval(ground, ground.staff("moderator"));
  for (const level of ["viewer", "owner"] as const) {
    const asked = { actor: ground.staff(level) };
    const answer = await ground.post(`/workflows/nonsense/${id}/decision`, { decision: "approve" }, asked);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([expect.objectContaining({ pointer: "/type", in: "path" })]);
  }
  expect(await ground.database.read.workflowVote.count()).toBe(0);
});

test("a dry run shows what would come of a decision, or everything in the way, and writes nothing", async () => {
  const ground = await createGround();
  const { id } = await singleApproval(ground, ground.staff("moderator"));
  const [path, decider] = [`/workflows/blacklist-user/${id}/decision`, ground.staff("senior")];
  const written = async () => [
    await ground.database.read.workflowVote.count(),
    await ground.database.read.blacklistRecord.count(),
    await ground.database.read.auditEntry.count(),
    await ground.database.read.workflowEffect.count(),
  ];
  const before = await written();
  const dry = await ground.post(`${path}?dry_run=true`, { decision: "approve" }, { actor: decider });
  expect(dry.body).toMatchObject({ success: true, dry_run: true, status: "approved", final: true, blockers: [] });
  expect(dry.body.effects[0]).toMatchObject({ key: "blacklist.create", status: "done", target: { reference: "BL-000001" } });
  await ground.post(path, { decision: "hold", reason: "Wait for the clip." }, { actor: ground.staff("moderator") });
  const held = await ground.post(`${path}?dry_run=true`, { decision: "approve" }, { actor: decider });
  expect(held.body).toMatchObject({ dry_run: true, status: "pending", final: false, blockers: [{ code: "invalid_transition" }] });
  expect(held.body.effects[0]).toMatchObject({ key: "blacklist.create", status: "planned" });
  await ground.post(path, { decision: "release", reason: "It is here." }, { actor: decider });
  const [votes, records, audited, effects] = await written();
  expect([votes, records, audited! - 2, effects]).toEqual(before);
  const approved = await ground.post(path, { decision: "approve" }, { actor: decider });
  const named = (effects: any[]) =>
    effects.map(({ key, status, detail, target }) => ({ key, status, detail, reference: target?.reference }));
  expect(named(approved.body.effects)).toEqual(named(dry.body.effects));
});

test("decisions are understood in every spelling and refused by name when not offered", async () => {
  const ground = await createGround();
  const [requester, actor] = [ground.staff("moderator"), ground.staff("senior")];
  const { id } = await singleApproval(ground, requester);
  const decide = (body: object, headers = {}) => ground.post(`/workflows/blacklist-user/${id}/decision`, body, { actor, headers });
  expect((await decide({ decision: "maybe" })).body.errors).toMatchObject([
    { pointer: "/decision", code: "invalid_value", detail: expect.stringContaining("approve, deny") },
  ]);
  expect((await decide({ decision: "escalate" })).body.errors).toMatchObject([{ pointer: "/reason", code: "required" }]);
  expect((await decide({})).body.errors).toMatchObject([{ pointer: "/decision", code: "required" }]);
  expect((await decide({ status: "denied" })).body.errors).toMatchObject([{ pointer: "/reason", code: "required" }]);
  expect((await decide({ decision: "approve", revision: 7 })).body).toMatchObject({ code: "precondition_failed", current_etag: '"v1"' });
  expect((await decide({ decision: "approve", surprise: 1 })).body.errors).toMatchObject([{ pointer: "/surprise", code: "unknown_field" }]);
  expect(
    (await decide({ outcome: "rejected", reasonPublic: "Not enough for this.", reasonInternal: "the clip is cut", revision: 1 })).body,
  ).toMatchObject({ status: "denied", final: true });
  const seen = async (viewer: string) => (await ground.get(`/workflows/blacklist-user/${id}`, { actor: viewer })).body.data;
  expect(await seen(actor)).toMatchObject({
    decision: { reason_internal: "the clip is cut" },
    extra: {},
    approvals: { votes: [{ note: "the clip is cut" }] },
  });
  const plain = await seen(requester);
  expect(plain.decision).not.toHaveProperty("reason_internal");
  expect(plain).not.toHaveProperty("extra");
  expect(plain.approvals.votes[0]).not.toHaveProperty("note");
});

test("an approval whose effects cannot be carried out is refused and leaves nothing behind", async () => {
  const ground = await createGround();
  const { id } = await singleApproval(ground, ground.staff("moderator"));
  await ground.database.write(ground.callOf({ scopes: "system.act" }), async (tx) => {
    await tx.db.workflowRequest.update({ where: { id }, data: { payload: { user_id: "bob" } } });
  });
  const answer = await ground.post(`/workflows/blacklist-user/${id}/decision`, { decision: "approve" }, { actor: ground.staff("senior") });
  expect(answer.body).toMatchObject({ status: 409, code: "invalid_transition", allowed: ["amend", "deny"] });
  expect(await ground.database.read.workflowVote.count()).toBe(0);
  expect((await ground.database.read.workflowRequest.findUniqueOrThrow({ where: { id } })).status).toBe("pending");
});

test("a confidential investigation does not exist for those outside", async () => {
  const ground = await createGround();
  const [requester, lead, outside, admin] = [
    ground.staff("moderator"),
    ground.staff("senior"),
    ground.staff("senior"),
    ground.staff("admin"),
  ];
  const [subject, partial] = [ground.staff("admin"), ground.staff("admin")];
  const body = { subject: { id: subject }, allegation: reason, confidential: true, lead_user_id: lead, conflict_user_ids: [partial] };
  const { id, reference } = await file(ground, "investigation", body, requester);
  const sees = async (actor: string) => {
    const one = await ground.get(`/workflows/investigation/${reference}`, { actor });
    const list = await ground.get("/workflows?type=investigation", { actor });
    expect(list.body.data.length === 1).toBe(one.status === 200);
    return one.status;
  };
  expect([await sees(requester), await sees(lead), await sees(admin)]).toEqual([200, 200, 200]);
  expect([await sees(outside), await sees(subject), await sees(partial)]).toEqual([404, 404, 404]);
  const hidden = await ground.post(`/workflows/investigation/${id}/decision`, { decision: "approve" }, { actor: outside });
  const missing = await ground.post("/workflows/investigation/INV-REQ-000009/decision", { decision: "approve" }, { actor: outside });
  expect({ ...hidden.body, request_id: "", instance: "" }).toEqual({ ...missing.body, request_id: "", instance: "" });
  expect((await ground.get(`/workflows/investigation/${id}`, { actor: admin })).body.data.subjects).toEqual([
    { kind: "user", id: subject },
  ]);
  const second = await file(ground, "investigation", { subject: { id: subject }, allegation: reason }, outside);
  expect(second.duplicates).toEqual([]);
});

test("open requests end with time, on reading at once and in the books by the sweep", async () => {
  const ground = await createGround();
  const [actor, decider, user] = [ground.staff("moderator"), ground.staff("senior"), freshId()];
  const { id } = await singleApproval(ground, actor, user);
  ground.pass(31 * 86_400);
  expect((await ground.get(`/workflows/blacklist-user/${id}`, { actor })).body.data).toMatchObject({
    status: "expired",
    sla: { breached: true },
  });
  expect((await ground.get("/workflows?status=open", { actor })).body.data).toEqual([]);
  expect((await ground.get("/workflows?status=expired", { actor })).body.data).toHaveLength(1);
  expect((await ground.post(`/workflows/blacklist-user/${id}/decision`, { decision: "approve" }, { actor: decider })).body).toMatchObject({
    code: "invalid_transition",
    from: "expired",
    allowed: ["reopen"],
  });
  await singleApproval(ground, actor, user);
  expect(await ground.workflows.expireDue(systemCall("job", uuid7()))).toBe(1);
  expect(await ground.workflows.expireDue(systemCall("job", uuid7()))).toBe(0);
  expect((await ground.get("/audit?action=workflow.expire")).body.data).toMatchObject([{ via: "job", target: { id } }]);
});

test("filters, order and pages of the list", async () => {
  const ground = await createGround();
  const [actor, other, user] = [ground.staff("senior"), ground.staff("senior"), freshId()];
  for (const _ of times(3)) await singleApproval(ground, actor);
  await file(ground, "recruitment", { user_id: user, position: "mod", title: "The Quiet One" }, other);
  await file(ground, "appeal", { target: "bl-000009", grounds: "The account was stolen that day." }, other);
  const references = async (query: string) =>
    (await ground.get(`/workflows?${query}`, { actor })).body.data.map((view: any) => view.reference);
  expect(await references("type=recruitment")).toEqual(["REC-REQ-000001"]);
  expect(await references("requester=@me")).toEqual(["BLU-REQ-000003", "BLU-REQ-000002", "BLU-REQ-000001"]);
  expect(await references(`requester=${other}&status=pending`)).toEqual(["APL-REQ-000001", "REC-REQ-000001"]);
  expect(await references(`subject=${user}`)).toEqual(["REC-REQ-000001"]);
  expect(await references("subject=BL-000009")).toEqual(["APL-REQ-000001"]);
  expect(await references("q=quiet")).toEqual(["REC-REQ-000001"]);
  expect(await references("q=blacklist a user")).toEqual(["BLU-REQ-000003", "BLU-REQ-000002", "BLU-REQ-000001"]);
  expect(await references("q=appeal against")).toEqual(["APL-REQ-000001"]);
  expect(await references("q=bl-00000")).toEqual(["APL-REQ-000001"]);
  // Nobody looks for how a title is stored.
  expect(await references("q=workflows.")).toEqual([]);
  expect(await references("sort=created_at&limit=2")).toEqual(["BLU-REQ-000001", "BLU-REQ-000002"]);
  const page = (await ground.get("/workflows?limit=3", { actor })).body;
  const rest = (await ground.get(`/workflows?limit=3&cursor=${page.page.next_cursor}`, { actor })).body;
  expect([...page.data, ...rest.data].map((view: any) => view.reference)).toEqual([
    "APL-REQ-000001",
    "REC-REQ-000001",
    "BLU-REQ-000003",
    "BLU-REQ-000002",
    "BLU-REQ-000001",
  ]);
  expect((await ground.get("/workflows?surprise=x", { actor })).body.code).toBe("unknown_parameter");
});

test("a repeated creation or decision with the same idempotency key has one effect", async () => {
  const ground = await createGround();
  const [actor, decider] = [ground.staff("moderator"), ground.staff("senior")];
  const body = { user_id: freshId(), ...listing, server_ids: [ownGuilds[0]] };
  const headers = { "idempotency-key": "create-0001" };
  const first = await ground.post("/workflows/blacklist-user", body, { actor, headers });
  const again = await ground.post("/workflows/blacklist-user", body, { actor, headers });
  expect(again.body).toEqual(first.body);
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  const decide = () =>
    ground.post(
      `/workflows/blacklist-user/${first.body.id}/decision`,
      { decision: "approve" },
      { actor: decider, headers: { "idempotency-key": "decide-0001" } },
    );
  const decided = await decide();
  expect((await decide()).body).toEqual(decided.body);
  expect(await ground.database.read.workflowRequest.count()).toBe(1);
});

test("the document shows each kind's fields with an example that is accepted", async () => {
  const ground = await createGround();
  const document = ground.app.document() as any;
  for (const kind of workflowKinds) {
    const { example, schema } = document.paths[`/workflows/${kind}`].post.requestBody.content["application/json"];
    expect(JSON.stringify(schema)).toContain("Request");
    expect((await ground.post(`/workflows/${kind}`, example, { actor: ground.staff("senior") })).status, kind).toBe(201);
  }
});
