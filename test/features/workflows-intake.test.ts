import fc from "fast-check";
import { expect, test } from "vitest";
import { ZodError } from "zod";
import { actions } from "../../src/features/workflows/state/table.ts";
import { understandDecision } from "../../src/features/workflows/requests/decision.ts";
import { understand } from "../../src/features/workflows/requests/intake.ts";
import { kinds } from "../../src/features/workflows/kinds/kinds.ts";
import { workflowKinds } from "../../src/kernel/vocabulary.ts";
import { runsOf } from "../support/size.ts";

const user = "80351110224678912";
const other = "80351110224678913";
const reason = "Led the raid of last night.";
/** What a user blacklist request needs besides its subject. */
const rest = { category: "raid", severity: "high", reason };

function pointersOf(attempt: () => unknown): string[] {
  try {
    attempt();
  } catch (error) {
    if (error instanceof ZodError) return error.issues.map((issue) => `/${issue.path.map(String).join("/")}`).toSorted();
    throw error;
  }
  return [];
}
const refused = (body: unknown, kind: (typeof workflowKinds)[number] = "blacklist-user") => pointersOf(() => understand(kinds[kind], body));

test.each([
  ["flat", { user_id: user, ...rest }],
  ["camelCase", { userId: user, ...rest }],
  ["wrapped", { payload: { user_id: user, ...rest } }],
  ["wrapped camelCase", { payload: { userID: user, ...rest } }],
  ["target_id", { target_id: user, ...rest }],
  ["targetUserId", { targetUserId: user, ...rest }],
  ["discord_user_id", { discord_user_id: user, ...rest }],
  ["memberId", { memberId: user, ...rest }],
  ["two names that agree", { user_id: user, discordUserId: user, ...rest }],
])("a %s body is understood", (_name, body) => {
  expect(understand(kinds["blacklist-user"], body).payload).toMatchObject({ user_id: user, ...rest, scope: "network" });
});

test.each([
  ["blacklist-user", { user_id: user, ...rest }, { scope: "network" }],
  ["blacklist-user", { payload: { userId: user, serverIds: [other], ...rest } }, { scope: "servers" }],
  ["investigation", { subject: user, reason }, { allegation: reason }],
  ["appeal", { target: "BL-000001", summary: reason }, { grounds: reason }],
] as const)("what follows from other fields of a %s request is taken from them and told: %j", (kind, body, assumed) => {
  const { payload, warnings } = understand(kinds[kind], body);
  const [field = ""] = Object.keys(assumed);
  expect(payload).toMatchObject(assumed);
  expect(warnings.filter(({ code }) => code === "field_assumed").map(({ pointer }) => pointer)).toEqual([
    "payload" in body ? `/payload/${field}` : `/${field}`,
  ]);
});

test("unknown fields are kept and reported where the client wrote them", () => {
  const intake = understand(kinds["blacklist-user"], { payload: { userId: user, ...rest, ticketNo: { deepKey: 7 } }, source: "x" });
  expect(intake.extra).toEqual({ ticketNo: { deepKey: 7 }, source: "x" });
  expect(
    intake.warnings
      .filter(({ code }) => code === "unknown_field_kept")
      .map(({ pointer }) => pointer)
      .toSorted(),
  ).toEqual(["/payload/ticketNo", "/source"]);
});

test("more than 4 KiB of unknown fields is refused", () => {
  expect(refused({ user_id: user, ...rest, notes: "x".repeat(5000) })).toEqual(["/"]);
  expect(refused({ user_id: user, ...rest, notes: "x".repeat(3000) })).toEqual([]);
});

test.each([
  [{ userId: user, createdBy: other, ...rest }, ["/createdBy"]],
  [{ payload: { user_id: user, status: "approved", ...rest } }, ["/payload/status"]],
  [{ user_id: user, ...rest, id: "x", revision: 2, reference: "BLU-REQ-000009" }, ["/id", "/reference", "/revision"]],
  [{ user_id: user, targetId: other, ...rest }, ["/targetId"]],
  [{ payload: { memberId: user }, ...rest, member_id: other }, ["/payload/memberId"]],
  [{ userId: 80351110224678912, ...rest }, ["/userId"]],
  [{ payload: { targetUserId: 80351110224678912, ...rest, reason: "short" } }, ["/payload/reason", "/payload/targetUserId"]],
  [{ payload: { userId: user } }, ["/payload/category", "/payload/reason", "/payload/severity"]],
  [{ user_id: user, ...rest, evidence: [{ kind: "link", url: "javascript:alert(1)" }] }, ["/evidence/0/url"]],
  [{ userId: user, ...rest, evidence: [{ recordRef: 5 }] }, ["/evidence/0/recordRef"]],
  [{ user_id: user, ...rest, scope: "servers" }, ["/server_ids"]],
  [{ userId: user, ...rest, recommendedAction: "explode", onDuplicate: "maybe" }, ["/onDuplicate", "/recommendedAction"]],
  [{ payload: "text", user_id: user, ...rest }, ["/payload"]],
  ["text", ["/"]],
])("%j is refused at %j", (body, pointers) => {
  expect(refused(body)).toEqual(pointers);
});

