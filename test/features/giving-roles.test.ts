import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World } from "../support/world.ts";
import { community, within } from "./stances-community.ts";

const reason = "They asked for it, and it is their turn.";
const job = () => systemCall("job", uuid7());

/** Lists are compared, and the bot has done what follows. */
const settled = ({ app }: World) => app.lists.worker.catchUp(job());

describe("A7: a list gives no role that can do anything here", () => {
  test("a rule names neither a role that maps to a staff role nor one that moderates, and nobody gets one by it", async () => {
    const { world, harbour, owner, rows } = await community();
    // Who set this rule, and listed a friend, was owner of the service three seconds later.
    const climber = await world.staff("admin");
    const allowed = { overrides: [{ key: "system.settings.manage", effect: "allow" as const, reason }] };
    await world.app.permissions.updateUser(systemCall("cli", uuid7()), climber.id, allowed);
    const deputy = harbour.createRole("deputy", { permissions: ["BanMembers"] });
    const keeper = harbour.createRole("keeper", { permissions: ["Administrator"] });
    const marked = harbour.createRole("marked", { permissions: ["SendMessages"] });
    for (const [role, detail] of [
      [world.roles.owner, "maps to a staff role"],
      [world.roles.viewer, "maps to a staff role"],
      [deputy, "can moderate or administer"],
      [keeper, "can moderate or administer"],
    ] as const) {
      for (const [actor, stance] of [
        [climber, "apply"],
        [owner, "apply"],
        [owner, "propose"],
      ] as const) {
        const rules = [{ list: "own", category: "raid", stance, action: "role", role_id: role.id }];
        const answer = await world.put(`/guilds/${harbour.id}/stance`, { rules }, { actor });
        expect([answer.status, answer.body.errors?.[0]]).toMatchObject([
          422,
          { pointer: "/rules/0/role_id", code: "privileged_role", detail: expect.stringContaining(detail) },
        ]);
      }
    }
    const friend = world.member();
    const put = await world.put(
      `/guilds/${harbour.id}/stance`,
      { rules: [{ list: "own", category: "raid", stance: "apply", action: "role", role_id: marked.id }] },
      { actor: climber },
    );
    expect(put.status, JSON.stringify(put.body)).toBe(200);
    const listed = await world.post(
      "/blacklist",
      { kind: "user", subject_id: friend.id, category: "raid", severity: "low", reason_public: reason },
      { actor: climber },
    );
    expect(listed.status, JSON.stringify(listed.body)).toBe(201);
    await within(async () => (await rows(friend))[0]?.state === "done");
    expect([...(harbour.member(friend)?.roles ?? [])]).toEqual([marked.id]);
    expect(world.app.access.of(friend.id)).toMatchObject({ isStaff: false, isOwner: false });
  });

  test("a role that becomes a staff role, or can moderate, after the rule was saved is taken back and given to nobody any more", async () => {
    const { world, harbour, stance, list, owner, rows } = await community();
    const marked = harbour.createRole("marked");
    await world.sandbox.waitFor(() => world.app.guildState.role(harbour.id, marked.id) !== undefined);
    await stance(harbour, { category: "raid", stance: "apply", action: "role", role_id: marked.id });
    const [first, second, third] = [world.member(), world.member(), world.member()];
    const holds = (user: User) => [...(harbour.member(user)?.roles ?? [])].includes(marked.id);
    await list(first);
    await within(() => holds(first));

    const discord = [{ guild_id: harbour.id, role_id: marked.id }];
    const mapped = await world.put("/staffroles/helper", { name: "Helper", rank: 5, level: "viewer", discord }, { actor: owner });
    expect(mapped.status, JSON.stringify(mapped.body)).toBe(200);
    // Whoever holds a staff role is staff: lists leave them alone, and what a list gave them goes.
    await within(() => !holds(first));
    await list(second);
    await within(async () => (await rows(second)).length > 0);
    await settled(world);
    expect((await rows(second)).map((row) => row.stance)).toEqual(["notify"]);
    expect(holds(second)).toBe(false);

    expect((await world.delete("/staffroles/helper", undefined, { actor: owner })).status).toBe(200);
    await within(() => holds(second));
    harbour.setRolePermissions(marked, ["KickMembers"]);
    await world.sandbox.waitFor(() => world.app.guildState.role(harbour.id, marked.id)?.permissions === 2n);
    await world.app.lists.roleWatch.look(job());
    await within(() => !holds(second));
    await list(third);
    await within(async () => (await rows(third)).length > 0);
    await settled(world);
    expect(holds(third)).toBe(false);
  });
});

