// @module-tag slow
import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { GuildHandle, User } from "../../sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";
import { within } from "./stances-community.ts";

const reason = "Raided #general with three accounts.";
const missing = "I'm missing a permission, or my role is too low.";
const day = 86_400_000;

interface Effect {
  key: string;
  status: string;
  detail: string;
}

describe("where Discord refuses a part of a decision, or of taking it back", () => {
  let offset = 0;
  let world: World;
  let mod: User;
  let admin: User;
  let owner: User;
  let otherOwner: User;
  let quay: GuildHandle;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({
      furtherGuilds: ["Quay"],
      clock: { now: () => new Date(Date.now() + offset) },
      onEnd: (way) => (end = way),
    });
    [quay] = world.furtherGuilds as [GuildHandle];
    mod = await staffAtConsole(world, "moderator");
    admin = await staffAtConsole(world, "admin");
    owner = await staffAtConsole(world, "owner");
    otherOwner = await staffAtConsole(world, "owner");
    const level = { level: "moderator" };
    const rules = { warning: level, timeout: level, kick: level, ban: level };
    expect((await world.put(`/guilds/${world.guild.id}/direct`, rules, { actor: owner })).status).toBe(200);
    return () => end();
  });

  const deliver = () => world.app.deliveries.deliverDue(systemCall("job", uuid7()));
  const messagesTo = (user: User) => world.sandbox.directMessages(user).map(({ content }) => content.replaceAll("\\", ""));
  const refuse = (route: string) =>
    world.sandbox.faults.rest({ route, status: 403, body: { code: 50_013, message: "Missing Permissions" }, times: 20 });
  const refuseUnban = (user: User) => refuse(`DELETE /guilds/${world.guild.id}/bans/${user.id}`);
  const isBanned = (user: User, guild = world.guild) => guild.bans().some(({ user: one }) => one.id === user.id);
  const timeoutOf = (user: User) => world.guild.member(user)?.timeoutUntil ?? 0;
  const view = async (reference: string, type = "punishment") =>
    (await world.get(`/workflows/${type}/${reference}`, { actor: owner })).body.data;
  const effectsOf = async (reference: string): Promise<Effect[]> => (await view(reference)).effects;
  const statusesOf = async (reference: string) =>
    (await effectsOf(reference)).filter(({ key }) => key.startsWith("discord.")).map(({ key, status }) => `${key} ${status}`);
  const post = async (path: string, body: object, actor: User) => {
    const answer = await world.post(path, body, { actor });
    expect([200, 201], JSON.stringify(answer.body)).toContain(answer.status);
    return answer.body;
  };
  const decide = (reference: string, actor: User, decision = "approve", type = "punishment") =>
    post(`/workflows/${type}/${reference}/decision`, { decision, reason }, actor);
  const retry = async (reference: string, key: string) => {
    const place = (await effectsOf(reference)).findLastIndex((effect) => effect.key === key) + 1;
    await post(`/workflows/punishment/${reference}/effects/${place.toString()}/retry`, {}, owner);
    await deliver();
  };
  /** A punishment that somebody asked for and others approved. */
  const approved = async (user: User, more: object, requester = mod): Promise<string> => {
    const guild_ids = [world.guild.id];
    const body = { user_id: user.id, reason, discord: { action: "none", guild_ids }, ...more };
    const { reference } = await post("/workflows/punishment", body, requester);
    for (const one of [...(requester === mod ? [admin] : []), owner, otherOwner]) {
      if ((await view(reference)).status === "approved") break;
      await decide(reference, one);
    }
    await deliver();
    return reference;
  };
  const actionOf = async (user: User) => {
    const [found] = (await world.get(`/cases?subject=${user.id}`, { actor: owner })).body.data;
    return (await world.get(`/cases/${found.id}/actions`, { actor: owner })).body.data[0];
  };
  const direct = async (user: User, body: object): Promise<string> => {
    const { reference } = await post(`/guilds/${world.guild.id}/moderation`, { user_id: user.id, reason, ...body }, mod);
    await deliver();
    return reference;
  };
  const told = (reader: User, reference: string, text: string) =>
    messagesTo(reader).filter((content) => content.includes(reference) && content.includes(text));

  test("the button Undo says that the timeout was not lifted, and not that it was", async () => {
    const user = world.member();
    const run = await world.sandbox.as(mod).in(world.guild).runSlashCommand("timeout", { user, reason, duration: "1h" });
    const reference = /PUN-REQ-\d+/.exec((await run.reply()).content.replaceAll("\\", ""))?.[0] ?? "none";
    await within(() => timeoutOf(user) > Date.now() && messagesTo(user).length === 1);
    const fault = refuse(`PATCH /guilds/${world.guild.id}/members/${user.id}`);
    const pressed = await run.clickButton("Undo");
    await pressed.reply();
    const said = () => (pressed.current()?.content ?? "").replaceAll("\\", "");
    await within(() => said().includes("✗ Reversal in Discord"));
    fault.clear();
    expect(said()).toContain(`✗ **${reference}** no longer counts, but I could not undo all of it in Discord.`);
    expect(said()).toMatch(/– Timeout in Harbour until <t:\d+:f>\. \(not taken back yet\)/);
    expect(said()).toMatch(/✗ Reversal in Discord: Timeout in Harbour until <t:\d+:f>\. I'm missing a permission/);
    expect(said()).not.toContain("✓ Undone");
    expect(timeoutOf(user)).toBeGreaterThan(Date.now());
    // It stands in the reply: nobody is written to about it.
    expect(told(mod, reference, "could not")).toEqual([]);
    await retry(reference, "discord.punish.undo");
    expect(timeoutOf(user)).toBeLessThanOrEqual(Date.now());
  });

  test("the button Undo says in the end that a timeout was lifted that Discord made wait", async () => {
    const user = world.member();
    const run = await world.sandbox.as(mod).in(world.guild).runSlashCommand("timeout", { user, reason, duration: "1h" });
    await run.reply();
    await within(() => timeoutOf(user) > Date.now() && messagesTo(user).length === 1);
    world.sandbox.faults.rest({ route: `PATCH /guilds/${world.guild.id}/members/${user.id}`, status: 429, retryAfter: 4, times: 1 });
    const pressed = await run.clickButton("Undo");
    const first = (await pressed.reply()).content;
    expect(first).toContain("Undoing **");
    expect(first).not.toContain("✓ Undone");
    await within(() => pressed.current()?.content.includes("✓ Undone") === true, 15_000);
    expect(timeoutOf(user)).toBeLessThanOrEqual(Date.now());
    expect(pressed.current()?.content).not.toContain("not taken back yet");
  });

  test("whoever granted an appeal hears that the person is banned still", async () => {
    const user = world.member();
    const target = await direct(user, { action: "ban" });
    expect(isBanned(user)).toBe(true);
    const { reference } = await post("/workflows/appeal", { target, grounds: "The account was stolen that day.", user_id: user.id }, mod);
    const fault = refuseUnban(user);
    const answer = await decide(reference, admin, "overturn", "appeal");
    expect(answer.effects[0].detail).toBe(`${target} was reversed. I take back what I did for it in Discord.`);
    await deliver();
    await deliver();
    fault.clear();
    expect(isBanned(user)).toBe(true);
    const [message, ...others] = told(admin, target, "could not");
    expect(others).toEqual([]);
    expect(message).toContain("The decision on this request (punishment) was changed, but I could not do all of it in **Harbour**.");
    expect(message).toContain(`Reversal in Discord: Ban from Harbour. ${missing}`);
    expect(told(mod, target, "could not")).toEqual([]);
    await retry(target, "discord.punish.undo");
    expect(isBanned(user)).toBe(false);
  });

  test("whoever reverses an approval hears that the person is banned still, and the reply does not say otherwise", async () => {
    const user = world.member();
    const reference = await approved(user, { action: "ban" });
    const fault = refuseUnban(user);
    const said = (await world.slash(owner, "review reverse", { reference, reason: "It was somebody else." })).replaceAll("\\", "");
    await deliver();
    await deliver();
    fault.clear();
    expect(said).toContain("– Ban from Harbour. (not taken back yet)");
    expect(said).toContain("✗ Reversal in Discord: Ban from Harbour.");
    expect(said).not.toContain("Ban from Harbour. (taken back)");
    expect(told(owner, reference, "could not do all of it in **Harbour**")).toHaveLength(1);
  });

  test("the requester of a ban hears that it could not be lifted at its end; reversing the ban does not call the lift off", async () => {
    const user = world.member();
    const reference = await approved(user, { action: "ban", duration: "P1D" });
    const fault = refuseUnban(user);
    offset += 1.01 * day;
    await deliver();
    await deliver();
    const [message] = told(mod, reference, "could not lift");
    expect(message).toContain("The ban from your request (punishment) is over, but I could not lift it in **Harbour**.");
    expect(message).toContain(missing);
    expect((await effectsOf(reference)).find(({ key }) => key === "discord.ban_end")).toMatchObject({
      status: "failed",
      detail: "End of the ban.",
    });
    await decide(reference, owner, "reverse");
    expect(await statusesOf(reference)).toEqual(["discord.punish reversed", "discord.ban_end failed"]);
    fault.clear();
    await retry(reference, "discord.ban_end");
    offset = 0;
    expect(isBanned(user)).toBe(false);
  });

  test("a ban that is put in force again after a reversal ends at its date, too", async () => {
    const user = world.member();
    const target = await direct(user, { action: "ban", duration: "P1D" });
    const { reference } = await post("/workflows/appeal", { target, grounds: "The account was stolen that day.", user_id: user.id }, mod);
    await decide(reference, admin, "overturn", "appeal");
    await deliver();
    expect(isBanned(user)).toBe(false);
    await decide(reference, owner, "reverse", "appeal");
    await deliver();
    expect([(await view(target)).status, isBanned(user)]).toEqual(["approved", true]);
    offset += 1.01 * day;
    await deliver();
    await deliver();
    offset = 0;
    expect(isBanned(user)).toBe(false);
  });

  test("the end of a ban that one person decided alone is told to them", async () => {
    const user = world.member();
    const reference = await direct(user, { action: "ban", duration: "P1D" });
    const fault = refuseUnban(user);
    offset += 1.01 * day;
    await deliver();
    await deliver();
    offset = 0;
    fault.clear();
    expect(told(mod, reference, "could not lift it in **Harbour**")).toHaveLength(1);
  });

  test("what one person decided alone and Discord refuses long after their command is told to them", async () => {
    const user = world.member();
    world.guild.leave(user);
    await within(() => world.app.guildState.members(user.id).every(({ present }) => !present));
    const reference = await direct(user, { action: "timeout", duration: "P1D" });
    expect(told(mod, reference, "could not")).toEqual([]);
    const fault = refuse(`PATCH /guilds/${world.guild.id}/members/${user.id}`);
    offset += day / 48;
    world.guild.addMember(user);
    await within(async () => (await statusesOf(reference)).includes("discord.punish failed"));
    await deliver();
    offset = 0;
    fault.clear();
    expect(told(mod, reference, "could not carry it out in **Harbour**")).toHaveLength(1);
  });

  test("of a ban from two servers the person and the requester hear in which one it was not done; it counts", async () => {
    const user = world.member();
    quay.addMember(user);
    const fault = refuse(`PUT /guilds/${quay.id}/bans/${user.id}`);
    const reference = await approved(user, { action: "ban", discord: { action: "none", guild_ids: [world.guild.id, quay.id] } });
    await deliver();
    fault.clear();
    expect([isBanned(user), isBanned(user, quay)]).toEqual([true, false]);
    expect(messagesTo(user).slice(1)).toEqual([expect.stringContaining("the ban from **Quay** was not carried out")]);
    expect(told(mod, reference, "could not")).toEqual([expect.stringContaining("could not carry it out in **Quay**")]);
    expect(await actionOf(user)).toMatchObject({ kind: "ban", voided: null });
  });

  test("a timeout that both servers refuse is taken back whole, and each that is done after all is told of, without the other", async () => {
    const user = world.member();
    quay.addMember(user);
    const faults = [world.guild, quay].map(({ id }) => refuse(`PATCH /guilds/${id}/members/${user.id}`));
    const guild_ids = [world.guild.id, quay.id];
    const reference = await approved(user, { action: "timeout", duration: "P1D", discord: { action: "none", guild_ids } });
    await deliver();
    for (const fault of faults) fault.clear();
    const [first, ...corrections] = messagesTo(user);
    expect(corrections.at(-1)).toContain("(timeout) was not carried out. It doesn't count.");
    expect(await actionOf(user)).toMatchObject({ kind: "timeout", voided: { by: null } });
    // The last one, which is in the second server.
    await retry(reference, "discord.punish");
    await deliver();
    expect(await actionOf(user)).toMatchObject({ kind: "timeout", voided: null });
    expect(messagesTo(user).slice(1 + corrections.length)).toEqual([
      first,
      expect.stringContaining("the timeout in **Harbour** was not carried out"),
    ]);
  });

  test("a timeout that is put in force again and refused then is voided in its case, and the person hears of it", async () => {
    const user = world.member();
    const target = await direct(user, { action: "timeout", duration: "P1D" });
    const { reference } = await post("/workflows/appeal", { target, grounds: "The account was stolen that day.", user_id: user.id }, mod);
    await decide(reference, admin, "overturn", "appeal");
    await deliver();
    const before = messagesTo(user).length;
    const fault = refuse(`PATCH /guilds/${world.guild.id}/members/${user.id}`);
    await decide(reference, owner, "reverse", "appeal");
    await deliver();
    await deliver();
    fault.clear();
    const since = messagesTo(user).slice(before);
    expect(since).toEqual([expect.stringContaining("timed you out"), expect.stringContaining("was not carried out")]);
    const [found] = (await world.get(`/cases?subject=${user.id}`, { actor: owner })).body.data;
    const actions = (await world.get(`/cases/${found.id}/actions`, { actor: owner })).body.data as { voided: object | null }[];
    expect(actions.filter(({ voided }) => voided === null)).toEqual([]);
  });

  test("a warning counts though Discord refuses the timeout that goes with it, and the person hears that they are not timed out", async () => {
    const user = world.member();
    const fault = refuse(`PATCH /guilds/${world.guild.id}/members/${user.id}`);
    const discord = { action: "timeout", guild_ids: [world.guild.id] };
    const reference = await approved(user, { action: "warning", points: 2, duration: "P30D", discord });
    await deliver();
    fault.clear();
    expect(await actionOf(user)).toMatchObject({ kind: "warning", voided: null });
    expect(messagesTo(user).slice(1)).toEqual([expect.stringContaining("the timeout in **Harbour** was not carried out")]);
    const [message] = told(mod, reference, "could not");
    expect(message).toContain("could not do all of it in **Harbour**");
    expect(message).toMatch(/Timeout in Harbour until <t:\d+:f>\. I'm missing a permission/);
    // Done after all, the person reads once more what holds.
    await retry(reference, "discord.punish");
    await deliver();
    expect(timeoutOf(user)).toBeGreaterThan(Date.now());
    expect(messagesTo(user)).toHaveLength(3);
    expect(messagesTo(user)[2]).toBe(messagesTo(user)[0]);
    expect(await actionOf(user)).toMatchObject({ kind: "warning", voided: null });
  });

  test("a recruit of whom nothing was stored gets the role; where Discord refuses it, the requester hears which one", async () => {
    const [deck, user, newcomer] = [world.guild.createRole("Deckhand", { position: 1 }), world.member(), world.member()];
    const body = { name: "deckhand", rank: 12, level: "viewer", discord: [{ guild_id: world.guild.id, role_id: deck.id }] };
    expect((await world.put("/staffroles/deckhand", body, { actor: owner })).status).toBe(200);
    const fault = refuse(`PUT /guilds/${world.guild.id}/members/${user.id}/roles/${deck.id}`);
    const asked = { user_id: user.id, position: "deckhand", timezone: "Europe/Berlin", trial_days: 0, reason };
    const { reference } = await post("/workflows/recruitment", asked, admin);
    await decide(reference, owner, "approve", "recruitment");
    await deliver();
    await deliver();
    fault.clear();
    expect(told(admin, reference, `Role Deckhand in Harbour. ${missing}`)).toEqual([
      expect.stringContaining("Your request (recruitment) was approved, but I could not do all of it in **Harbour**."),
    ]);
    expect(await world.app.database.read.rosterEntry.findUnique({ where: { userId: user.id } })).toMatchObject({ staffRole: "deckhand" });
    const { reference: other } = await post("/workflows/recruitment", { ...asked, user_id: newcomer.id }, admin);
    await decide(other, owner, "approve", "recruitment");
    await deliver();
    expect(world.guild.member(newcomer)?.roles).toEqual([deck.id]);
    expect(told(admin, other, "could not")).toEqual([]);
  });

  test("a demotion and a termination stay on the roster, and the requester hears which roles stayed in Discord", async () => {
    const [sailor, mate] = [world.guild.createRole("Sailor", { position: 3 }), world.guild.createRole("Mate", { position: 2 })];
    for (const [key, role, rank] of [["sailor", sailor, 20] as const, ["mate", mate, 15] as const]) {
      const body = { name: key, rank, level: "viewer", discord: [{ guild_id: world.guild.id, role_id: role.id }] };
      expect((await world.put(`/staffroles/${key}`, body, { actor: owner })).status).toBe(200);
    }
    const sailorOf = async () => {
      const user = world.member();
      await post("/roster", { user_id: user.id, staff_role: "sailor", trial_days: 0, reason }, owner);
      world.guild.setRoles(user, [sailor]);
      await within(() => world.app.guildState.members(user.id).some(({ roleIds }) => roleIds.includes(sailor.id)));
      refuse(`DELETE /guilds/${world.guild.id}/members/${user.id}/roles/${sailor.id}`);
      refuse(`PUT /guilds/${world.guild.id}/members/${user.id}/roles/${mate.id}`);
      return user;
    };
    const [demoted, terminated] = [await sailorOf(), await sailorOf()];
    const demotion = await approved(demoted, { action: "demotion", demote_to: "mate", discord: undefined }, admin);
    const termination = await approved(terminated, { action: "termination", discord: undefined }, admin);
    await deliver();
    expect(told(admin, demotion, "could not")).toEqual([
      expect.stringContaining(`Removal of the role Sailor in Harbour. ${missing}`),
      expect.stringContaining(`Role Mate in Harbour. ${missing}`),
    ]);
    expect(told(admin, termination, "could not do all of it")).toHaveLength(1);
    for (const user of [demoted, terminated]) {
      expect(await actionOf(user)).toMatchObject({ voided: null });
      expect(messagesTo(user)).toHaveLength(1);
    }
    const entry = await world.app.database.read.rosterEntry.findUnique({ where: { userId: demoted.id } });
    expect(entry?.staffRole).toBe("mate");
  });
});