test("a lone id stands for the subject of an investigation and for a list of accounts", () => {
  const alike = { confidence: "suspected", basis: [{ type: "behaviour", note: "Same phrases." }] };
  expect(understand(kinds.investigation, { target_user_id: user, reason: "Leaked the staff chat." }).payload).toMatchObject({
    subject: { kind: "user", id: user },
    allegation: "Leaked the staff chat.",
  });
  expect(understand(kinds["alt-request"], { userId: user, altUserId: other, ...alike }).payload).toMatchObject({
    user_ids: [other, user],
    primary_user_id: user,
  });
  expect(refused({ targetUserId: "bob", reason }, "investigation")).toEqual(["/targetUserId"]);
  expect(refused({ userId: user, altUserId: 12, ...alike }, "alt-request")).toEqual(["/altUserId"]);
});

test("every stored payload is understood again as it was stored, and every title and subject fits", () => {
  for (const kind of workflowKinds) {
    const { payload } = understand(kinds[kind], kinds[kind].example);
    expect(kinds[kind].payload.parse(structuredClone(payload))).toEqual(payload);
    expect(kinds[kind].title(payload).length).toBeLessThanOrEqual(120);
    expect(kinds[kind].subjects(payload).length).toBeGreaterThan(0);
  }
});

test("no body makes the intake fail in any other way than by naming fields", () => {
  fc.assert(
    fc.property(fc.constantFrom(...workflowKinds), fc.jsonValue({ maxDepth: 4 }), fc.boolean(), (kind, value, isMixed) => {
      const body = isMixed && typeof value === "object" && !Array.isArray(value) ? { ...kinds[kind].example, ...value } : value;
      for (const pointer of refused(body, kind)) expect(pointer.startsWith("/")).toBe(true);
    }),
    { numRuns: runsOf(500) },
  );
});

test.each(["decision", "action", "outcome", "status"])("the decision may be called %s", (name) => {
  expect(understandDecision(kinds.punishment, { [name]: "approve" }).action).toBe("approve");
});

const understood = (body: object, kind: (typeof workflowKinds)[number] = "punishment") => understandDecision(kinds[kind], body);
const longReason = "There is not enough evidence for it.";
/** The least an action needs besides its name. */
const rests: Readonly<Record<string, object>> = {
  deny: { reason: longReason },
  reverse: { reason: longReason },
  request_info: { questions: ["When was it?"] },
  provide_info: { answer: "On Tuesday." },
  amend: { payload: { reason: longReason } },
  assign: { assignee: user },
  void: { reason: "Filed twice." },
  ...Object.fromEntries(["escalate", "deescalate", "hold", "release", "object", "reopen"].map((action) => [action, { reason: "Why." }])),
};

test.each([
  ["approve", ["approve", "approved", "accept", "accepted", "yes", "YES", " yes "]],
  ["deny", ["deny", "denied", "reject", "rejected", "decline", "no"]],
  ["request_info", ["request_info", "requestInfo", "info", "more_info", "needs-info", "needs_info"]],
  ["reverse", ["reverse", "revoke", "overturn", "rescind"]],
])("%s has other words: %j", (action, words) => {
  for (const word of words) expect(understood({ decision: word, ...rests[action] }), word).toMatchObject({ action, ruling: undefined });
});

test.each([
  ["uphold", "deny", undefined],
  ["upheld", "deny", undefined],
  ["overturn", "approve", "overturn"],
  ["reduce", "approve", "reduce"],
  ["remit", "approve", "remit"],
])("of an appeal, %s means %s", (word, action, ruling) => {
  expect(
    understood(
      {
        outcome: word,
        reason: longReason,
        ...(word === "reduce" && { new_duration: "7d" }),
        ...(word === "remit" && { instructions: longReason }),
      },
      "appeal",
    ),
  ).toMatchObject({ action, ruling });
});

