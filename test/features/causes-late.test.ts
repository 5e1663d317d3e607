// @module-tag slow
import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { createCausesGround, hour, reason, type CausesGround } from "./causes-ground.ts";

/** An action that is tried again later does what holds then, whatever was decided in between, by whichever cause. */
let ground: CausesGround;
beforeAll(async () => {
  ground = await createCausesGround();
  return () => ground.end();
});

const minute = 60_000;

/** Discord puts off a call about a person until it is told not to. */
function putOff(method: "DELETE" | "PATCH" | "PUT", user: User, what: "bans" | "members" = "bans") {
  const route = `${method} /guilds/${ground.guilds[0].id}/${what}/${user.id}`;
  return ground.world.sandbox.faults.rest({ route, status: 400, body: { code: 30_035, message: "Later." }, times: Infinity });
}
/** Discord carries a call about a person out, and its answers are lost until it is told otherwise. */
function lose(method: "DELETE" | "PUT", user: User) {
  const route = `${method} /guilds/${ground.guilds[0].id}/bans/${user.id}`;
  return ground.world.sandbox.faults.rest({ route, status: 502, late: true, times: Infinity });
}
/** The next action has its effect in Discord at once, and its outcome is heard of once it is released. */
function holdOutcomes() {
  const { discord } = ground.world.app;
  const { actions } = discord;
  const [begun, released] = [latch(), latch()];
  discord.actions = {
    async perform(...args) {
      const performed = await actions.perform(...args);
      begun.open();
      await released.passed;
      return performed;
    },
  };
  const release = (): void => {
    discord.actions = actions;
    released.open();
  };
  return { begun: begun.passed, release };
}
/** Put somebody on the list, and do nothing about it yet. */
async function listed({ id }: User): Promise<string> {
  const body = { kind: "user", subject_id: id, category: "raid", severity: "high", reason_public: reason };
  return (await ground.world.post("/blacklist", body, { actor: ground.owner })).body.data.number as string;
}
function latch(): { open: () => void; passed: Promise<void> } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { open, passed };
}
/** What the last effect of a request says that acts in Discord. */
async function lastOf(reference: string, kind = "punishment") {
  return (await ground.effects(reference, undefined, kind)).findLast(({ key }) => key.startsWith("discord."));
}
const banRule = [{ category: "raid", stance: "apply", action: "ban" }];
const timeoutRule = (hours: number) => [{ category: "raid", stance: "apply", action: "timeout", timeout_seconds: hours * 3600 }];

