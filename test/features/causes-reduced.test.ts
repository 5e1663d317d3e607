// @module-tag slow
import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createCausesGround, hour, type CausesGround } from "./causes-ground.ts";

/** An appeal granted in part changes what is in force, and not the case alone. Row A13 of the design. */
let ground: CausesGround;
beforeAll(async () => {
  ground = await createCausesGround();
  return () => ground.end();
});

const grounds = "The account was stolen on the day of the raid.";
const day = 24 * hour;

/** Grant an appeal in part. */
async function reduce(target: string, user: User, more: object = { new_duration: "P2D" }): Promise<string> {
  const appeal = await ground.file("appeal", { target, grounds, user_id: user.id, desired_outcome: "reduce" });
  const { status } = await ground.decide("appeal", appeal, { decision: "reduce", ...more });
  expect(status).toBe("approved");
  return appeal;
}
/** Have a further appeal take the ruling of the first one back. @returns what puts that ruling in force again, with the date it had */
async function overturned(appeal: string): Promise<() => Promise<unknown>> {
  const further = await ground.file("appeal", { target: appeal, grounds });
  await ground.decide("appeal", further, { decision: "overturn" }, ground.third);
  return () => ground.reverse(further, "appeal", ground.fifth);
}
const restore = (appeal: string) => ground.reverse(appeal, "appeal", ground.fourth);
const inDays = (at: string | Date | null | undefined) =>
  at ? Math.round(((new Date(at).getTime() - ground.now()) / day) * 10) / 10 : null;
const lastMessage = (user: User) => ground.messages(user).at(-1) ?? "";

describe("a timeout that an appeal shortens", () => {
  test("ends in Discord when the decision says, says so, and gets its former end back", async () => {
    const user = ground.world.member();
    const reference = await ground.moderate(user, { action: "timeout", duration: "P20D" });
    const appeal = await reduce(reference, user);
    expect(ground.timeout(user)).toBe(48);
    const until = Math.floor((ground.guilds[0].member(user)?.timeoutUntil ?? 0) / 1000);
    expect(lastMessage(user)).toContain("changed how long this decision about you lasts: timeout");
    expect(lastMessage(user)).toContain(`It ends at <t:${until.toString()}:f>.`);
    await restore(appeal);
    expect(ground.timeout(user)).toBe(480);
    expect(lastMessage(user)).toContain("ends when it did before");
    await ground.reverse(reference);
    expect(ground.timeout(user)).toBeNull();
  });

  test("is lifted where the new length is over, and stays to the end of another one", async () => {
    const [free, kept] = [ground.world.member(), ground.world.member()];
    const one = await ground.moderate(free, { action: "timeout", duration: "P20D" });
    const again = await overturned(await reduce(one, free, { new_duration: "PT2H" }));
    expect(ground.timeout(free)).toBe(480);
    await ground.pass(3 * hour);
    await again();
    expect(ground.timeout(free)).toBeNull();
    expect(ground.guilds[0].member(free)?.timeoutUntil).toBeNull();
    const two = await ground.moderate(kept, { action: "timeout", duration: "P20D" });
    await ground.moderate(kept, { action: "timeout", duration: "P5D" });
    await reduce(two, kept);
    expect(ground.timeout(kept)).toBe(120);
    const until = Math.floor((ground.guilds[0].member(kept)?.timeoutUntil ?? 0) / 1000);
    expect(lastMessage(kept)).toContain(`It ends at <t:${until.toString()}:f>. Another decision still applies.`);
    await ground.reverse(two);
    expect(ground.timeout(kept)).toBe(120);
  });

  test("gets its former end back where Discord's first answer was lost", async () => {
    const user = ground.world.member();
    const route = `PATCH /guilds/${ground.guilds[0].id}/members/${user.id}`;
    ground.world.sandbox.faults.rest({ route, status: 502, late: true });
    const reference = await ground.moderate(user, { action: "timeout", duration: "P20D" });
    const appeal = await reduce(reference, user);
    await ground.pass(hour);
    expect(ground.timeout(user)).toBe(47);
    await restore(appeal);
    expect(ground.timeout(user)).toBe(479);
    await ground.reverse(reference);
    expect(ground.timeout(user)).toBeNull();
  });

  test("gives way to a list's once it is reversed, where it had been changed to last longer than that", async () => {
    const user = ground.world.member();
    await ground.stance(ground.guilds[0], [{ category: "raid", stance: "apply", action: "timeout", timeout_seconds: 4 * 86_400 }]);
    const record = await ground.list(user);
    const reference = await ground.moderate(user, { action: "timeout", duration: "P2D" });
    expect(ground.timeout(user)).toBe(96);
    await reduce(reference, user, { new_duration: "P6D" });
    expect(ground.timeout(user)).toBe(144);
    await ground.reverse(reference);
    expect(ground.timeout(user)).toBe(96);
    await ground.revoke(record);
    expect(ground.timeout(user)).toBeNull();
    await ground.stance(ground.guilds[0], []);
  });

  test("fewer points alone change no end", async () => {
    const user = ground.world.member();
    const body = { user_id: user.id, action: "timeout", points: 3, duration: "P5D", reason: "Insulted three people." };
    const reference = await ground.file("punishment", { ...body, discord: { guild_ids: [ground.guilds[0].id] } });
    await ground.decide("punishment", reference, { decision: "approve" }, ground.owner);
    const before = ground.messages(user).length;
    await reduce(reference, user, { new_points: 1 });
    expect(ground.timeout(user)).toBe(120);
    expect(ground.messages(user)).toHaveLength(before);
  });
});

