import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { Role, User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World } from "../support/world.ts";
import { createCausesGround, hour, type CausesGround } from "./causes-ground.ts";

const reason = "Raided #general with three accounts.";

interface Body {
  action: string;
  user_id: string;
  reason: string;
  duration?: string;
}

// A1: what Discord is bound to refuse was recorded and announced as done.
describe("what Discord would refuse", () => {
  let world: World;
  let admin: User;
  let owner: User;
  let partner: Role;
  let boss: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    admin = await staffAtConsole(world, "admin");
    owner = await staffAtConsole(world, "owner");
    const level = { level: "admin" };
    const rules = { warning: level, note: level, timeout: level, kick: level, ban: level };
    expect((await world.put(`/guilds/${world.guild.id}/direct`, rules, { actor: owner })).status).toBe(200);
    partner = world.guild.createRole("Partner", { position: 300 });
    boss = world.member("boss");
    world.guild.setRoles(boss, [partner]);
    return () => end();
  });

  const moderate = (body: object, actor = admin) => world.post(`/guilds/${world.guild.id}/moderation`, body, { actor });
  const deliver = () => world.app.deliveries.deliverDue(systemCall("job", uuid7()));
  const bodies = (user: User): Record<string, Body> => {
    const person = { user_id: user.id, reason };
    return {
      ban: { ...person, action: "ban" },
      kick: { ...person, action: "kick" },
      timeout: { ...person, action: "timeout", duration: "PT1H" },
      untimeout: { ...person, action: "untimeout" },
      unban: { ...person, action: "unban" },
    };
  };
  /** Everything a refusal must not leave behind. */
  const traces = async (userId: string) => {
    const { read } = world.app.database;
    const counts = [read.workflowRequest.count(), read.case.count(), read.caseAction.count(), read.workflowEffect.count()];
    const changes = world.sandbox.exchanges.filter(({ method, path }) => method !== "GET" && path.includes(`/${userId}`)).length;
    return [...(await Promise.all(counts)), changes];
  };
  const refusedWith = async (body: Body | undefined, code: string, detail: string | RegExp) => {
    const { user_id: userId } = body ?? { user_id: "" };
    const before = await traces(userId);
    const answer = await moderate(body ?? {});
    expect(answer.status, JSON.stringify(answer.body)).toBe(409);
    expect(answer.body).toMatchObject({
      detail: typeof detail === "string" ? detail : expect.stringMatching(detail),
      discord: { code, guild_id: world.guild.id },
    });
    await deliver();
    expect(await traces(userId)).toEqual(before);
    return answer.body as { code: string };
  };

  test.each(["ban", "kick", "timeout"])(
    "a %s of somebody whose role is above the bot's is refused before anything is written",
    async (action) => {
      const { code } = await refusedWith(bodies(boss)[action], "bot_role_too_low", /is below their role Partner\. Move .+ above it under/);
      expect(code).toBe("discord_would_refuse");
      expect(world.sandbox.directMessages(boss)).toEqual([]);
      expect(world.guild.member(boss)).toBeDefined();
    },
  );

  test("/ban says why in the person's language, and what would help", async () => {
    const before = await traces(boss.id);
    const said = (await world.slash(admin, "ban", { user: boss, reason })).replaceAll("\\", "");
    const own = world.guild.botRole?.name ?? "";
    expect(said).toContain(`I can't ban them in Harbour: my highest role, ${own}, is below their role Partner.`);
    expect(said).toContain("Server Settings → Roles");
    expect(said).not.toContain("You banned");
    admin.locale = "de";
    const german = (await world.slash(admin, "ban", { user: boss, reason })).replaceAll("\\", "");
    delete admin.locale;
    expect(german).toContain(`Bannen geht auf Harbour nicht: Meine höchste Rolle, ${own}, steht unter der Rolle Partner der Person.`);
    expect(await traces(boss.id)).toEqual(before);
  });

  test("nor is the owner of the server, the bot, an unknown id or an administrator acted on", async () => {
    const bot = world.sandbox.inside.world.application.bot;
    const serverOwner = world.sandbox.inside.world.users.get(world.guild.ownerId) as User;
    await refusedWith(bodies(serverOwner)["kick"], "target_is_guild_owner", /they own the server/);
    await refusedWith(bodies(bot)["ban"], "target_is_bot_itself", /that would be me/);
    await refusedWith({ action: "ban", user_id: "123456789012345678", reason }, "unknown_user", /no account with this ID/);
    const captain = world.member("captain");
    world.guild.setRoles(captain, [world.guild.createRole("Captains", { permissions: ["Administrator"] })]);
    await refusedWith(bodies(captain)["timeout"], "target_has_administrator", /their role Captains/);
  });

  test("a permission that the bot lacks is named", async () => {
    const person = world.member();
    const own = world.guild.botRole as Role;
    const bits = own.permissions;
    world.guild.setRolePermissions(own, ["KickMembers"]);
    await refusedWith(bodies(person)["ban"], "bot_missing_permission", /the permission Ban Members there/);
    await refusedWith(bodies(person)["timeout"], "bot_missing_permission", /the permission Timeout Members there/);
    const { sandbox } = world;
    Object.assign(own, { permissions: bits });
    world.guild.renameRole(own, own.name);
    await sandbox.caughtUp();
    expect((await moderate(bodies(person)["kick"] ?? {})).status).toBe(201);
    await sandbox.waitFor(() => world.guild.member(person) === undefined);
  });

  test("whoever has left is not kicked, but can be banned and timed out", async () => {
    const gone = world.member();
    world.guild.leave(gone);
    await refusedWith(bodies(gone)["kick"], "not_a_member", "I can't kick them in Harbour: they are not a member there.");
    expect((await moderate(bodies(gone)["timeout"] ?? {})).body).toMatchObject({ status: "approved", direct: true });
    expect((await moderate(bodies(gone)["ban"] ?? {})).body).toMatchObject({ status: "approved", direct: true });
    await world.sandbox.waitFor(() => world.guild.bans().some(({ user }) => user.id === gone.id));
  });

  test("what would change nothing is refused, too, unless a decision of ours is in force", async () => {
    const { guild, sandbox } = world;
    const [person, byHand] = [world.member(), world.member()];
    const { code } = await refusedWith(bodies(person)["unban"], "not_banned", "They are not banned in Harbour.");
    expect(code).toBe("invalid_transition");
    await refusedWith(bodies(person)["untimeout"], "not_timed_out", "They are not timed out in Harbour.");
    guild.ban(byHand);
    await refusedWith(bodies(byHand)["ban"], "already_banned", "They are already banned in Harbour.");
    expect((await moderate(bodies(byHand)["unban"] ?? {})).body).toMatchObject({ direct: true });
    await sandbox.waitFor(() => !guild.bans().some(({ user }) => user.id === byHand.id));
    guild.timeout(person, 7200);
    await refusedWith(bodies(person)["timeout"], "already_timed_out", /^They are already timed out in Harbour until \d{4}-/);
    expect((await moderate({ ...bodies(person)["timeout"], duration: "P1D" })).body).toMatchObject({ direct: true });

    // Ours may not have reached Discord yet, and can be lifted or replaced all the same.
    expect((await moderate({ ...bodies(person)["ban"], duration: "P7D" })).body).toMatchObject({ direct: true });
    expect((await moderate(bodies(person)["unban"] ?? {})).body).toMatchObject({ direct: true });
    const raider = world.member();
    expect((await moderate({ ...bodies(raider)["ban"], duration: "P7D" })).body).toMatchObject({ direct: true });
    await sandbox.waitFor(() => guild.bans().some(({ user }) => user.id === raider.id));
    expect((await moderate({ ...bodies(raider)["ban"], duration: "P14D" })).body).toMatchObject({ direct: true });
  });

  test("a warning and a note ask nothing of Discord, and what waits for others is filed", async () => {
    const asked = () => world.sandbox.exchanges.filter(({ path }) => path.includes(`/${boss.id}`)).length;
    const before = asked();
    for (const action of ["warning", "note"])
      expect((await moderate({ action, user_id: boss.id, reason })).body).toMatchObject({ status: "approved", direct: true });
    expect(asked()).toBe(before);
    const moderator = await staffAtConsole(world, "moderator");
    const filed = await moderate(bodies(boss)["ban"] ?? {}, moderator);
    expect(filed.body).toMatchObject({ status: "pending", direct: false, waits: { code: "level" } });
  });

  test("an answer that is asked for again with its key is given again, though nothing is left to do", async () => {
    const person = world.member();
    const headers = { "idempotency-key": uuid7() };
    const post = () => world.post(`/guilds/${world.guild.id}/moderation`, bodies(person)["ban"], { actor: admin, headers });
    const first = await post();
    expect(first.status, JSON.stringify(first.body)).toBe(201);
    await world.sandbox.waitFor(() => world.guild.bans().some(({ user }) => user.id === person.id));
    expect((await post()).body.reference).toBe(first.body.reference);
  });
});

