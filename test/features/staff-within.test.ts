import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { inWords } from "../../src/kit/say.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";
import { runsOf } from "../support/size.ts";

const time = { offset: 0 };
const clock = { now: () => new Date(Date.now() + time.offset) };
const shared = shareWorld({ clock });
const cast: { owner: User } = {} as never;
beforeAll(async () => {
  cast.owner = await shared.world.staff("owner");
});

const day = 86_400_000;
const at = (days: number): Date => new Date(clock.now().getTime() + days * day);
const staff = () => shared.world.app.staff;
const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => shared.world.app.database.write(systemCall("job", "test"), work);
const cause = { reason: "Under review.", permission: "workflows.punishment.decide" as const, causeReference: "PUN-REQ-000001" };
const note = { reason: "Taken back.", permission: "workflows.punishment.reverse" as const };

const suspend = (userId: string, until: Date | null = null) => write((tx) => staff().suspendInTx(tx, { userId, until, ...cause }));
const deny = (userId: string, permissions: string[], until: Date | null = null) =>
  write((tx) => staff().denyInTx(tx, { userId, permissions, until, reason: cause.reason, permission: cause.permission }));
/** What an effect keeps has been through JSON. */
const lift = (done: object) => write((tx) => staff().undoSuspendInTx(tx, kept(done), note));
const allow = (done: object) => write((tx) => staff().undoDenyInTx(tx, kept(done), note));
function kept(done: object): unknown {
  if (!("undo" in done)) throw new Error(JSON.stringify(done));
  return JSON.parse(JSON.stringify(done.undo));
}

const access = async (userId: string) => (await shared.world.get(`/staff/${userId}/access`)).body.data;
const rowsOf = (userId: string) => shared.world.app.database.read.userPermission.findMany({ where: { userId }, orderBy: { id: "asc" } });
const auditOf = (userId: string) =>
  shared.world.app.database.read.auditEntry.findMany({ where: { subjectUserId: userId }, orderBy: { seq: "asc" } });
const actionsOf = async (userId: string) => (await auditOf(userId)).map(({ action }) => action);
async function toldOf(userId: string): Promise<string[]> {
  const rows = await shared.world.app.database.read.outboxEvent.findMany({ orderBy: { seq: "asc" } });
  const about = rows.filter(({ data }) => (data as { user_id?: string }).user_id === userId);
  return about.map(({ type, data }) => `${type} ${(data as { change?: string }).change ?? ""}`.trim());
}