describe("a ban of 20 days that an appeal shortens to 2 (A13)", () => {
  test("is lifted after 2 days", async () => {
    const user = ground.world.member();
    const ban = await ground.moderate(user, { action: "ban", duration: "P20D" });
    await reduce(ban, user);
    const [end] = await ground.effects(ban, "discord.ban_end");
    expect(inDays(end?.due_at)).toBe(2);
    expect(ground.isBanned(user)).toBe(true);
    await ground.pass(day);
    expect(ground.isBanned(user)).toBe(true);
    await ground.pass(1.1 * day);
    expect(ground.isBanned(user)).toBe(false);
  });

  test("ends after 20 days once the appeal's approval is reversed, also where the shorter end has come", async () => {
    for (const daysBetween of [1, 3]) {
      const user = ground.world.member();
      const ban = await ground.moderate(user, { action: "ban", duration: "P20D" });
      const appeal = await reduce(ban, user);
      await ground.pass(daysBetween * day);
      expect(ground.isBanned(user)).toBe(daysBetween === 1);
      await restore(appeal);
      expect(ground.isBanned(user)).toBe(true);
      const [end] = await ground.effects(ban, "discord.ban_end");
      expect([end?.status, inDays(end?.due_at)]).toEqual(["pending", 20 - daysBetween]);
      await ground.pass((20.1 - daysBetween) * day);
      expect(ground.isBanned(user)).toBe(false);
      expect(await ground.effects(ban, "discord.punish")).toMatchObject([{ status: "reversed" }]);
      // It is over, and keeps no other ban in place.
      const another = await ground.moderate(user, { action: "ban" });
      await ground.reverse(another);
      expect(ground.isBanned(user)).toBe(false);
    }
  });

  test("stays until its former end where Discord put off the shorter one until the appeal's approval was reversed", async () => {
    const user = ground.world.member();
    const ban = await ground.moderate(user, { action: "ban", duration: "P20D" });
    const appeal = await reduce(ban, user);
    const route = `DELETE /guilds/${ground.guilds[0].id}/bans/${user.id}`;
    const later = { status: 400, body: { code: 30_035, message: "Later." }, times: Infinity };
    const fault = ground.world.sandbox.faults.rest({ route, ...later });
    await ground.pass(2.1 * day);
    expect(ground.isBanned(user)).toBe(true);
    await restore(appeal);
    fault.clear();
    await ground.pass(day);
    expect(ground.isBanned(user)).toBe(true);
    expect(await ground.effects(ban, "discord.punish")).toMatchObject([{ status: "done" }]);
    await ground.pass(17 * day);
    expect(ground.isBanned(user)).toBe(false);
  });

  test("a ban without an end gets one, and loses it again with the appeal; the same by way of the recorded action", async () => {
    for (const way of ["request", "strike"]) {
      const user = ground.world.member();
      const ban = await ground.moderate(user, { action: "ban" });
      const { id } = await ground.world.app.database.read.caseAction.findFirstOrThrow({ where: { originReference: ban } });
      const appeal = await reduce(way === "request" ? ban : id, user);
      expect(inDays((await ground.effects(ban, "discord.ban_end"))[0]?.due_at)).toBe(2);
      await restore(appeal);
      expect((await ground.effects(ban, "discord.ban_end"))[0]).toMatchObject({ status: "skipped", due_at: null });
      await ground.pass(3 * day);
      expect(ground.isBanned(user)).toBe(true);
      await ground.reverse(ban);
      expect(ground.isBanned(user)).toBe(false);
    }
  });

  test("a length that is over at once lifts it at once, and a ban that another decision asks for stays", async () => {
    const [free, kept] = [ground.world.member(), ground.world.member()];
    const one = await ground.moderate(free, { action: "ban", duration: "P20D" });
    const again = await overturned(await reduce(one, free));
    await ground.pass(3 * day);
    expect(ground.isBanned(free)).toBe(true);
    await again();
    expect(ground.isBanned(free)).toBe(false);
    const two = await ground.moderate(kept, { action: "ban", duration: "P20D" });
    await ground.moderate(kept, { action: "ban", duration: "P5D" });
    await reduce(two, kept);
    await ground.pass(3 * day);
    expect(ground.isBanned(kept)).toBe(true);
    await ground.pass(3 * day);
    expect(ground.isBanned(kept)).toBe(false);
  });
});

