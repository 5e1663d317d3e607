import { expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { GuildHandle, User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld } from "../support/world.ts";

const reason = "Raided #general with three accounts.";

/** Two servers with the same rules for what people do alone, and people with entries that count in one server. */
async function ground() {
  const world = await createWorld({ furtherGuilds: ["Bay"] });
  const [harbour, bay] = [world.guild, world.furtherGuilds[0] as GuildHandle];
  const owner = await staffAtConsole(world, "owner");
  for (const { id } of [harbour, bay]) {
    const rules = { warning: { level: "viewer" }, ban: { level: "moderator" } };
    expect((await world.put(`/guilds/${id}/direct`, rules, { actor: owner })).status).toBe(200);
  }
  return {
    world,
    harbour,
    bay,
    owner,
    async entry(user: User, key: string, effect: "allow" | "deny", guild: GuildHandle) {
      const overrides = [{ key, effect, scope: guild.id, reason }];
      const answer = await world.patch(`/permissions/users/${user.id}`, { overrides }, { actor: owner });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    },
    moderate: (actor: User, guild: GuildHandle, body: object) =>
      world.post(`/guilds/${guild.id}/moderation`, { user_id: world.member().id, reason, ...body }, { actor }),
    requests: () => world.app.database.read.workflowRequest.count(),
    deliver: () => world.app.deliveries.deliverDue(systemCall("job", uuid7())),
  };
}

test("A10: what is denied in one server is denied there to a command and to a request, and not in another", async () => {
  const { world, harbour, bay, entry, moderate, requests } = await ground();
  const [mod, admin] = [await staffAtConsole(world, "moderator"), await staffAtConsole(world, "admin")];
  await entry(mod, "workflows.punishment.create", "deny", harbour);
  const refused = await moderate(mod, harbour, { action: "warning" });
  expect(refused.body).toMatchObject({ status: 403, code: "permission_denied", required: "workflows.punishment.create" });
  expect(await world.slash(mod, "warn", { user: world.member(), reason })).toContain("workflows.punishment.create");
  const named = { user_id: world.member().id, action: "warning", reason, discord: { action: "kick", guild_ids: [bay.id, harbour.id] } };
  const everywhere = { ...named, discord: { action: "kick", everywhere: true } };
  for (const body of [named, everywhere])
    expect((await world.post("/workflows/punishment", body, { actor: mod })).body.code).toBe("permission_denied");
  const nowhere = { ...named, discord: { action: "kick" } };
  expect((await world.post("/workflows/punishment", nowhere, { actor: mod })).body.code).toBe("validation_failed");
  expect(await requests()).toBe(0);
  expect((await moderate(mod, bay, { action: "warning" })).body).toMatchObject({ direct: true });
  const there = { ...named, discord: { action: "kick", guild_ids: [bay.id] } };
  expect((await world.post("/workflows/punishment", there, { actor: mod })).status).toBe(201);
  // A command means the server it is given in, whatever is denied in another one.
  const elsewhere = await staffAtConsole(world, "moderator");
  await entry(elsewhere, "workflows.punishment.create", "deny", bay);
  const command = { user: world.member(), action: "warning", discord: "kick" };
  const run = await world.sandbox.as(elsewhere).in(harbour).runSlashCommand("request punishment", command);
  const reply = JSON.stringify(await (await run.submitModal({ reason })).reply());
  expect(reply).not.toContain("workflows.punishment.create");
  expect(await requests()).toBe(3);

  // The right to decide: it is filed, and waits for somebody else.
  await entry(admin, "workflows.punishment.decide", "deny", harbour);
  const waits = await moderate(admin, harbour, { action: "ban", duration: "P1D" });
  expect(waits.body).toMatchObject({ direct: false, waits: { code: "denied" }, effects: [] });
  expect((await moderate(admin, bay, { action: "ban", duration: "P1D" })).body).toMatchObject({ direct: true });
});

test("A10: what is allowed in one server is allowed there, and nowhere else, wherever the command was given", async () => {
  const { world, harbour, bay, entry, moderate, requests } = await ground();
  const viewer = await staffAtConsole(world, "viewer");
  await entry(viewer, "workflows.punishment.create", "allow", harbour);
  await entry(viewer, "blacklist.update", "allow", harbour);
  const refused = await moderate(viewer, bay, { action: "warning" });
  expect([refused.status, refused.body.code]).toEqual([403, "permission_denied"]);
  const exempt = (guild: GuildHandle) =>
    world.post(`/guilds/${guild.id}/exemptions`, { user_id: world.member().id, reason }, { actor: viewer });
  expect((await exempt(bay)).body.code).toBe("permission_denied");
  // Given in Harbour, and about Bay, or about every server.
  const user = world.member();
  const ban = { user, action: "warning", discord: "ban" };
  expect(await world.slash(viewer, "request punishment", ban)).toContain("workflows.punishment.create");
  expect(await requests()).toBe(0);
  expect(await world.app.database.read.listExemption.count()).toBe(0);

  expect((await exempt(harbour)).status).toBe(201);
  expect((await moderate(viewer, harbour, { action: "warning" })).body).toMatchObject({ direct: true });
  expect(await world.slash(viewer, "warn", { user: world.member(), reason })).toContain("✓ Warned");
});

test("A10: a request is decided by those who may decide in every server in which its approval acts", async () => {
  const { world, harbour, bay, owner, entry, deliver } = await ground();
  const admin = await world.staff("admin");
  await entry(admin, "workflows.punishment.decide", "deny", bay);
  const file = async (guilds: readonly GuildHandle[]) => {
    const user = world.member();
    bay.addMember(user);
    const discord = { action: "ban", ...(guilds.length === 0 ? { everywhere: true } : { guild_ids: guilds.map(({ id }) => id) }) };
    const filed = await world.post("/workflows/punishment", { user_id: user.id, action: "strike", reason, discord }, { actor: owner });
    expect(filed.status, JSON.stringify(filed.body)).toBe(201);
    return { user, path: `/workflows/punishment/${filed.body.reference}` };
  };
  for (const guilds of [[bay], [harbour, bay], []]) {
    const { user, path } = await file(guilds);
    const refused = await world.post(`${path}/decision`, { decision: "approve", reason }, { actor: admin });
    expect(refused.body).toMatchObject({ status: 403, code: "permission_denied" });
    expect((await world.get(path, { actor: admin })).body.data.allowed_actions).not.toContain("approve");
    await deliver();
    expect([harbour, bay].flatMap((guild) => guild.bans().filter((one) => one.user.id === user.id))).toEqual([]);
  }
  const { user, path } = await file([harbour]);
  expect((await world.post(`${path}/decision`, { decision: "approve", reason }, { actor: admin })).status).toBe(200);
  await deliver();
  expect([harbour, bay].map((guild) => guild.bans().some((one) => one.user.id === user.id))).toEqual([true, false]);
});