describe("A8: nobody gives a staff role that they could not grant", () => {
  /** A staff role below the rank of an admin, which holds what the admin does not. */
  async function ground() {
    const world = await createWorld({ furtherGuilds: ["Bay"] });
    const { app, guild, sandbox } = world;
    const vault = guild.createRole("vault");
    await sandbox.waitFor(() => app.guildState.role(guild.id, vault.id) !== undefined);
    const role = { name: "Vault", rank: 20, level: "viewer" as const, discord: [{ guild_id: guild.id, role_id: vault.id }] };
    await app.staff.roles.put(systemCall("cli", uuid7()), "vault", role);
    await app.permissions.replaceRole(systemCall("cli", uuid7()), "vault", { allow: ["clients.manage", "users.redact"], deny: [] });
    const [owner, admin, other] = [await world.staff("owner"), await world.staff("admin"), await world.staff("admin")];
    for (const one of [admin, other]) {
      const overrides = ["clients.manage", "users.redact"].map((key) => ({ key, effect: "deny", reason }));
      const denied = await world.patch(`/permissions/users/${one.id}`, { overrides }, { actor: owner });
      expect(denied.status, JSON.stringify(denied.body)).toBe(200);
    }
    const rolesOf = (user: User) => [...(guild.member(user)?.roles ?? [])];
    const file = async (kind: string, body: object, actor: User = admin) => {
      const filed = await world.post(`/workflows/${kind}`, body, { actor });
      expect(filed.status, JSON.stringify(filed.body)).toBe(201);
      return filed.body.reference as string;
    };
    const decide = (kind: string, reference: string, actor: User, decision = "approve") =>
      world.post(`/workflows/${kind}/${reference}/decision`, { decision, reason }, { actor });
    const deliver = () => app.deliveries.deliverDue(job());
    return { world, vault, owner, admin, other, rolesOf, file, decide, deliver };
  }

  test("by a recruitment", async () => {
    const { world, owner, other, rolesOf, file, decide, deliver } = await ground();
    const friend = world.member();
    const reference = await file("recruitment", { user_id: friend.id, position: "vault", timezone: "Europe/Berlin", reason });
    const refused = await decide("recruitment", reference, other);
    expect(refused.body).toMatchObject({ code: "invalid_transition", blockers: [{ code: "cannot_grant_unheld" }] });
    const tried = await world.post(
      `/workflows/recruitment/${reference}/decision?dry_run=true`,
      { decision: "approve", reason },
      { actor: other },
    );
    expect(tried.body.data ?? tried.body).toMatchObject({ blockers: [{ code: "cannot_grant_unheld" }] });
    await deliver();
    expect([rolesOf(friend), await world.app.database.read.rosterEntry.count()]).toEqual([[], 0]);
    expect((await decide("recruitment", reference, owner)).status).toBe(200);
    expect((await world.get(`/roster/${friend.id}`, { actor: owner })).body.data.staff_role).toBe("vault");
  });

  test("by the key of a bot that decides about recruitments and holds nothing else", async () => {
    const { world, owner, rolesOf, file, deliver } = await ground();
    const friend = world.member();
    const reference = await file("recruitment", { user_id: friend.id, position: "vault", timezone: "Europe/Berlin", reason });
    const key = await world.makeKey(["workflows.*"]);
    const path = `/workflows/recruitment/${reference}/decision`;
    const refused = await world.post(path, { decision: "approve", reason }, { actor: owner, key });
    expect(refused.body).toMatchObject({ blockers: [{ code: "cannot_grant_unheld", detail: expect.stringContaining("API key") }] });
    await deliver();
    expect(rolesOf(friend)).toEqual([]);
  });

  test("by demoting somebody who holds no staff role, or a lower one", async () => {
    const { world, owner, admin, other, rolesOf, file, decide, deliver } = await ground();
    const stranger = world.member();
    const viewer = await world.staff("viewer");
    for (const [user, position] of [
      [stranger, "viewer"],
      [viewer, "moderator"],
      [viewer, "vault"],
    ] as const) {
      const before = rolesOf(user);
      const reference = await file("punishment", { user_id: user.id, action: "demotion", demote_to: position, reason });
      const refused = await decide("punishment", reference, other);
      expect(refused.body.blockers.map(({ code }: { code: string }) => code)).toContain("no_demotion");
      expect((await decide("punishment", reference, owner)).body.blockers).toMatchObject([{ code: "no_demotion" }]);
      await deliver();
      expect(rolesOf(user)).toEqual(before);
      expect((await decide("punishment", reference, admin, "withdraw")).status).toBe(200);
    }
  });

  test("by the reversal of a termination or a demotion", async () => {
    const { world, vault, owner, other, rolesOf, file, decide, deliver } = await ground();
    const keeper = world.sandbox.createUser("keeper");
    world.guild.addMember(keeper, { roles: [vault] });
    await world.sandbox.waitFor(() => world.app.access.of(keeper.id).isStaff);
    const reference = await file("punishment", { user_id: keeper.id, action: "termination", reason });
    const second = await world.staff("owner");
    for (const one of [owner, second]) expect((await decide("punishment", reference, one)).status).toBe(200);
    await deliver();
    await world.sandbox.waitFor(() => rolesOf(keeper).length === 0 && !world.app.access.of(keeper.id).isStaff);
    const refused = await decide("punishment", reference, other, "reverse");
    expect(refused.body).toMatchObject({ blockers: [{ code: "cannot_grant_unheld" }] });
    await deliver();
    expect(rolesOf(keeper)).toEqual([]);
    const third = await world.staff("owner");
    expect((await decide("punishment", reference, third, "reverse")).status).toBe(200);
    await deliver();
    expect(rolesOf(keeper)).toEqual([vault.id]);
  });

  test("by writing it on the roster, or by bringing Discord in line with the roster", async () => {
    const { world, vault, owner, admin, rolesOf } = await ground();
    const friend = world.member();
    const entry = { user_id: friend.id, staff_role: "vault", trial_days: 0, reason };
    expect((await world.post("/roster", entry, { actor: admin })).body).toMatchObject({ code: "cannot_grant_unheld" });
    expect((await world.get(`/roster/${friend.id}`, { actor: admin })).body.data.state).toBe("absent");
    expect((await world.post("/roster", { ...entry, staff_role: "viewer" }, { actor: admin })).status).toBe(201);
    expect((await world.patch(`/roster/${friend.id}`, { staff_role: "vault", reason }, { actor: admin })).body.code).toBe(
      "cannot_grant_unheld",
    );
    expect((await world.patch(`/roster/${friend.id}`, { staff_role: "vault", reason }, { actor: owner })).status).toBe(200);

    const sync = { discord_user_id: friend.id, direction: "to_discord", reason };
    for (const dry_run of [true, false])
      expect((await world.post("/roster/sync-member", { ...sync, dry_run }, { actor: admin })).body.code).toBe("cannot_grant_unheld");
    expect(rolesOf(friend)).toEqual([]);
    expect((await world.post("/roster/sync-member", { ...sync, dry_run: false }, { actor: owner })).status).toBe(200);
    expect(rolesOf(friend)).toEqual([vault.id]);
  });

  test("by mapping a Discord role that can administer the server to a staff role of their own", async () => {
    const { world, owner, admin } = await ground();
    const keeper = world.guild.createRole("keeper", { permissions: ["Administrator"] });
    await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, keeper.id) !== undefined);
    await world.app.permissions.updateUser(systemCall("cli", uuid7()), admin.id, {
      overrides: [{ key: "staffroles.manage", effect: "allow", reason }],
    });
    const mine = { name: "Mine", rank: 5, level: "viewer", discord: [{ guild_id: world.guild.id, role_id: keeper.id }] };
    expect((await world.put("/staffroles/mine", mine, { actor: admin })).body.code).toBe("hierarchy_violation");
    expect(world.app.access.role("mine")).toBeUndefined();
    expect((await world.put("/staffroles/mine", mine, { actor: owner })).status).toBe(200);
  });
});