describe("what Discord shows while the bot is about to change it", () => {
  let ground: CausesGround;
  beforeAll(async () => {
    ground = await createCausesGround();
    return () => ground.end();
  });

  /** Discord puts off what would end a ban or timeout until it is told not to. */
  function holdUp(user: User, kind: "ban" | "timeout") {
    const [method, what] = kind === "ban" ? ["DELETE", "bans"] : ["PATCH", "members"];
    const route = `${method} /guilds/${ground.guilds[0].id}/${what}/${user.id}`;
    return ground.world.sandbox.faults.rest({ route, status: 400, body: { code: 30_035, message: "Later." }, times: Infinity });
  }
  /** Somebody decides alone, and it is done as far as Discord lets the bot. */
  async function moderate(user: User, body: object, guild = ground.guilds[0]) {
    const wanted = { user_id: user.id, reason, ...body };
    const answer = await ground.world.post(`/guilds/${guild.id}/moderation`, wanted, { actor: await ground.filer() });
    await ground.settle();
    return answer;
  }
  const done = { status: 201, body: { direct: true } };

  test("a ban is let through while the unban of the same person is still under way, and they end up banned", async () => {
    const user = ground.world.member();
    expect(await moderate(user, { action: "ban" })).toMatchObject(done);
    const fault = holdUp(user, "ban");
    const unban = await moderate(user, { action: "unban" });
    expect(unban).toMatchObject(done);
    expect(ground.isBanned(user)).toBe(true);
    const again = await moderate(user, { action: "ban" });
    expect(again, JSON.stringify(again.body)).toMatchObject(done);
    fault.clear();
    await ground.pass(hour);
    expect(ground.isBanned(user)).toBe(true);
    const [lifted] = await ground.effects(unban.body.reference, "discord.punish");
    expect(lifted).toMatchObject({ status: "done", detail: expect.stringContaining("It stays: another approval asks for the same.") });
    await ground.reverse(again.body.reference);
    expect(ground.isBanned(user)).toBe(false);
  });

  test("so is one while a reversal, or the end of a list's ban, is still under way", async () => {
    await ground.stance(ground.guilds[0], [{ category: "raid", stance: "apply", action: "ban" }]);
    for (const feature of ["request", "list"]) {
      const user = ground.world.member();
      const cause = feature === "list" ? await ground.list(user) : await ground.moderate(user, { action: "ban" });
      const fault = holdUp(user, "ban");
      await (feature === "list" ? ground.revoke(cause) : ground.reverse(cause));
      expect(ground.isBanned(user), feature).toBe(true);
      const again = await moderate(user, { action: "ban" });
      expect(again, JSON.stringify(again.body)).toMatchObject(done);
      fault.clear();
      await ground.pass(hour);
      expect(ground.isBanned(user), feature).toBe(true);
      await ground.reverse(again.body.reference);
      expect(ground.isBanned(user), feature).toBe(false);
    }
    await ground.stance(ground.guilds[0], []);
  });

  test("a timeout is let through while the end of another one is still under way, and ends when it says", async () => {
    const user = ground.world.member();
    expect(await moderate(user, { action: "timeout", duration: "PT20H" })).toMatchObject(done);
    const fault = holdUp(user, "timeout");
    expect(await moderate(user, { action: "untimeout" })).toMatchObject(done);
    expect(ground.timeout(user)).toBe(20);
    const again = await moderate(user, { action: "timeout", duration: "PT4H" });
    expect(again, JSON.stringify(again.body)).toMatchObject(done);
    fault.clear();
    await ground.pass(hour);
    expect(ground.timeout(user)).toBe(3);
    await ground.reverse(again.body.reference);
    expect(ground.timeout(user)).toBeNull();
  });

  test("what is under way for somebody else, or in another server, is no reason", async () => {
    const [user, other] = [ground.world.member(), ground.world.member()];
    expect(await moderate(user, { action: "ban" })).toMatchObject(done);
    const fault = holdUp(user, "ban");
    expect(await moderate(user, { action: "unban" })).toMatchObject(done);
    ground.guilds[1].addMember(user);
    ground.guilds[1].ban(user);
    ground.guilds[0].ban(other);
    await ground.settle();
    expect(await moderate(other, { action: "ban" })).toMatchObject({ status: 409, body: { discord: { code: "already_banned" } } });
    expect(await moderate(user, { action: "ban" }, ground.guilds[1])).toMatchObject({
      status: 409,
      body: { discord: { code: "already_banned" } },
    });
    fault.clear();
    await ground.pass(hour);
    expect(ground.isBanned(user)).toBe(false);
  });
});