describe("an end of a ban that Discord put off, or whose answer was lost", () => {
  const ends = {
    "a reversal": async (user: User, spoil: typeof lose) => {
      const ban = await ground.moderate(user, { action: "ban" });
      const fault = spoil("DELETE", user);
      await ground.reverse(ban);
      return { fault, reference: ban };
    },
    "a decision to unban": async (user: User, spoil: typeof lose) => {
      await ground.moderate(user, { action: "ban" });
      const fault = spoil("DELETE", user);
      return { reference: await ground.moderate(user, { action: "unban" }), fault };
    },
    "an appeal": async (user: User, spoil: typeof lose) => {
      const ban = await ground.moderate(user, { action: "ban" });
      const appeal = await ground.file("appeal", {
        target: ban,
        grounds: "It was not me, but somebody else.",
        user_id: user.id,
        desired_outcome: "overturn",
      });
      const fault = spoil("DELETE", user);
      await ground.decide("appeal", appeal, { decision: "overturn" });
      return { fault, reference: ban };
    },
    "the length of the ban": async (user: User, spoil: typeof lose) => {
      const ban = await ground.moderate(user, { action: "ban", duration: "PT2H" });
      const fault = spoil("DELETE", user);
      await ground.pass(2 * hour + minute);
      return { fault, reference: ban };
    },
  };

  test.each(Object.entries(ends))("%s: leaves the ban that a list asks for meanwhile, and says so", async (_, end) => {
    await ground.stance(ground.guilds[0], banRule);
    const user = ground.world.member();
    const { fault, reference } = await end(user, lose);
    expect(ground.isBanned(user)).toBe(false);
    expect(await lastOf(reference)).toMatchObject({ status: "pending" });
    ground.guilds[0].addMember(user);
    const record = await ground.list(user);
    expect(ground.isBanned(user)).toBe(true);
    fault.clear();
    await ground.pass(hour);
    expect(ground.isBanned(user)).toBe(true);
    expect(await lastOf(reference)).toMatchObject({
      status: "done",
      detail: expect.stringContaining("It stays: a list asks for the same."),
    });
    await ground.revoke(record);
    expect(ground.isBanned(user)).toBe(false);
    await ground.stance(ground.guilds[0], []);
  });

  test.each(Object.entries(ends))("%s: lifts the ban later where nothing else asks for it", async (_, end) => {
    const user = ground.world.member();
    const { fault, reference } = await end(user, putOff);
    expect(ground.isBanned(user)).toBe(true);
    fault.clear();
    await ground.pass(hour);
    expect(ground.isBanned(user)).toBe(false);
    expect((await lastOf(reference))?.detail).not.toContain("It stays");
  });

  test.each(Object.entries(ends))("%s: leaves the ban that somebody makes by hand meanwhile, and says so", async (_, end) => {
    const user = ground.world.member();
    const { fault, reference } = await end(user, lose);
    ground.time.offset += minute;
    ground.guilds[0].addMember(user);
    ground.guilds[0].ban(user, { reason: "Once more." });
    await ground.settle();
    fault.clear();
    await ground.pass(hour);
    expect(ground.isBanned(user)).toBe(true);
    expect(await lastOf(reference)).toMatchObject({
      status: "done",
      detail: expect.stringContaining("Somebody else banned them, and I left that ban in place."),
    });
  });

  test.each([
    ["put off", putOff],
    ["lost", lose],
  ] as const)("of a list: leaves the ban that a request asks for meanwhile (%s)", async (_, spoil) => {
    await ground.stance(ground.guilds[0], banRule);
    const user = ground.world.member();
    const record = await ground.list(user);
    const fault = spoil("DELETE", user);
    await ground.revoke(record);
    const ban = await ground.moderate(user, { action: "ban" });
    expect(ground.isBanned(user)).toBe(true);
    fault.clear();
    await ground.pass(hour);
    expect(ground.isBanned(user)).toBe(true);
    await ground.reverse(ban);
    expect(ground.isBanned(user)).toBe(false);
    await ground.stance(ground.guilds[0], []);
  });

  test("of a list: leaves the ban that somebody makes by hand meanwhile", async () => {
    await ground.stance(ground.guilds[0], banRule);
    const user = ground.world.member();
    const record = await ground.list(user);
    const fault = lose("DELETE", user);
    await ground.revoke(record);
    expect(ground.isBanned(user)).toBe(false);
    ground.time.offset += minute;
    ground.guilds[0].addMember(user);
    ground.guilds[0].ban(user, { reason: "Once more." });
    await ground.settle();
    fault.clear();
    await ground.pass(hour);
    expect(ground.isBanned(user)).toBe(true);
    await ground.stance(ground.guilds[0], []);
  });

  test("a decision to unban: is carried out where the ban of before was heard of only afterwards", async () => {
    const { world, guilds } = ground;
    const user = world.member();
    guilds[0].ban(user, { reason: "By hand." });
    await ground.settle();
    const fault = putOff("DELETE", user);
    const unban = await ground.moderate(user, { action: "unban" });
    expect(ground.isBanned(user)).toBe(true);
    ground.time.offset += minute;
    world.sandbox.faults.event("GUILD_BAN_ADD", {
      guild_id: guilds[0].id,
      user: { id: user.id, username: user.username, discriminator: "0", global_name: null, avatar: null },
    });
    const heard = { where: { userId: user.id, kind: "ban", entryId: null } };
    await expect.poll(() => world.app.database.read.nativeAction.count(heard)).toBe(1);
    fault.clear();
    await ground.pass(hour);
    expect(ground.isBanned(user)).toBe(false);
    expect((await lastOf(unban))?.detail).not.toContain("Somebody else banned them");
  });

  test("the second of two servers of one request: each does what holds there by then", async () => {
    const user = ground.world.member();
    const [here, there] = ground.guilds;
    there.addMember(user);
    const bothOf = async (action: string) => {
      const wanted = { user_id: user.id, reason, action, guild_ids: [here.id, there.id] };
      const reference = await ground.file("punishment", wanted);
      await ground.decide("punishment", reference, { decision: "approve" }, ground.third);
      return reference;
    };
    await bothOf("ban");
    await ground.stance(there, banRule);
    const fault = ground.world.sandbox.faults.rest({
      route: `DELETE /guilds/${there.id}/bans/${user.id}`,
      status: 502,
      late: true,
      times: Infinity,
    });
    const unban = await bothOf("unban");
    expect([ground.isBanned(user, here), ground.isBanned(user, there)]).toEqual([false, false]);
    expect(await ground.effects(unban, "discord.punish")).toMatchObject([{ status: "done" }, { status: "pending" }]);
    here.addMember(user);
    there.addMember(user);
    const record = await ground.list(user);
    expect([ground.isBanned(user, here), ground.isBanned(user, there)]).toEqual([false, true]);
    fault.clear();
    await ground.pass(hour);
    expect([ground.isBanned(user, here), ground.isBanned(user, there)]).toEqual([false, true]);
    expect(await ground.effects(unban, "discord.punish")).toMatchObject([
      { status: "done", detail: expect.not.stringContaining("It stays") },
      { status: "done", detail: expect.stringContaining("It stays: a list asks for the same.") },
    ]);
    await ground.revoke(record);
    expect(ground.isBanned(user, there)).toBe(false);
    await ground.stance(there, []);
  });
});