test("whoever is recruited gets the Discord role, though nothing is stored of them but that they are a member", async () => {
  const world = await createWorld();
  const [requester, decider] = [await world.staff("owner"), await world.staff("owner")];
  const [member, stranger] = [world.member(), world.sandbox.createUser("elsewhere")];
  const { guildState } = world.app;
  await world.sandbox.waitFor(() => guildState.presences.joinedAt(world.guild.id, member.id) !== undefined);
  expect(guildState.members(member.id)).toEqual([]);
  for (const [user, status] of [
    [member, "pending"],
    [stranger, "skipped"],
  ] as const) {
    const body = { user_id: user.id, position: "moderator", timezone: "Europe/Berlin", reason };
    const { reference } = (await world.post("/workflows/recruitment", body, { actor: requester })).body;
    const decided = await world.post(`/workflows/recruitment/${reference}/decision`, { decision: "approve", reason }, { actor: decider });
    expect(decided.status, JSON.stringify(decided.body)).toBe(200);
    expect(decided.body.effects.find(({ key }: { key: string }) => key === "discord.roles_add")).toMatchObject({ status });
  }
  await world.app.deliveries.deliverDue(job());
  expect([...(world.guild.member(member)?.roles ?? [])]).toEqual([world.roles.moderator.id]);
});
