import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { Role, User } from "../../sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";

const reason = "Raided #general with three accounts.";

// A1: an approval of what Discord is bound to refuse was shown as possible, and carried out in the records alone.
describe("an approval of what Discord would refuse", () => {
  let world: World;
  let moderator: User;
  let admin: User;
  let owner: User;
  let partner: Role;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    [moderator, admin, owner] = [
      await staffAtConsole(world, "moderator"),
      await staffAtConsole(world, "admin"),
      await staffAtConsole(world, "owner"),
    ];
    partner = world.guild.createRole("Partner", { position: 300 });
    return () => end();
  });

  const boss = () => {
    const user = world.member();
    world.guild.setRoles(user, [partner]);
    return user;
  };
  const file = async (body: object): Promise<string> => {
    const filed = await world.post("/workflows/punishment", { reason, notify_subject: false, ...body }, { actor: moderator });
    expect(filed.status, JSON.stringify(filed.body)).toBe(201);
    return filed.body.reference as string;
  };
  const decide = (reference: string, more: object = {}, actor = admin) =>
    world.post(`/workflows/punishment/${reference}/decision`, { decision: "approve", reason, ...more }, { actor });
  const dryRun = (reference: string, actor = admin) =>
    world.post(`/workflows/punishment/${reference}/decision?dry_run=true`, { decision: "approve", reason }, { actor });
  const statusOf = async (reference: string) => (await world.get(`/workflows/punishment/${reference}`, { actor: owner })).body.data.status;
  const isBanned = (user: User) => world.guild.bans().some(({ user: one }) => one.id === user.id);

  test("a dry run and the decision name it, and nothing is done", async () => {
    const user = boss();
    const reference = await file({ user_id: user.id, action: "ban", discord: { guild_ids: [world.guild.id] } });
    const own = world.guild.botRole?.name ?? "";
    const blocker = {
      code: "bot_role_too_low",
      detail: `I can't ban them in Harbour: my highest role, ${own}, is below their role Partner. Move ${own} above it under Server Settings → Roles.`,
      waivable: true,
    };
    expect((await dryRun(reference)).body).toMatchObject({ dry_run: true, blockers: [blocker] });
    const refused = await decide(reference);
    expect(refused).toMatchObject({ status: 409, body: { code: "invalid_transition", detail: blocker.detail, blockers: [blocker] } });
    expect(await statusOf(reference)).not.toBe("approved");
    expect(await world.app.database.read.caseAction.count({ where: { originReference: reference } })).toBe(0);
    expect(isBanned(user)).toBe(false);

    // In Discord the same, in the reader's language.
    admin.locale = "de";
    const said = (await world.slash(admin, "review approve", { reference, reason })).replaceAll("\\", "");
    delete admin.locale;
    expect(said).toContain(
      `Bannen geht auf Harbour nicht: Meine höchste Rolle, ${own}, steht unter der Rolle Partner der Person. Zieh ${own} `,
    );

    // Once the role was moved, nothing is in the way.
    world.guild.moveRole(partner, 5);
    expect((await dryRun(reference)).body).toMatchObject({ blockers: [] });
    expect((await decide(reference)).body).toMatchObject({ status: "approved" });
    await world.sandbox.waitFor(() => isBanned(user));
    world.guild.moveRole(partner, 300);
  });

  test("switching the effect off passes it, and so does an override", async () => {
    const body = { action: "warning", discord: { action: "timeout", guild_ids: [world.guild.id] } };
    const off = await file({ user_id: boss().id, ...body });
    expect((await decide(off)).status).toBe(409);
    const approved = await decide(off, { effects: { "discord.punish": false } });
    expect(approved.body).toMatchObject({ status: "approved" });
    const passed = await file({ user_id: boss().id, ...body });
    expect((await decide(passed, { override: true })).status).toBe(409);
    expect((await decide(passed, { override: true }, owner)).body).toMatchObject({ status: "approved" });
  });

  test("roles of the staff that the bot cannot take are named", async () => {
    const high = world.guild.createRole("Commodore", { position: 310 });
    const mapped = { name: "Commodore", rank: 20, level: "viewer", discord: [{ guild_id: world.guild.id, role_id: high.id }] };
    expect((await world.put("/staffroles/commodore", mapped, { actor: owner })).status).toBeLessThan(300);
    const user = world.member();
    world.guild.setRoles(user, [high]);
    await world.sandbox.waitFor(() => world.app.access.of(user.id).isStaff);
    const reference = await file({ user_id: user.id, action: "termination" });
    const own = world.guild.botRole?.name ?? "";
    expect((await decide(reference)).body).toMatchObject({ approvals: { have: 1, required: 2 } });
    expect((await dryRun(reference, owner)).body.blockers).toMatchObject([
      {
        code: "role_not_manageable",
        detail: expect.stringContaining(`I can't remove their role Commodore in Harbour: my highest role, ${own}, is below it.`),
        waivable: true,
      },
    ]);
  });

  test("somebody who has left is no reason to decide otherwise", async () => {
    const user = world.member();
    const reference = await file({ user_id: user.id, action: "kick", discord: { guild_ids: [world.guild.id] } });
    world.guild.leave(user);
    expect((await dryRun(reference)).body).toMatchObject({ blockers: [] });
    expect((await decide(reference)).body).toMatchObject({ status: "approved" });
  });
});