test.each(["uphold", "reduce", "remit"])("of anything else, %s is no decision", (word) => {
  expect(pointersOf(() => understood({ decision: word, reason: longReason }))).toEqual(["/decision"]);
});

test.each(actions)("%s is understood with the least it needs, and refused by name without it", (action) => {
  expect(understood({ decision: action, ...rests[action] })).toMatchObject({ action, reasonInternal: null, revision: undefined });
  const [needed] = Object.keys(rests[action] ?? {});
  expect(pointersOf(() => understood({ decision: action }))).toEqual(needed === undefined ? [] : [`/${needed}`]);
});

test.each([
  [{}, ["/decision"]],
  [{ decision: "deny", reasonPublic: "short" }, ["/reasonPublic"]],
  [{ decision: "deny", reason_internal: longReason }, ["/reason"]],
  [{ decision: "deny", reason: "x".repeat(1001) }, ["/reason"]],
  [{ decision: "reverse", reason: "too short" }, ["/reason"]],
  [{ decision: "object" }, ["/reason"]],
  [{ decision: "maybe" }, ["/decision"]],
  [{ decision: "expire" }, ["/decision"]],
  [{ action: "escalate" }, ["/reason"]],
  [{ decision: "yes", status: "denied", reason: longReason }, ["/status"]],
  [{ decision: "yes", foo: 1 }, ["/"]],
  [{ decision: "no", reason: longReason, reason_public: "Something different." }, ["/reason_public"]],
  [{ decision: "yes", reasonPublic: longReason, reason_public: longReason }, ["/reasonPublic"]],
  [{ decision: "request_info", questions: [] }, ["/questions"]],
  [{ decision: "info", questions: Array.from({ length: 6 }, () => "Why was it?") }, ["/questions"]],
  [{ decision: "void" }, ["/reason"]],
  [{ decision: "yes", revision: 0 }, ["/revision"]],
  [{ decision: "yes", effects: { "notice.subject": "no" } }, ["/effects/notice.subject"]],
  [{ decision: "assign", assignee: "bob" }, ["/assignee"]],
])("the decision %j is refused at %j", (body, pointers) => {
  expect(pointersOf(() => understood(body))).toEqual(pointers);
});

/** Fields that belong to some actions only, with a value that fits. */
const owned: Readonly<Record<string, { value: unknown; of: readonly string[] }>> = {
  questions: { value: ["When was it?"], of: ["request_info"] },
  answer: { value: "On Tuesday.", of: ["provide_info"] },
  evidence: { value: [{ kind: "link", url: "https://example.org/a" }], of: ["provide_info"] },
  payload: { value: { reason: longReason }, of: ["amend"] },
  assignee: { value: user, of: ["assign"] },
  steal: { value: true, of: ["claim", "assign"] },
  duplicate_of: { value: "PUN-REQ-000001", of: ["void"] },
  duration: { value: "7d", of: ["approve"] },
  effects: { value: { "notice.subject": false }, of: ["approve"] },
  override: { value: true, of: ["approve", "deny", "reverse"] },
};

test.each(Object.entries(owned))("%s is refused by name with an action it does not belong to", (field, { value, of }) => {
  for (const action of actions) {
    const body = { decision: action, ...rests[action], ...(field === "override" && { reason: longReason }), [field]: value };
    expect(
      pointersOf(() => understood(body)),
      action,
    ).toEqual(of.includes(action) ? [] : [`/${field}`]);
  }
});

test.each(["approve", "deny", "reverse"])("to %s alone needs a public reason of 20 characters", (action) => {
  const alone = (rest: object) => pointersOf(() => understood({ decision: action, override: true, ...rest }));
  expect(alone({ reason: "x".repeat(19) })).toEqual(["/reason"]);
  expect(alone({ reason: "x".repeat(20) })).toEqual([]);
  expect(alone({ reason_internal: "x".repeat(40) })).toEqual(["/reason"]);
  expect(alone({ reason_public: "   short   padded    " })).toEqual(["/reason_public"]);
});

test("a duplicate needs no reason to be void", () => {
  expect(understood({ decision: "void", duplicateOf: "PUN-REQ-000001" })).toMatchObject({ action: "void", reasonPublic: null });
});

test("words that mean the same may stand beside each other", () => {
  expect(understood({ decision: "approve", status: "approved" }).action).toBe("approve");
});