describe("a suspension that a request leads to", () => {
  test("takes every permission away with the commit, and gives it back", async () => {
    const { id } = await shared.world.staff("senior");
    const done = await suspend(id, at(7));
    expect(await access(id)).toMatchObject({ allowed: false, status: "suspended", denied: ["*"] });
    expect(inWords(await lift(done))).toEqual({ restored: true, detail: "The suspension was lifted." });
    expect(await access(id)).toMatchObject({ allowed: true, status: "active", denied: [] });
    expect(await rowsOf(id)).toEqual([]);
    expect(await lift(done)).toMatchObject({ restored: false });
    const permissions = (await auditOf(id)).map(({ action, permissionUsed }) => [action, permissionUsed]);
    expect(permissions).toEqual([
      ["staff.suspend", cause.permission],
      ["staff.reinstate", note.permission],
    ]);
    expect(await toldOf(id)).toEqual(["staff.access_changed suspend", "staff.access_changed reinstate"]);
  });

  test("is nothing when its transaction comes to nothing", async () => {
    const { id } = await shared.world.staff("senior");
    const failed = write(async (tx) => {
      await staff().suspendInTx(tx, { userId: id, until: null, ...cause });
      throw new Error("changed its mind");
    });
    await expect(failed).rejects.toThrow("changed its mind");
    expect([(await access(id)).allowed, await rowsOf(id), await actionsOf(id)]).toEqual([true, [], []]);
  });

  test("never meets an owner, and nothing that is over already is written", async () => {
    const { id } = await shared.world.staff("senior");
    expect(inWords(await suspend(cast.owner.id))).toEqual({ skipped: "Owners cannot be suspended." });
    expect(inWords(await suspend(id, at(-1)))).toEqual({ skipped: "The suspension would be over already." });
    for (const userId of [cast.owner.id, id]) expect([await rowsOf(userId), await actionsOf(userId)]).toEqual([[], []]);
  });

  test("bars somebody who is no staff yet the moment they would be", async () => {
    const { world } = shared;
    const person = world.member();
    const done = await suspend(person.id);
    world.guild.setRoles(person, [world.roles.moderator]);
    await world.sandbox.waitFor(() => world.app.access.of(person.id).isStaff);
    expect(await access(person.id)).toMatchObject({ allowed: false, status: "suspended" });
    await lift(done);
    expect(await access(person.id)).toMatchObject({ allowed: true, status: "active" });
  });

  test("stands beside a shorter one, whichever is taken back first; one that lasts as long is enough", async () => {
    for (const isShortFirst of [true, false]) {
      const { id } = await shared.world.staff("senior");
      const short = await suspend(id, at(2));
      const long = await suspend(id, at(9));
      expect(inWords(await suspend(id, at(5)))).toMatchObject({ skipped: expect.stringContaining("as long") });
      const profile = await shared.world.get(`/permissions/users/${id}`, { actor: cast.owner });
      expect(Date.parse(profile.body.data.suspension.expires_at)).toBeGreaterThan(at(8).getTime());
      await lift(isShortFirst ? short : long);
      expect((await access(id)).status).toBe("suspended");
      expect(await lift(isShortFirst ? long : short)).toMatchObject({ restored: true });
      expect([(await access(id)).status, await rowsOf(id)]).toEqual(["active", []]);
    }
  });

  test("ends with the others when somebody reinstates the person, and is not revived", async () => {
    const { id } = await shared.world.staff("senior");
    const [short, long] = [await suspend(id, at(2)), await suspend(id)];
    const answer = await shared.world.post(`/staff/${id}/reinstate`, { reason: "Enough." }, { actor: cast.owner });
    expect(answer.body.data).toMatchObject({ status: "active", suspension: null });
    for (const done of [long, short])
      expect(inWords(await lift(done))).toEqual({ restored: false, detail: "The suspension had ended already." });
    expect([(await access(id)).status, await rowsOf(id)]).toEqual(["active", []]);
  });
});

