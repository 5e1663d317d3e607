// @module-tag both
import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import type { Answer } from "../support/world.ts";
import { acceptIn, journalOf } from "./confirmations-ground.ts";

const shared = shareWorld({ env: { CONFIRM_IN_DISCORD: "keys,permissions" } });
let owner: User;
let second: User;
beforeAll(async () => {
  [owner, second] = [await staffAtConsole(shared.world, "owner"), await staffAtConsole(shared.world, "owner")];
});

const operator = () => systemCall("cli", "request-1");
async function makeKey(more: object = {}) {
  const made = await shared.world.app.keys.create(operator(), { name: "site", scopes: ["*"], delegation: "trusted", ...more });
  if (!("key" in made)) throw new Error("held");
  return made;
}
/** A redaction waits for a second person, a day long. */
async function ask(key: string): Promise<Answer> {
  const body = { reason: "Asked for by the person by mail." };
  const answer = await shared.world.post(`/users/${shared.world.member().id}/redaction`, body, { actor: owner, key });
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  return answer;
}
const read = async ({ body }: Answer): Promise<any> =>
  (await shared.world.get(`/confirmations/${String(body.data.id)}`, { actor: owner })).body.data;
const accept = (person: User, { body }: Answer): Promise<string> => acceptIn(shared.world, person, body.data.code);
const ended = { status: "failed", failure: "credential_revoked", needs: [] };

describe("what was asked with a key", () => {
  test("ends with it when it is revoked, for everybody to see, and what was asked with another one stays", async () => {
    const [key, another] = [await makeKey(), await makeKey()];
    const [held, kept] = [await ask(key.key), await ask(another.key)];
    const before = await shared.world.app.database.read.erasure.count();
    await shared.world.app.keys.revoke(operator(), key.id);
    expect(await read(held)).toMatchObject({ ...ended, ended_at: expect.any(String) });
    const { entries, events } = await journalOf(shared.world, held.body.data.id);
    expect(entries.map(({ action }) => action)).toEqual(["confirmation.request", "confirmation.fail"]);
    expect(events.map(({ type }) => type)).toEqual(["confirmation.requested", "confirmation.ended"]);
    expect(await accept(second, held)).toContain("record_not_found");
    expect([(await read(kept)).status, await shared.world.app.database.read.erasure.count()]).toEqual(["pending", before]);
  });

  test("ends when the key is revoked by a change that was confirmed, and when it is rotated away without grace", async () => {
    const key = await makeKey();
    const held = await ask(key.key);
    const revocation = await shared.world.delete(`/keys/${key.id}`, undefined, { actor: owner, key: key.key });
    expect(revocation.status).toBe(202);
    await accept(owner, revocation);
    expect([await read(held), await read(revocation)]).toMatchObject([ended, { status: "applied" }]);
    const other = await makeKey();
    const [first, alike] = [await ask(other.key), await ask(other.key)];
    await shared.world.app.keys.rotate(operator(), other.id, { grace_seconds: 0 });
    expect([await read(first), await read(alike)]).toMatchObject([ended, ended]);
  });

  test("does not outlive the key, also when the end of the key is moved", async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const key = await makeKey({ expires_at: at });
    expect(await read(await ask(key.key))).toMatchObject({ status: "pending", expires_at: at });
    const longer = await makeKey();
    const held = await ask(longer.key);
    await shared.world.app.keys.rotate(operator(), longer.id, { grace_seconds: 600 });
    const { expires_at: until, status } = await read(held);
    expect([status, Date.parse(until) - Date.now() < 601_000]).toEqual(["pending", true]);
  });

  test("is not carried out once those who made the key may not do it any more", async () => {
    const maker = await staffAtConsole(shared.world, "admin");
    for (const role of ["admin"])
      await shared.world.app.permissions.updateRole(operator(), role, { allow: ["clients.manage", "users.redact"] });
    const made = await shared.world.post(
      "/keys",
      { name: "theirs", scopes: ["users.redact", "permissions.read"], delegation: "trusted" },
      { actor: maker },
    );
    await accept(maker, made);
    const held = await ask(made.body.data.key);
    await shared.world.app.staff.suspend(operator(), maker.id, { reason: "Until this is cleared up." });
    expect(await accept(second, held)).toContain("permission_denied");
    expect(await read(held)).toMatchObject({ status: "failed", failure: "permission_denied" });
  });
});

test("whatever is asked, confirmed and revoked at once, nothing waits for a key that is gone, and nobody waits forever", async () => {
  for (let round = 0; round < 6; round += 1) {
    const keys = [await makeKey(), await makeKey()] as const;
    const revocations = await Promise.all(
      // Each key asks for the end of the other: one order of locks for both.
      keys.map(({ key }, index) => shared.world.delete(`/keys/${keys[1 - index]!.id}`, undefined, { actor: owner, key })),
    );
    const said = await Promise.allSettled([
      ...revocations.map((held) => accept(owner, held)),
      shared.world.app.keys.revoke(operator(), keys[round % 2]!.id),
      ask(keys[1].key),
    ]);
    expect(said.slice(0, 3).filter(({ status }) => status === "rejected")).toEqual([]);
    const waiting = await shared.world.app.database.read.confirmation.findMany({
      where: { status: "pending", clientId: { in: keys.map(({ id }) => id) } },
    });
    const revoked = await shared.world.app.database.read.apiKey.findMany({
      where: { id: { in: keys.map(({ id }) => id) }, NOT: { revokedAt: null } },
    });
    expect(waiting.filter(({ clientId }) => revoked.some(({ id }) => id === clientId))).toEqual([]);
    expect(revoked.length).toBeGreaterThan(0);
  }
});
