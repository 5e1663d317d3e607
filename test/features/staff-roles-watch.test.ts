import { pino } from "pino";
import { expect, test } from "vitest";
import { createGuildState } from "../../src/discord/guild/create-guild-state.ts";
import { createStaffService } from "../../src/features/staff/staff.service.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createCursors } from "../../src/kernel/page.ts";
import type { GuildHandle, Role } from "../../sandbox/index.ts";
import { createJudgedWorld } from "../contract/world.ts";
import type { World } from "../support/world.ts";
import { createHouse } from "./staff-house.ts";

const missingAction = "staff_role.discord_role_missing";
const pair = (guild: GuildHandle, role: Role) => ({ guild_id: guild.id, role_id: role.id });

/** Two guilds that share one staff role, with people who hold it in one or in both. */
async function createHarbours(): Promise<{ world: World; quay: GuildHandle; here: Role; there: Role; path: string }> {
  const world = await createJudgedWorld({ furtherGuilds: ["Quay"] });
  const [quay] = world.furtherGuilds;
  if (quay === undefined) throw new Error("there is no second guild");
  const [here, there] = [world.guild.createRole("pilot"), quay.createRole("pilot")];
  await world.sandbox.waitFor(() => world.app.guildState.role(quay.id, there.id) && world.app.guildState.role(world.guild.id, here.id));
  await world.sandbox.waitFor(() => !world.app.guildState.freshness().stale);
  const owner = await world.staff("owner");
  const body = { name: "Pilot", rank: 20, level: "moderator", discord: [pair(world.guild, here), pair(quay, there)] };
  const made = await world.put("/staffroles/pilot", body, { actor: owner });
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  return { world, quay, here, there, path: "/staffroles/pilot" };
}

const told = async (world: World): Promise<any[]> => (await world.get(`/audit?action=${missingAction}`)).body.data;
const toldEvents = async (world: World): Promise<any[]> => {
  const rows = await world.app.database.read.outboxEvent.findMany({ where: { type: "staff_role.changed" }, orderBy: { seq: "asc" } });
  return rows.map(({ data }) => data as any).filter((data) => data.change === "discord_role_missing");
};
const access = async (world: World, id: string) => (await world.get(`/staff/${id}/access`)).body.data;

test("Discord roles of two guilds stand for one staff role, each for those who hold it there", async () => {
  const { world, quay, here, there, path } = await createHarbours();
  const [one, other, both] = [world.member(), world.sandbox.createUser("other"), world.member()];
  world.guild.setRoles(one, [here]);
  quay.addMember(other, { roles: [there] });
  world.guild.setRoles(both, [here]);
  quay.addMember(both, { roles: [there] });
  for (const { id } of [one, other, both]) await world.sandbox.waitFor(() => world.app.access.of(id).isStaff);
  await world.sandbox.waitFor(() => world.app.access.of(both.id).held[0]?.refs.length === 2);
  for (const { id } of [one, other, both]) expect(await access(world, id)).toMatchObject({ allowed: true, staff_roles: ["pilot"] });
  expect((await access(world, both.id)).reasons.map(({ ref }: { ref: string }) => ref).toSorted()).toEqual(
    [`${world.guild.id}:${here.id}`, `${quay.id}:${there.id}`].toSorted(),
  );
  expect((await world.get(path)).body.data).toMatchObject({ members_count: 3 });
  quay.setRoles(both, []);
  await world.sandbox.waitFor(() => world.app.access.of(both.id).held[0]?.refs.length === 1);
  expect(await access(world, both.id)).toMatchObject({ allowed: true });
  const profile = (await world.get(`/staff/${both.id}/profile`)).body.data;
  expect(profile.guilds.map(({ name }: { name: string }) => name).toSorted()).toEqual(["Harbour", "Quay"]);
  quay.setRoles(other, []);
  await world.sandbox.waitFor(() => !world.app.access.of(other.id).isStaff);
  expect(await access(world, other.id)).toMatchObject({ allowed: false, reasons: [{ code: "not_member", source: "staff" }] });
});

