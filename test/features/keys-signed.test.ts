import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { everyRow, shareWorld } from "../contract/world.ts";
import type { Answer } from "../support/world.ts";
import { rowsOf } from "./keys-ground.ts";
import { claimsFor, createPair, hashOf, jws, type Claims } from "../support/signer.ts";

const lines: string[] = [];
const shared = shareWorld({ log: (line) => void lines.push(line) });
/** Every assertion that was sent. */
const sent: string[] = [];
const pair = createPair();
let owner: User;
let client: { id: string; key_id: string; key: string };
let audience: string;
beforeAll(async () => {
  const { world } = shared;
  owner = await world.staff("owner");
  const input = { name: "signing site", scopes: ["*"], delegation: "signed", public_key: pair.jwk };
  const { status, body } = await world.post("/keys", input, { actor: owner });
  expect([status, body.data.public_key]).toEqual([201, pair.jwk]);
  client = body.data;
  audience = (await world.get("/health", { key: null })).body.service.instance_id;
});

interface Signed {
  actor?: User;
  /** What the assertion says otherwise. */
  claims?: Claims;
  headers?: Record<string, string>;
}

/** A request as the signing site makes it, about a person. */
function prepare(method: string, target: string, body: object | undefined, { actor = owner, claims, headers = {} }: Signed = {}) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const [path = "", query = ""] = target.split("?");
  const honest = claimsFor({
    issuer: client.key_id,
    audience,
    userId: actor.id,
    method,
    path,
    query,
    ...(text !== undefined && { body: text }),
  });
  const assertion = jws({ ...honest, ...claims }, pair.privateKey);
  sent.push(assertion);
  return (): Promise<Answer> =>
    shared.world.request(method, target, text, { key: client.key, headers: { "x-acting-assertion": assertion, ...headers } });
}
const ask = (...given: Parameters<typeof prepare>): Promise<Answer> => prepare(...given)();
const entry = () => ({ kind: "user", subject_id: freshId() });
async function refusal(send: () => Promise<Answer>): Promise<any> {
  const before = await rowsOf(shared.world);
  const { body } = await send();
  expect(await rowsOf(shared.world)).toEqual(before);
  return body;
}

test("a signed key acts for whom its assertions name, with what both may do", async () => {
  const { world } = shared;
  const [senior, member] = [await world.staff("senior"), world.member()];
  const made = await ask("POST", "/blacklist", entry());
  expect([made.status, made.body.data?.created_by]).toEqual([201, owner.id]);
  expect((await ask("POST", "/blacklist", entry(), { headers: { "x-acting-user": owner.id } })).status).toBe(201);
  const [row] = await world.app.database.read.auditEntry.findMany({ orderBy: { seq: "desc" }, take: 1 });
  expect(row).toMatchObject({ actorId: owner.id, clientId: client.id, via: "rest" });
  expect(await refusal(prepare("POST", "/blacklist", entry(), { actor: senior }))).toMatchObject({ code: "permission_denied" });
  expect(await refusal(prepare("POST", "/blacklist", entry(), { actor: member }))).toMatchObject({ code: "acting_user_not_staff" });
  expect((await ask("GET", `/staff/${member.id}/access`, undefined, { actor: member })).body.data).toMatchObject({ user_id: member.id });
});

test("a signed dry run is not to be turned into the decision: the query of a write is signed, too", async () => {
  const target = "/workflows/decisions?dry_run=true";
  const body = { references: ["BLU-REQ-000001"], decision: "approve" };
  const missing = "The claim qry is missing: a write with a query needs it.";
  expect(await refusal(prepare("POST", target, body, { claims: { qry: undefined } }))).toMatchObject({
    code: "assertion_invalid",
    detail: missing,
  });
  const other = { claims: { qry: hashOf("dry_run=true") } };
  const wrong = { code: "assertion_invalid", detail: "The claim qry is not the SHA-256 of the query." };
  expect(await refusal(prepare("POST", "/workflows/decisions", body, other))).toMatchObject(wrong);
  expect(await refusal(prepare("POST", "/workflows/decisions?dry_run=false", body, other))).toMatchObject(wrong);
  expect((await ask("POST", target, body)).body.code).not.toBe("assertion_invalid");
  expect(await refusal(prepare("GET", "/staff?limit=1", undefined, { claims: { qry: hashOf("limit=2") } }))).toMatchObject(wrong);
});

test("an assertion is about the method and the path; a read may leave out its query", async () => {
  expect((await ask("GET", "/staff?limit=1", undefined, { claims: { qry: undefined } })).status).toBe(200);
  expect((await ask("GET", "/staff?limit=1", undefined)).status).toBe(200);
  expect((await ask("HEAD", "/staff", undefined)).status).toBe(200);
  for (const op of ["GET /staff/", "GET /blacklist", "POST /staff", "GET /staff?limit=1"]) {
    expect(await refusal(prepare("GET", "/staff?limit=1", undefined, { claims: { op } }))).toMatchObject({
      status: 401,
      code: "assertion_invalid",
      detail: "The claim op is not the method and path of this request.",
    });
  }
});