describe("permissions that a request denies", () => {
  const keys = ["workflows.claim", "workflows.review"];

  test("are denied at once, but for keys with an entry, and come back", async () => {
    const { id } = await shared.world.staff("moderator");
    const own = { overrides: [{ key: "workflows.claim", effect: "allow", reason: "Needed tonight." }] };
    expect((await shared.world.patch(`/permissions/users/${id}`, own, { actor: cast.owner })).status).toBe(200);
    const before = await rowsOf(id);
    const done = await deny(id, keys, at(3));
    expect((await access(id)).denied).toEqual(["workflows.review"]);
    expect(await deny(id, keys)).toMatchObject({ skipped: expect.any(String) });
    expect((await rowsOf(id)).map(({ permission, effect }) => [permission, effect])).toEqual([
      ["workflows.claim", "allow"],
      ["workflows.review", "deny"],
    ]);
    expect(await allow(done)).toMatchObject({ restored: true });
    expect([await rowsOf(id), (await access(id)).denied]).toEqual([before, []]);
    expect(await allow(done)).toMatchObject({ restored: false });
  });

  test("stay as somebody has written them since", async () => {
    const { id } = await shared.world.staff("moderator");
    const done = await deny(id, keys, at(3));
    const own = { overrides: [{ key: "workflows.claim", effect: "deny", reason: "For another reason." }] };
    expect((await shared.world.patch(`/permissions/users/${id}`, own, { actor: cast.owner })).status).toBe(200);
    expect(inWords(await allow(done))).toMatchObject({ restored: false, detail: expect.stringContaining("replaced") });
    expect((await rowsOf(id)).map(({ permission, reason }) => [permission, reason])).toEqual([["workflows.claim", "For another reason."]]);
  });

  test("are never an owner's, nor ones that do not exist", async () => {
    const { id } = await shared.world.staff("moderator");
    expect(inWords(await deny(cast.owner.id, keys))).toEqual({ skipped: "Owners cannot be denied anything." });
    await expect(deny(id, ["workflows.claim", "no.such_key"])).rejects.toMatchObject({ code: "invalid_transition" });
    expect([await rowsOf(cast.owner.id), await rowsOf(id), await actionsOf(id)]).toEqual([[], [], []]);
  });

  test("end by their date, as suspensions do, and are not revived", async () => {
    const { id } = await shared.world.staff("moderator");
    const [denied, barred] = [await deny(id, keys, at(1)), await suspend(id, at(1))];
    time.offset += 2 * day;
    expect(await access(id)).toMatchObject({ status: "active", denied: [] });
    await shared.world.app.permissions.expireDue(systemCall("job", "sweep"));
    expect(await rowsOf(id)).toEqual([]);
    expect([await allow(denied), await lift(barred)]).toMatchObject([{ restored: false }, { restored: false }]);
    expect(await actionsOf(id)).toEqual(["user_permissions.update", "staff.suspend", "user_permissions.expire"]);
  });
});

test("the Discord roles of a staff role, and those somebody holds, are known without asking", async () => {
  const { world } = shared;
  const person = await world.staff("senior");
  const plain = world.guild.createRole("just a colour");
  world.guild.setRoles(person, [world.roles.senior, world.roles.viewer, plain]);
  await world.sandbox.waitFor(() => world.app.access.of(person.id).held.length === 2);
  const guildId = world.guild.id;
  expect(staff().mappedRolesHeldBy(person.id)).toEqual([
    { guildId, roleId: world.roles.senior.id, staffRole: "senior" },
    { guildId, roleId: world.roles.viewer.id, staffRole: "viewer" },
  ]);
  expect(staff().discordRolesOf("senior")).toEqual([{ guildId, roleId: world.roles.senior.id }]);
  expect([staff().discordRolesOf("nobody"), staff().mappedRolesHeldBy(freshId())]).toEqual([[], []]);
  expect([staff().staffRoleOf("senior")?.rank, staff().staffRoleOf("nobody")]).toEqual([60, undefined]);
});

test("whatever is done to somebody, taking it all back in reverse leaves the entries there were", async () => {
  const keys = ["workflows.claim", "workflows.review", "cases.create"];
  const until = fc.constantFrom(null, 1, 5, 9);
  const step = fc.oneof(
    fc.record({ verb: fc.constant("suspend" as const), until }),
    fc.record({ verb: fc.constant("deny" as const), until, keys: fc.subarray(keys, { minLength: 1 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), fc.subarray(keys), async (steps, own) => {
      const userId = freshId();
      if (own.length > 0) await deny(userId, own, at(20));
      const before = await rowsOf(userId);
      const undos: (() => Promise<{ restored: boolean }>)[] = [];
      for (const one of steps) {
        const end = one.until === null ? null : at(one.until);
        const done = one.verb === "suspend" ? await suspend(userId, end) : await deny(userId, one.keys, end);
        if ("undo" in done) undos.unshift(() => (one.verb === "suspend" ? lift(done) : allow(done)));
      }
      for (const undo of undos) expect((await undo()).restored).toBe(true);
      expect(await rowsOf(userId)).toEqual(before);
      for (const undo of undos) expect((await undo()).restored).toBe(false);
      expect(await rowsOf(userId)).toEqual(before);
    }),
    { numRuns: runsOf(25) },
  );
});