describe("an end of a timeout that Discord put off", () => {
  test.each(["a reversal", "a decision to lift it"])("%s: leaves the person timed out until the end that a list asks for", async (way) => {
    await ground.stance(ground.guilds[0], timeoutRule(4));
    const user = ground.world.member();
    const long = await ground.moderate(user, { action: "timeout", duration: "PT20H" });
    const fault = putOff("PATCH", user, "members");
    const reference = way === "a reversal" ? long : await ground.moderate(user, { action: "untimeout" });
    if (way === "a reversal") await ground.reverse(long);
    expect(ground.timeout(user)).toBe(20);
    const record = await ground.list(user);
    fault.clear();
    await ground.pass(hour);
    expect(ground.timeout(user)).toBe(3);
    expect(await lastOf(reference)).toMatchObject({
      status: "done",
      detail: expect.stringMatching(/It stays until 20.+Z: a list asks for it\./),
    });
    await ground.revoke(record);
    expect(ground.timeout(user)).toBeNull();
    await ground.stance(ground.guilds[0], []);
  });

  test("a reversal: the list's own end holds where the list found the longer one still in place", async () => {
    const { world, guilds, time } = ground;
    await ground.stance(guilds[0], timeoutRule(4));
    const user = world.member();
    const long = await ground.moderate(user, { action: "timeout", duration: "PT20H" });
    const route = `GET /guilds/${guilds[0].id}/members/${user.id}`;
    const fault = world.sandbox.faults.rest({ route, status: 500, times: Infinity });
    const record = await ground.list(user);
    await ground.reverse(long);
    fault.clear();
    time.offset += hour;
    await world.app.lists.worker.catchUp(systemCall("job", uuid7()));
    expect(ground.timeout(user)).toBe(19);
    await ground.settle();
    expect(ground.timeout(user)).toBe(3);
    await ground.revoke(record);
    expect(ground.timeout(user)).toBeNull();
    await ground.stance(guilds[0], []);
  });

  test("a decision to lift it: holds for a list that had yet to ask for a timeout, too", async () => {
    await ground.stance(ground.guilds[0], timeoutRule(4));
    const user = ground.world.member();
    await ground.moderate(user, { action: "timeout", duration: "PT20H" });
    const record = await listed(user);
    await ground.moderate(user, { action: "untimeout" });
    expect(ground.timeout(user)).toBeNull();
    await ground.revoke(record);
    await ground.list(user);
    expect(ground.timeout(user)).toBe(4);
    await ground.stance(ground.guilds[0], []);
  });

  test.each(["list", "request"] as const)(
    "a %s whose timeout is on its way takes over the end of the longer one that is taken back meanwhile",
    async (shorter) => {
      const { world, guilds } = ground;
      const isList = shorter === "list";
      await ground.stance(guilds[0], timeoutRule(isList ? 4 : 20));
      const user = world.member();
      const decide = (reference: string, decision: string, actor: User) =>
        world.post(`/workflows/punishment/${reference}/decision`, { decision, reason }, { actor });
      const approved = async () => {
        const body = { user_id: user.id, action: "timeout", duration: isList ? "PT20H" : "PT4H", reason, guild_ids: [guilds[0].id] };
        const reference = await ground.file("punishment", body);
        expect((await decide(reference, "approve", ground.third)).status).toBe(200);
        return reference;
      };
      const first = await (isList ? approved() : listed(user));
      await ground.settle();
      expect(ground.timeout(user)).toBe(20);
      const held = holdOutcomes();
      const second = await (isList ? listed(user) : approved());
      const settling = ground.settle();
      await held.begun;
      const [record, request] = isList ? [second, first] : [first, second];
      const revoked = () => world.delete(`/blacklist/${record}`, { reason }, { actor: ground.other });
      const reversed = () => decide(request, "reverse", ground.other);
      expect((await (isList ? reversed : revoked)()).status).toBe(200);
      held.release();
      await settling;
      await ground.settle();
      expect(ground.timeout(user)).toBe(4);
      expect((await (isList ? revoked : reversed)()).status).toBe(200);
      await ground.settle();
      expect(ground.timeout(user)).toBeNull();
      await ground.stance(guilds[0], []);
    },
  );

  test("of a list: leaves the person timed out until the end that a request asks for", async () => {
    await ground.stance(ground.guilds[0], timeoutRule(20));
    const user = ground.world.member();
    const record = await ground.list(user);
    expect(ground.timeout(user)).toBe(20);
    const fault = putOff("PATCH", user, "members");
    await ground.revoke(record);
    const decided = await ground.moderate(user, { action: "timeout", duration: "PT4H" });
    expect(ground.timeout(user)).toBe(20);
    fault.clear();
    await ground.pass(hour);
    expect(ground.timeout(user)).toBe(3);
    await ground.reverse(decided);
    expect(ground.timeout(user)).toBeNull();
    await ground.stance(ground.guilds[0], []);
  });

  test("a decision to lift it: leaves the timeout that somebody sets by hand meanwhile", async () => {
    const user = ground.world.member();
    await ground.moderate(user, { action: "timeout", duration: "PT20H" });
    const fault = putOff("PATCH", user, "members");
    const lift = await ground.moderate(user, { action: "untimeout" });
    ground.time.offset += minute;
    ground.guilds[0].timeout(user, 4 * 3600);
    await ground.settle();
    fault.clear();
    await ground.pass(hour);
    expect(ground.timeout(user)).toBe(3);
    expect(await lastOf(lift)).toMatchObject({
      status: "done",
      detail: expect.stringContaining("They have another timeout, which I left in place."),
    });
  });

  test("an appeal that shortens it: the later end of a list holds", async () => {
    await ground.stance(ground.guilds[0], timeoutRule(4 * 24));
    const user = ground.world.member();
    const long = await ground.moderate(user, { action: "timeout", duration: "P20D" });
    const appeal = await ground.file("appeal", {
      target: long,
      grounds: "It was not me, but somebody else.",
      user_id: user.id,
      desired_outcome: "reduce",
    });
    const fault = putOff("PATCH", user, "members");
    await ground.decide("appeal", appeal, { decision: "reduce", new_duration: "P2D" });
    const record = await ground.list(user);
    expect(ground.timeout(user)).toBe(480);
    fault.clear();
    await ground.pass(hour);
    expect(ground.timeout(user)).toBe(95);
    await ground.revoke(record);
    expect(ground.timeout(user)).toBe(47);
    await ground.reverse(long);
    expect(ground.timeout(user)).toBeNull();
    await ground.stance(ground.guilds[0], []);
  });
});

