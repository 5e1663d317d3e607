import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { claimsFor, createPair, jws } from "../support/signer.ts";
import type { Answer } from "../support/world.ts";
import { listen } from "./events-listener.ts";

/** Streams of events look often whether they may go on. */
const shared = shareWorld({ pauses: { streams: { pingMs: 200 } } });
let owner: User;
let other: User;
beforeAll(async () => {
  [owner, other] = [await staffAtConsole(shared.world, "owner"), await shared.world.staff("senior")];
  const given = await shared.world.patch("/permissions/roles/admin", { allow: ["clients.manage"] }, { actor: owner });
  expect(given.status, JSON.stringify(given.body)).toBe(200);
});

const quarrel = { title: "A quarrel", subjects: [{ kind: "user", id: "80351110224678912" }] };
const scopes = ["clients.manage", "staff.*", "cases.create", "audit.read"];
const reason = "Until this is cleared up.";
/** An admin who may make keys, and sees the commands. */
const keeper = (): Promise<User> => staffAtConsole(shared.world, "admin");
const operator = () => systemCall("cli", "request-1");

async function makeKey(maker: User, more: object = {}): Promise<any> {
  const made = await shared.world.post("/keys", { name: "site", scopes, delegation: "trusted", ...more }, { actor: maker });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body.data;
}
const openCase = (key: string, headers: Record<string, string> = {}): Promise<Answer> =>
  shared.world.post("/cases", quarrel, { key, actor: other, headers });
const cases = (): Promise<number> => shared.world.app.database.read.case.count();
const view = async ({ id }: { id: string }): Promise<any> => (await shared.world.get(`/keys/${id}`, { actor: owner })).body.data;
const suspend = (person: User): Promise<Answer> => shared.world.post(`/staff/${person.id}/suspend`, { reason }, { actor: owner });
const deny = (person: User, key: string): Promise<Answer> =>
  shared.world.patch(`/permissions/users/${person.id}`, { overrides: [{ key, effect: "deny", reason }] }, { actor: owner });

/** A key that names nobody any more and reads nothing: neither wrote anything. */
async function expectSilent(key: string, headers: Record<string, string> = {}): Promise<void> {
  const before = await cases();
  expect((await openCase(key, headers)).body).toMatchObject({
    status: 403,
    code: "permission_denied",
    required: "delegation",
    missing_in: "key",
  });
  expect(await cases()).toBe(before);
}

