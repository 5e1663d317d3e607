// @module-tag slow
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { sealedColumns } from "../../src/features/authorization/authorization.service.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { sealedIn } from "../../src/kernel/secrets.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorkplace, dotEnv } from "../cli/run.ts";
import { validEnvironment } from "../config/environment.ts";
import { answerAtDiscord, createWorld, press, visit, type World } from "./authorization.setup.ts";

const staffId = "100000000000000001";
const cli = () => systemCall("cli", "reencrypt");

/** The ids of the keys of every sealed text there is, with how often they occur. */
async function keysInUse(world: World): Promise<Record<string, number>> {
  const { read } = world.database;
  const texts = [
    ...(await read.authorization.findMany()).flatMap(({ accessToken, refreshToken }) => [accessToken, refreshToken]),
    ...(await read.authorizationSession.findMany()).map(({ verifier }) => verifier),
    ...(await read.privacySession.findMany()).map(({ verifier }) => verifier),
    ...(await read.followedList.findMany()).map(({ key }) => key),
    ...(await read.webhook.findMany()).flatMap(({ secret, formerSecret }) => [secret, formerSecret]),
    ...(await read.tokenRevocation.findMany()).map(({ token }) => token),
    ...(await read.userServer.findMany()).map(({ details }) => details),
  ].filter((text) => text !== null);
  const keys = texts.map((text) => text.split(".")[1] ?? "");
  return Object.fromEntries([...new Set(keys)].map((key) => [key, keys.filter((one) => one === key).length]));
}

/** Something in every sealed column, more than two batches of it in one. */
async function createFilled() {
  const world = await createWorld();
  const people: User[] = [];
  for (const name of ["ann", "ben", "cleo"]) {
    const user = world.sandbox.createUser(name);
    for (let index = 0; index < 150; index += 1)
      world.sandbox.createGuild({ name: `${name} ${index.toString()}`, withBot: false }).addMember(user);
    await world.grant(user);
    people.push(user);
  }
  const dora = world.sandbox.createUser("dora");
  await world.grant(dora);
  world.sandbox.faults.oauth({ route: "revoke", status: 503, times: 1 });
  await world.delete(`/users/${dora.id}/authorization`, {}, { actor: staffId });
  const eve = world.sandbox.createUser("eve");
  const started = await press(await world.session(eve), "start");
  await world.database.write(cli(), async ({ db, now }) => {
    const id = "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f";
    const verifier = world.rooms.keyring.encrypt("verifier", sealedIn.privacyVerifier(id));
    await db.privacySession.create({ data: { id, cookieHash: "cookie", verifier, createdAt: now, expiresAt: now } });
    const reading = { taken: {}, lastSeq: 0, unexplained: 0, explainable: 0, readings: 0, failures: 0 };
    const list = { name: "Harbour Watch", kind: "provost", categories: [], trust: 50, intervalMinutes: 5, state: "following", revision: 1 };
    const key = world.rooms.keyring.encrypt("prv_live_harbour", sealedIn.listKey(id));
    const secret = world.rooms.keyring.encrypt("whsec_a", sealedIn.webhookSecret(id));
    const formerSecret = world.rooms.keyring.encrypt("whsec_b", sealedIn.formerWebhookSecret(id));
    const hook = { name: "hook", url: "https://client.example/", types: [], state: "paused", position: 0, failures: 0, revision: 1 };
    await db.webhook.create({ data: { id, secret, formerSecret, ...hook, createdAt: now, updatedAt: now } });
    await db.followedList.create({ data: { id, key, ...list, ...reading, createdAt: now, updatedAt: now } });
  });
  const before = await keysInUse(world);
  expect(before).toEqual({ k1: 3 * 2 + 1 + 1 + 1 + 1 + 2 + 450 });
  const [[, first] = ["", Buffer.alloc(0)]] = world.encryptionKeys;
  const fresh = randomBytes(32);
  await world.restart({
    encryptionKeys: new Map([
      ["k2", fresh],
      ["k1", first],
    ]),
  });
  return { world, people, eve, started, total: before["k1"] ?? 0, onlyNew: new Map([["k2", fresh]]) };
}