describe("what was to be done, and Discord put off", () => {
  const acts = { ban: ["PUT", "bans"], timeout: ["PATCH", "members"] } as const;
  const withdrawals = {
    reversal: (reference: string) => ground.reverse(reference),
    appeal: async (reference: string, user: User) => {
      const more = { grounds: "It was not me, but somebody else.", user_id: user.id, desired_outcome: "overturn" };
      const appeal = await ground.file("appeal", { target: reference, ...more });
      await ground.decide("appeal", appeal, { decision: "overturn" });
    },
  };
  const cases = (["ban", "timeout"] as const).flatMap((action) => (["reversal", "appeal"] as const).map((way) => ({ action, way })));

  test.each(cases)("a $action of a request is not done after its $way, and says so", async ({ action, way }) => {
    const user = ground.world.member();
    const fault = putOff(...([acts[action][0], user, acts[action][1]] as const));
    const reference = await ground.moderate(user, { action, ...(action === "timeout" && { duration: "PT8H" }) });
    await withdrawals[way](reference, user);
    fault.clear();
    await ground.pass(hour);
    expect([ground.isBanned(user), ground.timeout(user)]).toEqual([false, null]);
    const [effect] = await ground.effects(reference, "discord.punish");
    expect(effect).toMatchObject({ status: "skipped", detail: expect.stringContaining("It was called off before it was done.") });
  });

  test.each(["ban", "timeout"] as const)("a %s of a list is not done once its record is revoked", async (action) => {
    await ground.stance(ground.guilds[0], action === "ban" ? banRule : timeoutRule(4));
    const user = ground.world.member();
    const fault = putOff(...([acts[action][0], user, acts[action][1]] as const));
    const record = await ground.list(user);
    await ground.revoke(record);
    fault.clear();
    await ground.pass(hour);
    expect([ground.isBanned(user), ground.timeout(user)]).toEqual([false, null]);
    await ground.stance(ground.guilds[0], []);
  });

  test("a ban that failed is not tried again once a decision has lifted every ban of the person", async () => {
    const user = ground.world.member();
    const route = `PUT /guilds/${ground.guilds[0].id}/bans/${user.id}`;
    ground.world.sandbox.faults.rest({ route, status: 403, body: { code: 50_013, message: "No." } });
    const ban = await ground.moderate(user, { action: "ban" });
    expect((await ground.effects(ban, "discord.punish"))[0]).toMatchObject({ status: "failed" });
    ground.guilds[0].ban(user, { reason: "Then by hand." });
    await ground.settle();
    await ground.moderate(user, { action: "unban" });
    expect(ground.isBanned(user)).toBe(false);
    const { data } = (await ground.world.get(`/workflows/punishment/${ban}`, { actor: ground.owner })).body;
    const place = (data.effects as { key: string }[]).findIndex(({ key }) => key === "discord.punish") + 1;
    const again = await ground.world.post(`/workflows/punishment/${ban}/effects/${place.toString()}/retry`, {}, { actor: ground.owner });
    expect(again.status).toBe(409);
    await ground.settle();
    expect(ground.isBanned(user)).toBe(false);
  });

  test("a ban whose answer was lost is not made again once somebody has lifted it by hand", async () => {
    for (const cause of ["request", "list"] as const) {
      await ground.stance(ground.guilds[0], cause === "list" ? banRule : []);
      const user = ground.world.member();
      const fault = lose("PUT", user);
      if (cause === "list") await ground.list(user);
      const reference = cause === "request" ? await ground.moderate(user, { action: "ban" }) : undefined;
      expect(ground.isBanned(user)).toBe(true);
      fault.clear();
      ground.guilds[0].unban(user);
      await ground.settle();
      await ground.pass(hour);
      expect(ground.isBanned(user), cause).toBe(false);
      if (reference !== undefined)
        expect((await ground.effects(reference, "discord.punish"))[0]).toMatchObject({
          status: "ended",
          detail: expect.stringContaining("It was ended by hand in Discord"),
        });
    }
    await ground.stance(ground.guilds[0], []);
  });
});

