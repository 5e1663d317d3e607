import { expect, test } from "vitest";
import { workflowKinds, type WorkflowKind } from "../../src/kernel/vocabulary.ts";
import { createGround, freshId } from "./workflows-ground.ts";

const reason = "Led the raid of last night.";
const day = "2027-01-01T00:00:00.000Z";
const [one, two] = [freshId(), freshId()];

/** Every kind, and every form of a kind, with all it needs and nothing else. */
const needed: readonly [name: string, kind: WorkflowKind, fields: Readonly<Record<string, unknown>>][] = [
  ["blacklist-user", "blacklist-user", { user_id: one, category: "raid", severity: "high", reason }],
  ["blacklist-server", "blacklist-server", { server_id: one, category: "raiding", severity: "high", member_policy: "flag", reason }],
  ["investigation", "investigation", { subject: { kind: "staff", id: one }, allegation: reason }],
  ["recruitment", "recruitment", { user_id: one, position: "moderator" }],
  ["server-merge", "server-merge", { source_server_id: one, target_server_id: two, effective_at: day }],
  ["alt-request", "alt-request", { user_ids: [one, two], confidence: "suspected", basis: [{ type: "behaviour", note: "Same words." }] }],
  ["punishment", "punishment", { user_id: one, action: "warning", reason }],
  ["poach report", "poach", { kind: "report", offending_server_id: one, victim_server_id: two, occurred_at: day }],
  ["poach agreement", "poach", { kind: "agreement", party_server_ids: [one, two] }],
  ["poach clearance", "poach", { kind: "clearance", user_id: one, from_server_id: one, to_server_id: two }],
  ["appeal", "appeal", { target: "BLU-REQ-000001", grounds: "The account was stolen that day." }],
];

const camelCase = (name: string) => name.replaceAll(/_([a-z])/g, (_whole, letter: string) => letter.toUpperCase());
const inCamelCase = (fields: object) => Object.fromEntries(Object.entries(fields).map(([name, value]) => [camelCase(name), value]));

/** Where a client writes its fields, and where it then looks for one. An own field shows the style when no other is left. */
const spellings: readonly { body(fields: object): object; pointer(name: string): string }[] = [
  { body: (fields) => fields, pointer: (name) => `/${name}` },
  { body: (fields) => ({ ...inCamelCase(fields), externalId: "T-1" }), pointer: (name) => `/${camelCase(name)}` },
  { body: (fields) => ({ payload: fields }), pointer: (name) => `/payload/${name}` },
  { body: (fields) => ({ payload: inCamelCase(fields), externalId: "T-1" }), pointer: (name) => `/payload/${camelCase(name)}` },
];

test("the table names every kind", () => {
  expect([...new Set(needed.map(([, kind]) => kind))].toSorted()).toEqual([...workflowKinds].toSorted());
});

test.each(needed)("a %s request needs each of its fields, and no other", async (_name, kind, fields) => {
  const ground = await createGround();
  const actor = ground.staff("senior");
  for (const name of Object.keys(fields)) {
    const { [name]: _left, ...others } = fields;
    for (const { body, pointer } of spellings) {
      const { status, body: problem } = await ground.post(`/workflows/${kind}`, body(others), { actor });
      const error = { pointer: pointer(name), in: "body", code: "required", detail: expect.stringMatching(/^[A-Z].*\.$/) };
      expect([status, problem.errors]).toEqual([422, [error]]);
    }
  }
  expect(await ground.database.read.workflowRequest.count()).toBe(0);
  const made = await ground.post(`/workflows/${kind}`, fields, { actor });
  expect([made.status, made.body.status]).toEqual([201, "pending"]);
});

test.each(needed)("everything a %s request lacks is named at once, beside what is wrong", async (_name, kind, fields) => {
  const ground = await createGround();
  const { kind: form, ...others } = fields;
  const body = { ...(form !== undefined && { kind: form }), priority: "whenever", ...(kind === "poach" && { method: "fax" }) };
  const { errors } = (await ground.post(`/workflows/${kind}`, body, { actor: ground.staff("senior") })).body;
  expect(errors.map((error: any) => `${error.pointer} ${error.code}`).toSorted()).toEqual(
    [
      ...Object.keys(others).map((name) => `/${name} required`),
      "/priority invalid_value",
      ...(kind === "poach" ? ["/method invalid_value"] : []),
    ].toSorted(),
  );
});

test("a demotion without its role lacks a field", async () => {
  const ground = await createGround();
  const body = { payload: { userId: one, action: "demotion", reason } };
  const { errors } = (await ground.post("/workflows/punishment", body, { actor: ground.staff("senior") })).body;
  expect(errors).toEqual([
    { pointer: "/payload/demoteTo", in: "body", code: "required", detail: "A demotion names the role it leads to." },
  ]);
});

test.each([
  ["blacklist-user", "category", ["raid", "harassment", "predatory", "staff_abuse", "compromised", "other"]],
  ["blacklist-user", "severity", ["low", "medium", "high", "critical"]],
  ["blacklist-server", "member_policy", ["inform", "flag", "verify", "deny_staff", "deny_entry"]],
  ["alt-request", "confidence", ["suspected", "probable", "confirmed"]],
  ["punishment", "action", ["note", "warning", "strike", "probation", "suspension", "demotion", "termination", "blacklist_referral"]],
  ["poach", "kind", ["report", "agreement", "clearance"]],
] as const)("a wrong choice in a %s request's %s is answered with the choices", async (kind, name, choices) => {
  const ground = await createGround();
  const fields = needed.find((row) => row[1] === kind)?.[2];
  for (const wrong of ["explode", "", 7, null]) {
    const { status, body } = await ground.post(`/workflows/${kind}`, { ...fields, [name]: wrong }, { actor: ground.staff("senior") });
    expect([status, body.errors]).toMatchObject([422, [{ pointer: `/${name}`, code: "invalid_value" }]]);
    expect(body.errors).toHaveLength(1);
    for (const choice of choices) expect(body.errors[0].detail).toMatch(new RegExp(`\\b${choice}\\b`));
  }
});

test("the document shows the same fields as needed, and that other spellings pass", async () => {
  const ground = await createGround();
  const { paths, components } = ground.app.document() as any;
  for (const [, kind, fields] of needed) {
    const forms = paths[`/workflows/${kind}`].post.requestBody.content["application/json"].schema.anyOf;
    expect(forms[0]).toMatchObject({ type: "object", additionalProperties: {}, description: expect.stringContaining("camelCase") });
    const schema = components.schemas[forms[1].$ref.split("/").at(-1)];
    const { required, properties } = schema;
    expect(required.toSorted()).toEqual(kind === "poach" ? ["kind"] : Object.keys(fields).toSorted());
    expect(Object.keys(properties)).toEqual(expect.arrayContaining([...Object.keys(fields), "title", "evidence", "external_id"]));
    if (kind !== "poach") continue;
    const hints = Object.entries<any>(properties).filter(([, property]) =>
      JSON.stringify(property).includes(`Needed when the kind is ${String(fields["kind"])}`),
    );
    expect(["kind", ...hints.map(([name]) => name)].toSorted()).toEqual(Object.keys(fields).toSorted());
  }
});
