import { describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { GuildHandle, User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { community, isBanned, within } from "./stances-community.ts";

const over = "Nobody needs to look at this any more.";

/** Two servers with an alerts channel, in the first of which admins ban directly. */
async function ground(env: Record<string, string> = {}) {
  const given = await community(env);
  const { world, harbour, bay, owner } = given;
  const admin = await staffAtConsole(world, "admin");
  bay.addMember(admin);
  const channels = new Map([harbour, bay].map((guild) => [guild, guild.createChannel("alerts")]));
  const put = async (path: string, body: object) => {
    const answer = await world.put(path, body, { actor: owner });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };
  for (const [guild, channel] of channels) await put(`/channels/${guild.id}`, { alerts: channel.id });
  await put(`/guilds/${harbour.id}/direct`, { ban: { level: "admin" } });
  const alertsIn = (guild: GuildHandle) => guild.messages().filter(({ channelId }) => channelId === channels.get(guild)?.id);
  const textsIn = (guild: GuildHandle) => alertsIn(guild).map(({ embeds }) => embeds[0]?.description ?? "");
  const refuse = (method: "PUT" | "DELETE", user: User, times: number) =>
    world.sandbox.faults.rest({
      route: `${method} /guilds/${harbour.id}/bans/${user.id}`,
      status: 403,
      body: { code: 50_013, message: "Missing Permissions" },
      times,
    });
  const press = async (guild: GuildHandle, label: string, user = admin) => {
    const [alert] = alertsIn(guild);
    if (alert === undefined) throw new Error("there is no alert");
    return await (await world.sandbox.as(user).in(guild).press(alert, label)).reply();
  };
  const eventsOf = async (type: string) =>
    (await world.app.database.read.outboxEvent.findMany({ where: { type }, orderBy: { seq: "asc" } })).map(({ data }) => data);
  const listActions = async (query = "") => (await world.get(`/guilds/${harbour.id}/list-actions${query}`, { actor: admin })).body.data;
  const retry = (id: string, actor: User, guild = harbour) =>
    world.post(`/guilds/${guild.id}/list-actions/${id}/retry`, undefined, { actor });
  return { ...given, admin, alertsIn, textsIn, refuse, press, eventsOf, listActions, retry };
}

describe("a failure of an action in Discord reaches somebody who can do something about it", () => {
  test("a ban of a request is alerted in its server alone, tried again by a press, and over once it is done", async () => {
    const { world, harbour, bay, admin, alertsIn, textsIn, refuse, press, eventsOf } = await ground();
    const viewer = await staffAtConsole(world, "viewer");
    const raider = world.member();
    world.sandbox.setDirectMessages(raider, false);
    refuse("PUT", raider, 1);
    await world.slash(admin, "ban", { user: raider, reason: "Raided #general." });
    await within(() => alertsIn(harbour).length > 0);
    const [text = ""] = textsIn(harbour);
    expect(text).toMatch(new RegExp(`^The ban of <@${raider.id}> in \\*\\*.+\\*\\* failed \\(\\*\\*PUN.*\\*\\*\\): .+`));
    // A viewer may not try it again.
    expect((await press(harbour, "Try again", viewer)).content).toContain("permission");
    expect(isBanned(harbour, raider)).toBe(false);
    expect(JSON.stringify(await press(harbour, "Open"))).toContain("PUN");
    await press(harbour, "Try again");
    await within(() => isBanned(harbour, raider));
    await within(() => textsIn(harbour)[0] === over);
    expect(alertsIn(harbour)[0]?.components).toEqual([]);
    // The message that did not arrive is no alert of its own, and the other server heard of nothing.
    expect(alertsIn(harbour)).toHaveLength(1);
    expect(alertsIn(bay)).toHaveLength(0);
    const recovered = await eventsOf("discord_action.recovered");
    expect(recovered).toMatchObject([{ guild_id: harbour.id, user_id: raider.id, action: "ban", cause: "request" }]);
  });

  test("what fails once more after a press is alerted again, and a reversal of the request ends the alert", async () => {
    const { world, harbour, owner, admin, alertsIn, textsIn, refuse, press, eventsOf } = await ground();
    const raider = world.member();
    refuse("PUT", raider, 10);
    await world.slash(admin, "ban", { user: raider, reason: "Raided #general." });
    await within(() => alertsIn(harbour).length > 0);
    await press(harbour, "Try again");
    await within(async () => (await eventsOf("discord_action.failed")).length === 2);
    expect(textsIn(harbour).at(-1)).not.toBe(over);
    const [failed] = (await eventsOf("discord_action.failed")) as { reference: string }[];
    const reference = failed?.reference ?? "";
    const { body } = await world.get(`/workflows/punishment/${reference}`, { actor: owner });
    const reversal = { decision: "reverse", reason: "It was somebody else." };
    const answer = await world.post(`/workflows/punishment/${reference}/decision`, reversal, {
      actor: owner,
      headers: { "if-match": `"v${String(body.data.revision)}"` },
    });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    await within(() => textsIn(harbour).every((text) => text === over));
    expect(await eventsOf("discord_action.recovered")).toHaveLength(1);
    expect(isBanned(harbour, raider)).toBe(false);
  });

  test("A2: a ban that a list asks for says why it failed, is tried again by staff who may, and then done", async () => {
    const { world, harbour, stance, list, admin, alertsIn, textsIn, refuse, listActions, retry, eventsOf, rows, bay } = await ground();
    const viewer = await staffAtConsole(world, "viewer");
    await stance(harbour, { category: "raid", stance: "apply", action: "ban" });
    const wanted = world.sandbox.createUser("wanted");
    const { number } = await list(wanted);
    refuse("PUT", wanted, 1);
    harbour.addMember(wanted);
    await within(() => alertsIn(harbour).length > 0);
    expect(textsIn(harbour)[0]).toContain(`The ban of <@${wanted.id}>`);
    const [action] = await listActions();
    expect(action).toMatchObject({ user_id: wanted.id, record: number, list: "own", action: "ban", is_undo: false, state: "failed" });
    expect(action.error).toMatch(/permission|role/);
    expect((await retry(action.id, viewer)).status).toBe(403);
    expect((await retry(action.id, admin, bay)).body.code).toBe("record_not_found");
    expect(isBanned(harbour, wanted)).toBe(false);
    const again = await retry(action.id, admin);
    expect(again.status, JSON.stringify(again.body)).toBe(200);
    expect(again.body.data).toMatchObject({ id: action.id, state: "pending" });
    await within(() => isBanned(harbour, wanted));
    await within(() => textsIn(harbour)[0] === over);
    expect(await listActions()).toEqual([]);
    expect((await retry(action.id, admin)).body.code).toBe("invalid_transition");
    expect(await eventsOf("discord_action.recovered")).toMatchObject([{ cause: "list", id: action.id, action: "ban", list: "own" }]);
    const { body: audit } = await world.get("/audit?action=list_action.retried", { actor: admin });
    expect(audit.data).toMatchObject([{ actor: { id: admin.id }, target: { reference: number } }]);
    expect(await rows(wanted)).toMatchObject([{ state: "done", lastError: null }]);
  });

  test("nobody tries again what is done about themselves or an account of theirs", async () => {
    const { world, harbour, stance, list, owner, refuse, listActions, retry } = await ground();
    const [mona, second] = [await staffAtConsole(world, "admin"), world.sandbox.createUser("second")];
    const link = { user_id: second.id, confidence: "confirmed", kind: "declared_alt", basis: [{ type: "admission", note: "Said so" }] };
    expect((await world.post(`/users/${mona.id}/links`, link, { actor: owner })).status).toBe(201);
    await stance(harbour, { category: "raid", stance: "apply", action: "ban" });
    await list(second);
    refuse("PUT", second, 1);
    harbour.addMember(second);
    await within(async () => (await listActions()).length > 0);
    const [action] = await listActions();
    expect((await retry(action.id, mona)).body.code).toBe("conflict_of_interest");
    expect(await listActions()).toHaveLength(1);
  });

  test("a record that ends ends the alert of what was not done for it", async () => {
    const { world, harbour, stance, list, revoke, alertsIn, textsIn, refuse, listActions } = await ground();
    await stance(harbour, { category: "raid", stance: "apply", action: "ban" });
    const wanted = world.sandbox.createUser("wanted");
    const { number } = await list(wanted);
    refuse("PUT", wanted, 1);
    harbour.addMember(wanted);
    await within(() => alertsIn(harbour).length > 0);
    await revoke(number);
    await within(() => textsIn(harbour)[0] === over);
    expect(await listActions()).toEqual([]);
    expect(isBanned(harbour, wanted)).toBe(false);
  });

  test("what could not be taken back is tried again as that, by the menu of /blacklist failed", async () => {
    const { world, harbour, stance, list, revoke, admin, alertsIn, textsIn, refuse, listActions } = await ground();
    await stance(harbour, { category: "raid", stance: "apply", action: "ban" });
    const wanted = world.sandbox.createUser("wanted");
    const { number } = await list(wanted);
    harbour.addMember(wanted);
    await within(() => isBanned(harbour, wanted));
    await within(async () => (await listActions("?state=done")).length === 1);
    refuse("DELETE", wanted, 1);
    await revoke(number);
    await within(() => alertsIn(harbour).length > 0);
    expect(textsIn(harbour)[0]).toContain("The unban of");
    expect(await listActions()).toMatchObject([{ user_id: wanted.id, is_undo: true }]);
    const run = await world.sandbox.as(admin).in(harbour).runSlashCommand("blacklist failed", {});
    const shown = await run.reply();
    expect(JSON.stringify(shown.embeds)).toContain(`<@${wanted.id}>`);
    const [action] = await listActions();
    const picked = await run.select("do:lr", [action.id]);
    expect((await picked.reply()).content).toContain("I'm trying again");
    await within(() => !isBanned(harbour, wanted));
    await within(() => textsIn(harbour)[0] === over);
    expect(await listActions("?state=undone")).toMatchObject([{ error: null }]);
  });

  test("what people undid and Discord did not is not done again when the person comes back", async () => {
    const { world, harbour, stance, list, admin, refuse, listActions, rows } = await ground({ ACTION_BREAKER: "1" });
    await stance(harbour, { category: "raid", stance: "apply", action: "ban" });
    const [first, other] = [world.sandbox.createUser("first"), world.sandbox.createUser("other")];
    await list(first);
    await list(other);
    harbour.addMember(first);
    await within(() => isBanned(harbour, first));
    await within(async () => (await listActions("?state=done")).length === 1);
    harbour.addMember(other);
    await within(async () => (await listActions("?state=held")).length === 1);
    refuse("DELETE", first, 1);
    expect((await world.post(`/guilds/${harbour.id}/held-actions/undo`, undefined, { actor: admin })).status).toBe(200);
    await within(async () => (await listActions()).length === 1);
    expect(await listActions()).toMatchObject([{ user_id: first.id, is_undo: true }]);
    // Somebody lifts it by hand, and they come back.
    harbour.unban(first);
    harbour.addMember(first);
    await world.app.lists.worker.catchUp(systemCall("job", uuid7()));
    expect(isBanned(harbour, first)).toBe(false);
    expect(await rows(first)).toHaveLength(1);
  });
});