test("a role of the staff that waits for somebody to return is not given after a termination, until that is reversed", async () => {
  const user = ground.world.member();
  const [guild, { id: role }] = [ground.guilds[0], ground.world.roles.moderator];
  const holds = () => guild.member(user)?.roles.includes(role);
  const route = `PUT /guilds/${guild.id}/members/${user.id}/roles/${role}`;
  const fault = ground.world.sandbox.faults.rest({ route, status: 400, body: { code: 30_035, message: "Later." }, times: Infinity });
  await ground.settle();
  const recruitment = await ground.file("recruitment", { user_id: user.id, position: "moderator", timezone: "Europe/Berlin" });
  await ground.decide("recruitment", recruitment, { decision: "approve" });
  guild.leave(user);
  fault.clear();
  await ground.pass(hour);
  const given = () => ground.effects(recruitment, "discord.roles_add", "recruitment");
  expect(await given()).toMatchObject([{ status: "pending", due_at: null }]);
  const termination = await ground.file("punishment", { user_id: user.id, reason, action: "termination", notify_subject: false });
  for (const actor of [ground.other, ground.third]) await ground.decide("punishment", termination, { decision: "approve" }, actor);
  expect(await ground.effects(termination, "discord.roles_remove")).toMatchObject([{ target: { id: role } }]);
  guild.addMember(user);
  await ground.pass(hour);
  expect(holds()).toBe(false);
  expect(await given()).toMatchObject([{ status: "done", detail: expect.stringContaining("A later decision says otherwise.") }]);
  await ground.reverse(termination, "punishment", ground.third);
  expect(holds()).toBe(true);
  await ground.reverse(recruitment, "recruitment", ground.third);
  expect(holds()).toBe(false);
});

test("two bans of a person that end at the same moment free them, whichever end comes first", async () => {
  const users = Array.from({ length: 12 }, () => ground.world.member());
  for (const user of users)
    for (let count = 0; count < 2; count += 1) {
      await ground.moderate(user, { action: "ban", duration: "PT2H" });
      expect(ground.isBanned(user)).toBe(true);
    }
  await ground.pass(2 * hour + minute);
  expect(users.filter((user) => ground.isBanned(user))).toEqual([]);
});