describe("moving on to another key", () => {
  test("stopped after some batches and begun again, every text is sealed with the first key, and the old one can go", async () => {
    const { world, people, eve, started, total, onlyNew } = await createFilled();
    let batches = 0;
    const stopped = world.rooms.authorization.reencrypt(cli(), () => {
      batches += 1;
      if (batches === 6) throw new Error("killed");
    });
    await expect(stopped).rejects.toThrow("killed");
    const half = await keysInUse(world);
    expect(half["k1"]).toBeGreaterThan(0);
    expect(half["k2"]).toBeGreaterThan(0);
    expect(await world.actions()).not.toContain("secrets.reencrypt");
    await world.restart();

    const done = await world.rooms.authorization.reencrypt(cli());
    expect(done.reduce((sum, { resealed }) => sum + resealed, 0)).toBe(half["k1"]);
    expect(done.every(({ unreadable }) => unreadable === 0)).toBe(true);
    expect(await keysInUse(world)).toEqual({ k2: total });
    const audited = (await world.actions()).filter((action) => action === "secrets.reencrypt");
    expect(audited).toHaveLength(1);

    await world.restart({ encryptionKeys: onlyNew });
    for (const user of people) {
      const page = await world.get(`/users/${user.id}/servers?limit=200`);
      expect(page.body.data).toHaveLength(150);
      expect((await world.post(`/users/${user.id}/refresh`, {}, { actor: staffId })).body.data.servers).toEqual({
        added: 0,
        removed: 0,
        total: 150,
      });
    }
    expect((await visit(await answerAtDiscord(started.location, eve), started.cookie)).location).toBe("/authorize/result/done");
    world.clock.forward(3600);
    expect((await world.rooms.authorization.sweep(systemCall("job", "sweep"))).revocations_told).toBe(1);
    const privacy = await world.database.read.privacySession.findFirstOrThrow();
    expect(world.rooms.keyring.decrypt(privacy.verifier ?? "", sealedIn.privacyVerifier(privacy.id))).toBe("verifier");
  });

  test("a second time there is nothing to do, and nothing is audited", async () => {
    const world = await createWorld();
    await world.grant(world.sandbox.createUser("ann"));
    const done = await world.rooms.authorization.reencrypt(cli());
    expect(done.map(({ column }) => column)).toEqual(sealedColumns.map(({ name }) => name));
    expect(done.every(({ resealed, unreadable }) => resealed === 0 && unreadable === 0)).toBe(true);
    expect(await world.actions()).not.toContain("secrets.reencrypt");
  });

  test("a service that refreshes meanwhile loses no grant", async () => {
    const { world, people } = await createFilled();
    world.clock.forward(604_800);
    for (const user of people) world.sandbox.expireAccessTokens(user);
    const release = world.holdDiscord();
    const refreshing = people.map((user) => world.post(`/users/${user.id}/refresh`, {}, { actor: staffId }));
    await world.sandbox.waitFor(
      () =>
        world.sandbox.exchanges.filter(({ requestBody }) => JSON.stringify(requestBody ?? "").includes("refresh_token")).length >=
        people.length,
    );
    await world.rooms.authorization.reencrypt(cli());
    release();
    expect((await Promise.all(refreshing)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(Object.keys(await keysInUse(world))).toEqual(["k2"]);
    for (const user of people) expect((await world.get(`/users/${user.id}/authorization`)).body.data.status).toBe("active");
  });

  test("a text that changed since it was read is left alone", async () => {
    const { world } = await createFilled();
    for (const column of sealedColumns) {
      const [text] = await column.find(world.database.read, { current: "v1.k2.", after: null, limit: 1 });
      if (text === undefined) throw new Error(`nothing in ${column.name}`);
      const replace = (sealed: string, fresh: string) =>
        world.database.write(cli(), ({ db }) => column.replace(db, { ...text, sealed }, fresh));
      expect(await replace("v1.k1.something.else.now", "v1.k2.lost")).toBe(0);
      expect(await column.find(world.database.read, { current: "v1.k2.", after: null, limit: 1 })).toEqual([text]);
      expect(await replace(text.sealed, text.sealed)).toBe(1);
    }
  });

  test("texts no key opens are counted and stay; the others are sealed again", async () => {
    const { world, total } = await createFilled();
    await world.database.write(cli(), async ({ db }) => {
      const [row] = await db.userServer.findMany({ take: 1 });
      const where = { userId: row?.userId ?? "", serverHash: row?.serverHash ?? "" };
      await db.userServer.updateMany({ where, data: { details: "v1.gone.aaaa.bbbb.cccc" } });
    });
    const done = await world.rooms.authorization.reencrypt(cli());
    expect(done.find(({ column }) => column === "user_servers.details")).toMatchObject({ unreadable: 1, resealed: 449 });
    expect(await keysInUse(world)).toEqual({ k2: total - 1, gone: 1 });
  });

  test("the command line does it beside a running service, and says when the other keys can go", async () => {
    const { world, total } = await createFilled();
    const keys = [...world.encryptionKeys].map(([id, key]) => `${id}:${key.toString("base64")}`).join(",");
    const environment = { ...validEnvironment(), DATABASE_URL: world.databaseUrl, SQLITE_SYNCHRONOUS: "normal", ENCRYPTION_KEYS: keys };
    await using work = await createWorkplace(dotEnv(environment));
    const first = await work.provost(["secrets", "reencrypt"]);
    expect(first.stderr).toContain("user_servers.details: 200\nuser_servers.details: 400\nuser_servers.details: 450\n");
    expect(first).toMatchObject({
      code: 0,
      stdout: `${total.toString()} texts encrypted again with the first key.\nNothing needs the other keys any more.\n`,
    });
    expect(await keysInUse(world)).toEqual({ k2: total });
    await world.database.write(cli(), ({ db }) =>
      db.authorization.updateMany({ where: { accessToken: { not: null } }, data: { accessToken: "v1.gone.a.b.c" } }),
    );
    const second = await work.here(["secrets", "reencrypt"]);
    expect(second.code).toBe(1);
    expect(second.stdout).toBe("0 texts encrypted again with the first key.\n");
    expect(second.stderr).toContain(
      "Some texts open with none of the keys: authorizations.access_token (3). Add the key that they were encrypted with at the end of `ENCRYPTION_KEYS`, and run this again.",
    );
  });

  test("is not for callers of the API", async () => {
    const world = await createWorld();
    const call = { ...cli(), client: { id: "c", name: "c", allows: (permission: string) => permission !== "system.act" } };
    await expect(world.rooms.authorization.reencrypt(call)).rejects.toMatchObject({ code: "permission_denied" });
  });
});