test("a Discord role that vanishes is told once, with how many it concerns, and its mapping stays", async () => {
  const { world, quay, there, path } = await createHarbours();
  const people = [world.sandbox.createUser("one"), world.sandbox.createUser("two")];
  for (const person of people) quay.addMember(person, { roles: [there] });
  for (const { id } of people) await world.sandbox.waitFor(() => world.app.access.of(id).isStaff);
  expect(await told(world)).toEqual([]);
  quay.deleteRole(there);
  await world.sandbox.waitFor(() => people.every(({ id }) => !world.app.access.of(id).isStaff));
  await expect.poll(() => told(world)).toHaveLength(1);
  const ref = `${quay.id}:${there.id}`;
  expect((await told(world))[0]).toMatchObject({
    target: { kind: "staff_role", id: "pilot", reference: ref },
    guild_id: quay.id,
    via: "job",
    actor: null,
    after: { role_id: there.id, missing: true, people_affected: 2 },
  });
  expect(await toldEvents(world)).toEqual([
    { role_key: "pilot", change: "discord_role_missing", guild_id: quay.id, role_id: there.id, missing: true },
  ]);
  for (const { id } of people) {
    expect(await access(world, id)).toMatchObject({ allowed: false, status: "former", reasons: [{ code: "not_member", source: "staff" }] });
  }
  const { discord } = (await world.get(path)).body.data;
  expect(discord.find(({ guild_id }: any) => guild_id === quay.id)).toEqual({ ...pair(quay, there), name: null, missing: true });
  expect((await world.get("/health")).body.checks.guild_state.status).toBe("pass");

  // Further changes, the minute's job and a restart tell nothing anew.
  const further = quay.createRole("further");
  await world.sandbox.waitFor(() => world.app.guildState.role(quay.id, further.id));
  await world.app.staff.expireDue(jobCall());
  await world.restart();
  await world.app.staff.expireDue(jobCall());
  const second = quay.createRole("second");
  await world.sandbox.waitFor(() => world.app.guildState.role(quay.id, second.id));
  // Whatever was about to be written is written before this.
  await world.app.database.write(jobCall(), () => Promise.resolve());
  expect([(await told(world)).length, (await toldEvents(world)).length]).toEqual([1, 1]);

  // Mapped to another Discord role, the access of its holders is back.
  const owner = await world.staff("owner");
  for (const person of people) quay.setRoles(person, [second]);
  const remapped = await world.patch(path, { discord: [pair(quay, second)] }, { actor: owner });
  expect(remapped.body.data.discord).toMatchObject([{ role_id: second.id, missing: false }]);
  for (const { id } of people) await world.sandbox.waitFor(() => world.app.access.of(id).isStaff);
  expect(await access(world, people[0]!.id)).toMatchObject({ allowed: true, staff_roles: ["pilot"] });
  expect((await world.get("/audit/verify")).body.data.ok).toBe(true);
});

test("a Discord role that vanishes while nobody listens is told at the next start", async () => {
  const { world, quay, there } = await createHarbours();
  await world.app.stop();
  quay.deleteRole(there);
  // Stopping twice does no harm, so the world starts again by its own means.
  await world.restart();
  await expect.poll(() => told(world)).toHaveLength(1);
  expect((await told(world))[0]).toMatchObject({ guild_id: quay.id, after: { role_id: there.id, people_affected: null } });
});

test("an outage of Discord is no vanishing, but a guild that the bot had to leave is", async () => {
  const { world, quay, path } = await createHarbours();
  quay.setAvailable(false);
  await world.sandbox.waitFor(() => world.app.guildState.freshness().stale);
  await world.app.staff.expireDue(jobCall());
  expect(await told(world)).toEqual([]);
  quay.setAvailable(true);
  await world.sandbox.waitFor(() => !world.app.guildState.freshness().stale);
  expect((await world.get(path)).body.data.discord.every(({ missing }: any) => !missing)).toBe(true);
  expect(await told(world)).toEqual([]);
  quay.removeBot();
  await expect.poll(() => told(world)).toHaveLength(1);
  expect((await told(world))[0]).toMatchObject({ guild_id: quay.id, after: { people_affected: 0 } });
  expect((await world.get(path)).body.data.discord.filter(({ missing }: any) => missing)).toMatchObject([{ guild_id: quay.id }]);
});

test("nothing is missing from a guild state that has not been read", async () => {
  const house = await createHouse();
  await house.settled();
  const cursors = createCursors(Buffer.alloc(32));
  const guildState = createGuildState({ database: house.database, logger: pino({ level: "silent" }), served: new Set([house.guild.id]) });
  const confirmations = { hold: () => Promise.resolve(undefined), register: () => undefined };
  const staff = createStaffService({
    ...house,
    logger: pino({ level: "silent" }),
    confirmations,
    guildState,
    cursors,
    roster: { leaveInTx: () => Promise.resolve() },
  });
  const before = await house.auditCount();
  await staff.expireDue(jobCall());
  await house.database.write(jobCall(), () => Promise.resolve());
  expect(await house.auditCount()).toBe(before);
});

function jobCall() {
  return systemCall("job", uuid7());
}