describe("a key never does more than those who made it", () => {
  test("and is silent while one of them is suspended, which the answer, the audit and the list of keys say", async () => {
    const maker = await keeper();
    const key = await makeKey(maker);
    expect((await openCase(key.key)).status).toBe(201);
    expect(await view(key)).toMatchObject({ warning: null, makers: [maker.id] });
    const suspended = await suspend(maker);
    expect([suspended.status, suspended.body.data.keys]).toEqual([200, [key.key_id]]);
    const [entry] = (await shared.world.get("/audit?action=staff.suspend&limit=1", { actor: owner })).body.data;
    expect(entry.after).toMatchObject({ keys: [key.key_id] });
    await expectSilent(key.key);
    expect((await shared.world.get("/audit", { key: key.key })).body).toMatchObject({
      status: 403,
      required: "audit.read",
      missing_in: "key",
    });
    expect(await view(key)).toMatchObject({ state: "active", warning: "limited" });
    await shared.world.post(`/staff/${maker.id}/reinstate`, { reason }, { actor: owner });
    expect((await openCase(key.key)).status).toBe(201);
    expect(await view(key)).toMatchObject({ warning: null });
  });

  test("as Discord says, too", async () => {
    const maker = await keeper();
    const key = await makeKey(maker);
    const run = await shared.world.sandbox.as(owner).in(shared.world.guild).runSlashCommand("staff suspend", { user: maker, reason });
    await run.reply();
    await run.clickButton("Yes, do it");
    await shared.world.sandbox.waitFor(() => run.current()?.content.includes("is **suspended**") === true);
    expect(run.current()?.content).toContain(key.key_id);
    expect(await shared.world.slash(owner, "setup clients show", { client: key.key_id })).toContain("limited");
    await expectSilent(key.key);
  });

  test("and names nobody once clients.manage is denied to one of them, but reads what they still hold", async () => {
    const maker = await keeper();
    const key = await makeKey(maker);
    expect((await deny(maker, "clients.manage")).status).toBe(200);
    await expectSilent(key.key);
    expect((await shared.world.get("/staff", { key: key.key })).status).toBe(200);
    expect(await view(key)).toMatchObject({ warning: "limited" });
  });

  test("and does not do for others what is denied to one of them", async () => {
    const maker = await keeper();
    const key = await makeKey(maker);
    expect((await deny(maker, "cases.create")).status).toBe(200);
    const before = await cases();
    expect((await openCase(key.key)).body).toMatchObject({ code: "permission_denied", required: "cases.create", missing_in: "key" });
    expect(await cases()).toBe(before);
    expect((await shared.world.get("/staff", { key: key.key, actor: other })).status).toBe(200);
  });

  test("nor once they are no staff, or by a signature", async () => {
    const maker = await keeper();
    const pair = createPair();
    const key = await makeKey(maker, { delegation: "signed", public_key: pair.jwk });
    const audience = (await shared.world.get("/health", { key: null })).body.service.instance_id;
    const body = JSON.stringify(quarrel);
    const proof = () => ({
      "x-acting-assertion": jws(
        claimsFor({ issuer: key.key_id, audience, userId: other.id, method: "POST", path: "/cases", body }),
        pair.privateKey,
      ),
    });
    expect((await openCase(key.key, proof())).status).toBe(201);
    shared.world.guild.setRoles(maker, []);
    await shared.world.sandbox.waitFor(() => !shared.world.app.access.of(maker.id).isStaff);
    await expectSilent(key.key, proof());
  });

  test("and a stream of events that it follows in the name of another ends", async () => {
    const maker = await keeper();
    const key = await makeKey(maker);
    const listener = await listen(shared.world, { key: key.key, actor: other });
    expect(listener.status, JSON.stringify(listener.problem)).toBe(200);
    expect((await deny(maker, "clients.manage")).status).toBe(200);
    expect(await listener.ended).toBe("end");
    expect((await listen(shared.world, { key: key.key, actor: other })).problem).toMatchObject({
      required: "delegation",
      missing_in: "key",
    });
  });

  test("while keys that were made with it, by whomever, are silent with it", async () => {
    const maker = await keeper();
    const key = await makeKey(maker);
    const further = await shared.world.post(
      "/keys",
      { name: "further", scopes: ["staff.read", "cases.create"], delegation: "trusted" },
      { actor: owner, key: key.key },
    );
    expect(further.status, JSON.stringify(further.body)).toBe(201);
    const { keys } = (await suspend(maker)).body.data;
    expect(new Set(keys)).toEqual(new Set([key.key_id, further.body.data.key_id]));
    await expectSilent(further.body.data.key);
  });

  test("until somebody else gives it a new secret, which they do not know", async () => {
    const maker = await keeper();
    const key = await makeKey(maker);
    await suspend(maker);
    const rotated = await shared.world.post(`/keys/${String(key.id)}/rotate`, {}, { actor: owner });
    expect(rotated.body.data).toMatchObject({ makers: [owner.id], warning: null });
    expect((await openCase(rotated.body.data.key)).status).toBe(201);
    await expectSilent(key.key);
  });

  test("but a key of the operator, and one that somebody has only given more to, depends on nobody", async () => {
    const maker = await keeper();
    const made = await shared.world.app.keys.create(operator(), { name: "site", scopes: ["cases.create"], delegation: "trusted" });
    if (!("key" in made)) throw new Error("held");
    expect((await shared.world.patch(`/keys/${made.id}`, { scopes: ["cases.create", "audit.read"] }, { actor: maker })).status).toBe(200);
    expect((await suspend(maker)).body.data.keys).toEqual([]);
    expect((await openCase(made.key)).status).toBe(201);
    expect(await view(made)).toMatchObject({ makers: [], warning: null });
  });
});
