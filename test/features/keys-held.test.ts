import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { everyRow, shareWorld, staffAtConsole } from "../contract/world.ts";
import type { Answer } from "../support/world.ts";
import { acceptIn } from "./confirmations-ground.ts";
import { rowsOf } from "./keys-ground.ts";

const lines: string[] = [];
const shared = shareWorld({ env: { CONFIRM_IN_DISCORD: "keys", SECOND_PERSON_FOR_DANGER: "true" }, log: (line) => void lines.push(line) });
const operator = () => systemCall("cli", "request-1");
const secrets: string[] = [];
let owner: User;
let keeper: User;
beforeAll(async () => {
  owner = await staffAtConsole(shared.world, "owner");
  keeper = await staffAtConsole(shared.world, "admin");
  const mapped = await shared.world.put("/permissions/roles/admin", { allow: ["clients.manage"], deny: [] }, { actor: owner });
  expect(mapped.status, JSON.stringify(mapped.body)).toBe(202);
  await accept(owner, mapped);
  await accept(await staffAtConsole(shared.world, "owner"), mapped);
  await shared.world.sandbox.waitFor(() => shared.world.app.access.of(keeper.id).decide("clients.manage").allowed);
});

const accept = (person: User, { body }: Answer): Promise<string> => acceptIn(shared.world, person, body.data.code);
const use = async (key: string): Promise<string> => {
  const { status, body } = await shared.world.get("/staff", { key });
  return status === 200 ? "works" : body.code;
};
/** A harmless key, made by the operator: nothing of his is held. */
async function existing(scopes = ["staff.read"], more: object = {}): Promise<any> {
  const made = await shared.world.app.keys.create(operator(), { name: "site", scopes, ...more });
  if (!("key" in made)) throw new Error("held");
  secrets.push(made.key);
  return made;
}
const read = async (id: string): Promise<any> => (await shared.world.get(`/keys/${id}`, { actor: owner })).body.data;
const keyRows = async (): Promise<string[]> => (await rowsOf(shared.world))["ApiKey"] ?? [];
/** The answer of a change that is held: no key is changed by it. */
async function held(ask: () => Promise<Answer>): Promise<Answer> {
  const before = await keyRows();
  const answer = await ask();
  expect([answer.status, answer.body.code]).toEqual([202, "confirmation_required"]);
  expect(answer.headers.get("location")).toBe(`/confirmations/${String(answer.body.data.id)}`);
  expect(await keyRows()).toEqual(before);
  if (answer.body.data.key !== undefined) secrets.push(answer.body.data.key);
  return answer;
}

describe("a key that is made", () => {
  test("is shown at once and works once the change is confirmed", async () => {
    const input = { name: "held", scopes: ["staff.read"], expires_days: 30, ip_allowlist: ["127.0.0.1"] };
    const answer = await held(() => shared.world.post("/keys", input, { actor: owner }));
    const { key, needs, action, summary } = answer.body.data;
    expect({ key, needs, action, summary }).toEqual({
      key: expect.stringMatching(/^prv_live_/),
      needs: ["acting_user"],
      action: "keys.create",
      summary: expect.stringMatching(
        /^Make an API key: name "held"; scopes staff\.read; delegation none; usable from 127\.0\.0\.1; ends \d{4}-\d\d-\d\d\.$/,
      ),
    });
    expect(await use(key)).toBe("invalid_credentials");
    const told = (await shared.world.get(`/confirmations/${String(answer.body.data.id)}`, { actor: owner })).body;
    expect(told.data).toMatchObject({ status: "pending" });
    expect(JSON.stringify(told)).not.toContain(key.slice(22));
    await accept(owner, answer);
    expect(await use(key)).toBe("works");
    const made = await read(key.slice(9, 21));
    expect(made).toMatchObject({ name: "held", scopes: ["staff.read"], ip_allowlist: ["127.0.0.1"], created_by: owner.id });
    expect(Date.parse(made.expires_at) - Date.parse(made.created_at)).toBe(30 * 86_400_000);
  });

  test("is not shown a second time to a repeated request", async () => {
    const ask = () =>
      shared.world.post("/keys", { name: "once", scopes: ["staff.read"] }, { actor: owner, headers: { "idempotency-key": "held-once-1" } });
    const first = await held(ask);
    const before = await rowsOf(shared.world);
    expect((await ask()).body).toMatchObject({ status: 422, code: "idempotency_key_reused" });
    expect(await rowsOf(shared.world)).toEqual(before);
    await accept(owner, first);
    expect(await use(first.body.data.key)).toBe("works");
  });

  test("never works when the change is declined", async () => {
    const answer = await held(() => shared.world.post("/keys", { name: "declined", scopes: ["staff.read"] }, { actor: owner }));
    const before = await keyRows();
    await shared.world.post(`/confirmations/${String(answer.body.data.id)}/decline`, undefined, { actor: owner });
    await accept(owner, answer);
    expect([await use(answer.body.data.key), await keyRows()]).toEqual(["invalid_credentials", before]);
  });

  test("with dangerous scopes needs a second person as well", async () => {
    const answer = await held(() => shared.world.post("/keys", { name: "danger", scopes: ["staff.*"] }, { actor: owner }));
    expect(answer.body.data.needs).toEqual(["acting_user", "second_person"]);
    await accept(owner, answer);
    expect(await use(answer.body.data.key)).toBe("invalid_credentials");
    const confirmed = await shared.world.post(`/confirmations/${String(answer.body.data.id)}/confirm`, undefined, {
      signed: true,
      actor: await shared.world.staff("owner"),
    });
    expect(confirmed.body.data).toMatchObject({ status: "applied" });
    expect(await use(answer.body.data.key)).toBe("works");
  });

  test("is refused at once where it would be refused anyway, and for a key that acts without anybody", async () => {
    const system = await shared.world.makeKey(["*", "system.act"]);
    const before = await rowsOf(shared.world);
    const scopes = ["staff.read"];
    expect((await shared.world.post("/keys", { name: "x", scopes: ["*"] }, { actor: keeper })).body).toMatchObject({
      code: "cannot_grant_unheld",
    });
    expect((await shared.world.post("/keys", { name: "x", scopes }, { key: system })).body).toMatchObject({ code: "acting_user_required" });
    expect(await rowsOf(shared.world)).toEqual(before);
  });

  test("is not made any more when whoever asked may not by then", async () => {
    const person = await staffAtConsole(shared.world, "admin");
    await shared.world.sandbox.waitFor(() => shared.world.app.access.of(person.id).decide("clients.manage").allowed);
    const answer = await held(() => shared.world.post("/keys", { name: "late", scopes: ["audit.read"] }, { actor: person }));
    const console = shared.world.guild.createRole("console 2", { permissions: ["Administrator"] });
    shared.world.guild.setRoles(person, [shared.world.roles.moderator, console]);
    await shared.world.sandbox.waitFor(() => !shared.world.app.access.of(person.id).decide("clients.manage").allowed);
    await accept(person, answer);
    expect(await use(answer.body.data.key)).toBe("invalid_credentials");
  });
});