test("an assertion holds for the very bytes of the body", async () => {
  const { world } = shared;
  const body = JSON.stringify(entry());
  const claims = claimsFor({ issuer: client.id, audience, userId: owner.id, method: "POST", path: "/blacklist", body });
  const send = (text: string) =>
    world.post("/blacklist", text, { key: client.key, headers: { "x-acting-assertion": jws(claims, pair.privateKey) } });
  for (const other of [`${body} `, body.replace(":", ": "), "{}"]) {
    expect(await refusal(() => send(other))).toMatchObject({
      code: "assertion_invalid",
      detail: "The claim bod is not the SHA-256 of the body.",
    });
  }
  expect((await send(body)).status).toBe(201);
  expect(await refusal(prepare("POST", "/blacklist", entry(), { claims: { bod: undefined } }))).toMatchObject({
    detail: "The claim bod is missing: a request with a body needs it.",
  });
  const { id } = (await world.post("/keys", { name: "x", scopes: ["staff.read"] }, { actor: owner })).body.data;
  expect((await ask("POST", `/keys/${String(id)}/rotate`, undefined)).status).toBe(201);
});

test("what is missing or unclear is told, and a wrong X-Acting-User is wrong as ever", async () => {
  const { world } = shared;
  const post = (headers: Record<string, string>) => () => world.post("/blacklist", entry(), { key: client.key, headers });
  expect(await refusal(post({ "x-acting-user": owner.id }))).toMatchObject({
    status: 401,
    code: "assertion_invalid",
    detail: expect.stringContaining("X-Acting-Assertion; it is missing"),
  });
  expect(await refusal(post({}))).toMatchObject({ status: 403, code: "acting_user_required" });
  expect(await refusal(post({ "x-acting-assertion": "" }))).toMatchObject({ code: "assertion_invalid" });
  expect(await refusal(prepare("POST", "/blacklist", entry(), { headers: { "x-acting-user": "me" } }))).toMatchObject({
    status: 422,
    errors: [{ in: "header", pointer: "/X-Acting-User" }],
  });
  const other = { "x-acting-user": (await world.staff("owner")).id };
  expect(await refusal(prepare("POST", "/blacklist", entry(), { headers: other }))).toMatchObject({
    detail: "The claim sub is not the user in X-Acting-User.",
  });
});

test("of one assertion sent fifty times at once, one writes", async () => {
  const { world } = shared;
  const body = entry();
  const send = prepare("POST", "/blacklist", body);
  const answers = await Promise.all(Array.from({ length: 50 }, send));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(answers.filter((answer) => answer.status === 401 && answer.body.code === "assertion_replayed")).toHaveLength(49);
  expect(await world.app.database.read.blacklistRecord.count({ where: { subjectId: body.subject_id } })).toBe(1);
  expect(await refusal(send)).toMatchObject({ code: "assertion_replayed" });
});

test("a repeated request needs a fresh assertion, and then gets its first answer again", async () => {
  const body = entry();
  const headers = { "idempotency-key": `again-${randomUUID()}` };
  const first = await ask("POST", "/blacklist", body, { headers });
  expect(first.status).toBe(201);
  const again = await ask("POST", "/blacklist", body, { headers });
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  expect(again.body).toEqual(first.body);
});

test("after a restart nothing from before it is accepted, used or not, and a fresh assertion is", async () => {
  const { world } = shared;
  const [used, unused] = [prepare("POST", "/blacklist", entry()), prepare("POST", "/blacklist", entry())];
  expect((await used()).status).toBe(201);
  await world.restart();
  for (const send of [used, unused]) {
    expect(await refusal(send)).toMatchObject({
      status: 401,
      code: "assertion_invalid",
      detail: "The claim iat says that it was issued before this service started; make a fresh one.",
    });
  }
  await world.sandbox.waitFor(() => world.app.access.of(owner.id).isOwner);
  const { status, body } = await ask("POST", "/blacklist", entry());
  expect([status, body.code]).toEqual([201, undefined]);
});

test("a clock a little ahead is no way around a restart", async () => {
  const { world } = shared;
  const now = Date.now() / 1000 + 0.5;
  const send = prepare("GET", "/staff", undefined, { claims: { iat: now, exp: now + 30 } });
  expect((await send()).status).toBe(200);
  expect(Date.now() / 1000).toBeGreaterThanOrEqual(now - 0.01);
  await world.restart();
  expect(await refusal(send)).toMatchObject({ code: "assertion_invalid" });
});

test("a new public key takes hold at once", async () => {
  const { world } = shared;
  const other = createPair();
  const input = { name: "changing", scopes: ["staff.read"], delegation: "signed", public_key: pair.jwk };
  const { id, key_id, key } = (await world.post("/keys", input, { actor: owner })).body.data;
  const send = (by: typeof pair) => {
    const claims = claimsFor({ issuer: key_id, audience, userId: owner.id, method: "GET", path: "/staff" });
    return world.get("/staff", { key, headers: { "x-acting-assertion": jws(claims, by.privateKey) } });
  };
  expect([(await send(pair)).status, (await send(other)).status]).toEqual([200, 401]);
  expect((await world.patch(`/keys/${String(id)}`, { public_key: other.jwk }, { actor: owner })).status).toBe(200);
  expect([(await send(pair)).status, (await send(other)).status]).toEqual([401, 200]);
});

test("neither the key nor an assertion is in a log line or in any row", async () => {
  expect([sent.length > 20, lines.length > 20]).toEqual([true, true]);
  const everything = [lines.join("\n"), JSON.stringify(await everyRow(shared.world))];
  for (const hidden of [client.key.slice(22), ...sent.flatMap((assertion) => assertion.split(".").slice(1))]) {
    for (const text of everything) expect(text.includes(hidden)).toBe(false);
  }
});