describe("staff whose suspension or probation an appeal shortens", () => {
  async function suspended(action: "suspension" | "probation") {
    const user = await staffAtConsole(ground.world, "moderator");
    await ground.world.post("/roster", { user_id: user.id, staff_role: "moderator", reason: "Joined the staff" }, { actor: ground.owner });
    const reference = await ground.file("punishment", { user_id: user.id, action, duration: "P20D", reason: "Shared internal notes." });
    await ground.decide("punishment", reference, { decision: "approve" }, ground.owner);
    const entry = () => ground.world.app.database.read.rosterEntry.findUniqueOrThrow({ where: { userId: user.id } });
    const access = () => ground.world.app.database.read.userPermission.findMany({ where: { userId: user.id } });
    return { user, reference, entry, access };
  }

  test("have access again when the decision says, and the reversal of the appeal puts the former end back", async () => {
    const { user, reference, entry, access } = await suspended("suspension");
    expect([(await entry()).status, inDays((await entry()).suspendedUntil)]).toEqual(["suspended", 20]);
    const appeal = await reduce(reference, user);
    expect(inDays((await entry()).suspendedUntil)).toBe(2);
    expect((await access()).map(({ expiresAt }) => inDays(expiresAt))).toEqual([2]);
    await restore(appeal);
    expect(inDays((await entry()).suspendedUntil)).toBe(20);
    expect((await access()).map(({ expiresAt }) => inDays(expiresAt))).toEqual([20]);
    await ground.reverse(reference);
    expect([(await entry()).status, (await access()).length]).toEqual(["active", 0]);
  });

  test("are free at once where the new length is over, and are suspended again once the appeal is reversed", async () => {
    const { user, reference, entry, access } = await suspended("suspension");
    const appeal = await reduce(reference, user);
    const again = await overturned(appeal);
    await ground.pass(3 * day);
    expect([(await entry()).status, inDays((await entry()).suspendedUntil)]).toEqual(["suspended", 17]);
    await again();
    expect([(await entry()).status, (await access()).length]).toEqual(["active", 0]);
    await restore(appeal);
    expect([(await entry()).status, inDays((await entry()).suspendedUntil)]).toEqual(["suspended", 17]);
    expect((await access()).map(({ expiresAt }) => inDays(expiresAt))).toEqual([17]);
    await ground.reverse(reference);
    expect([(await entry()).status, (await access()).length]).toEqual(["active", 0]);
  });

  test("on probation, it ends when the decision says", async () => {
    const { user, reference, entry, access } = await suspended("probation");
    await reduce(reference, user);
    expect([(await entry()).status, inDays((await entry()).suspendedUntil)]).toEqual(["probation", 2]);
    expect(await access()).toEqual([]);
  });

  test("what somebody changed since stays", async () => {
    const { user, reference, entry } = await suspended("probation");
    const until = new Date(ground.now() + 7 * day).toISOString();
    const patched = await ground.world.patch(
      `/roster/${user.id}`,
      { suspended_until: until, reason: "Agreed with them." },
      { actor: ground.owner },
    );
    expect(patched.status, JSON.stringify(patched.body)).toBe(200);
    await reduce(reference, user);
    expect(inDays((await entry()).suspendedUntil)).toBe(7);
  });
});

test("a record on the blacklist ends when the decision says, and with it what the list did", async () => {
  await ground.stance(ground.guilds[0], [{ category: "raid", stance: "apply", action: "ban" }]);
  const user = ground.world.member();
  const number = await ground.list(user);
  expect(ground.isBanned(user)).toBe(true);
  const appeal = await ground.file("appeal", { target: number, grounds, user_id: user.id, desired_outcome: "reduce" });
  await ground.decide("appeal", appeal, { decision: "reduce", new_duration: "P2D" });
  const { expiresAt } = await ground.world.app.database.read.blacklistRecord.findFirstOrThrow({ where: { subjectId: user.id } });
  expect(inDays(expiresAt)).toBe(2);
  await ground.stance(ground.guilds[0], []);
});