describe("a rotation", () => {
  test("leaves the old key as it is until it is confirmed", async () => {
    const old = await existing();
    const answer = await held(() => shared.world.post(`/keys/${String(old.id)}/rotate`, { grace_seconds: 0 }, { actor: owner }));
    const { key, summary } = answer.body.data;
    expect(summary).toMatch(/^Give the API key "site" \(\w{12}\) a new secret: scopes staff\.read; delegation none; ends /);
    expect(await Promise.all([use(old.key), use(key)])).toEqual(["works", "invalid_credentials"]);
    await accept(owner, answer);
    expect(await Promise.all([use(old.key), use(key)])).toEqual(["credential_revoked", "works"]);
  });

  test("of a key with dangerous scopes needs a second person, and is for nobody who holds less, also with the key itself", async () => {
    const old = await existing(["*"], { delegation: "trusted" });
    const path = `/keys/${String(old.id)}/rotate`;
    expect((await shared.world.post(path, {}, { actor: keeper, key: old.key })).body).toMatchObject({ code: "cannot_grant_unheld" });
    expect((await shared.world.post(path, {}, { key: old.key })).body).toMatchObject({ code: "acting_user_required" });
    const answer = await held(() => shared.world.post(path, {}, { actor: owner, key: old.key }));
    expect(answer.body.data.needs).toEqual(["acting_user", "second_person"]);
    await accept(owner, answer);
    expect(await use(answer.body.data.key)).toBe("invalid_credentials");
    await accept(await staffAtConsole(shared.world, "owner"), answer);
    expect(await Promise.all([use(old.key), use(answer.body.data.key)])).toEqual(["works", "works"]);
    expect(await read(answer.body.data.key.slice(9, 21))).toMatchObject({
      rotated_from: old.id,
      scopes: ["*"],
      expires_at: old.expires_at,
    });
  });

  test("of a key that was changed in between fails", async () => {
    const old = await existing();
    const answer = await held(() => shared.world.post(`/keys/${String(old.id)}/rotate`, {}, { actor: owner }));
    await shared.world.app.keys.update(operator(), old.id, { scopes: ["staff.*"] });
    await accept(owner, answer);
    expect(await use(answer.body.data.key)).toBe("invalid_credentials");
    const told = (await shared.world.get(`/confirmations/${String(answer.body.data.id)}`, { actor: owner })).body.data;
    expect(told).toMatchObject({ status: "failed", failure: "precondition_failed" });
  });
});

test("changes and revocations are carried out as they were asked", async () => {
  const { id, key } = await existing();
  const renamed = await held(() => shared.world.patch(`/keys/${String(id)}`, { name: "other", expires_days: 20 }, { actor: owner }));
  expect(renamed.body.data).toMatchObject({
    needs: ["acting_user"],
    summary: expect.stringMatching(/^Change the API key "site" \(\w{12}\): name "other"; ends \d{4}-\d\d-\d\d\.$/),
  });
  expect(renamed.body.data).not.toHaveProperty("key");
  await accept(owner, renamed);
  expect(await read(id)).toMatchObject({ name: "other", warning: "expires_soon", revision: 2 });
  const widened = await held(() => shared.world.patch(`/keys/${String(id)}`, { scopes: ["staff.*"] }, { actor: owner }));
  expect(widened.body.data).toMatchObject({
    needs: ["acting_user", "second_person"],
    summary: expect.stringMatching(/: scopes staff\.\*; dangerous: staff\.suspend\.$/),
  });
  const revoked = await held(() => shared.world.delete(`/keys/${String(id)}`, undefined, { actor: owner }));
  expect([await use(key), revoked.body.data.summary]).toEqual(["works", `Revoke the API key "other" (${key.slice(9, 21)}).`]);
  await accept(owner, revoked);
  expect([await use(key), (await read(id)).state]).toEqual(["credential_revoked", "revoked"]);
  expect((await shared.world.delete(`/keys/${String(id)}`, undefined, { actor: owner })).status).toBe(200);
});

test("no secret is in a log line or in any row, whatever was held, confirmed or declined", async () => {
  expect(secrets.length).toBeGreaterThan(8);
  expect(lines.length).toBeGreaterThan(30);
  const everything = [lines.join("\n"), JSON.stringify(await everyRow(shared.world))];
  for (const key of secrets) for (const text of everything) expect(text.includes(key.slice(22, 60))).toBe(false);
});
