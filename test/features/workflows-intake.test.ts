import fc from "fast-check";
import { expect, test } from "vitest";
import { ZodError } from "zod";
import { understandDecision } from "../../src/features/workflows/workflows.decision.ts";
import { understand } from "../../src/features/workflows/workflows.intake.ts";
import { kinds } from "../../src/features/workflows/workflows.kinds.ts";
import { categories } from "../../src/features/blacklist/blacklist.schema.ts";
import { userCategories } from "../../src/features/workflows/workflows.payloads.ts";
import { serverCategories } from "../../src/features/workflows/workflows.payloads-servers.ts";
import { workflowKinds } from "../../src/kernel/workflow-kinds.ts";

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
  const intake = understand(kinds["blacklist-user"], { payload: { userId: user, ...rest, ticketNo: { deepKey: 7 } }, guild: "x" });
  expect(intake.extra).toEqual({ ticketNo: { deepKey: 7 }, guild: "x" });
  expect(intake.warnings.filter(({ code }) => code === "unknown_field_kept").map(({ pointer }) => pointer)).toEqual([
    "/guild",
    "/payload/ticketNo",
  ]);
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
  [{ userId: user, ...rest, recommendedAction: "explode", onDuplicate: "join" }, ["/onDuplicate", "/recommendedAction"]],
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

test("every category of a request is one of the blacklist's", () => {
  expect([...userCategories]).toEqual([...categories.user]);
  expect([...serverCategories]).toEqual([...categories.server]);
});

test("no body makes the intake fail in any other way than by naming fields", () => {
  fc.assert(
    fc.property(fc.constantFrom(...workflowKinds), fc.jsonValue({ maxDepth: 4 }), fc.boolean(), (kind, value, isMixed) => {
      const body = isMixed && typeof value === "object" && !Array.isArray(value) ? { ...kinds[kind].example, ...value } : value;
      for (const pointer of refused(body, kind)) expect(pointer.startsWith("/")).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test.each(["decision", "action", "outcome", "status"])("the decision may be called %s", (name) => {
  expect(understandDecision({ [name]: "approve" }).action).toBe("approve");
});

test.each(["approve", "approved", "accept", "accepted", "yes", "YES"])("%s approves", (word) => {
  expect(understandDecision({ decision: word })).toEqual({
    action: "approve",
    reasonPublic: null,
    reasonInternal: null,
    revision: undefined,
  });
});

test.each(["deny", "denied", "reject", "rejected", "decline", "no"])("%s denies", (word) => {
  expect(understandDecision({ decision: word, reasonPublic: "Not enough evidence." })).toMatchObject({
    action: "deny",
    reasonPublic: "Not enough evidence.",
  });
});

test.each([
  [{}, ["/decision"]],
  [{ decision: "deny" }, ["/reason"]],
  [{ decision: "deny", reasonPublic: "short" }, ["/reasonPublic"]],
  [{ decision: "maybe" }, ["/decision"]],
  [{ action: "escalate" }, ["/action"]],
  [{ decision: "yes", status: "denied", reason: "Not enough evidence." }, ["/status"]],
  [{ decision: "yes", foo: 1 }, ["/"]],
  [{ decision: "no", reason: "Not enough evidence.", reason_public: "Something different." }, ["/reason_public"]],
])("the decision %j is refused at %j", (body, pointers) => {
  expect(pointersOf(() => understandDecision(body))).toEqual(pointers);
});

test("words that mean the same may stand beside each other", () => {
  expect(understandDecision({ decision: "approve", status: "approved" }).action).toBe("approve");
});
