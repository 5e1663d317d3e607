// @module-tag sqlite
// @module-tag slow
import type { APIGuildMember } from "discord-api-types/v10";
import { expect, onTestFinished, test } from "vitest";
import { createGuildState } from "../../src/discord/guild/create-guild-state.ts";
import type { SyncLimits } from "../../src/discord/guild/member-sync.ts";
import type { SandboxOptions } from "../../sandbox/index.ts";
import { createLog, createStand, goLive, isLive, openTestDatabase, tracking, until } from "./support.ts";

const list = "GET /guilds/:id/members";

async function createHarbour(sync: SyncLimits, options: SandboxOptions = {}) {
  const stand = await createStand({ sandbox: options, state: { sync }, discord: { repeatMs: 1 } });
  const guild = stand.sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const [ann] = guild.addMembers(1, { roles: [staff] });
  await goLive(stand);
  const { sandbox } = stand;
  /** When the whole list was asked for over the gateway. */
  const asked = () => sandbox.gatewayLog.filter(({ direction, op }) => direction === "in" && op === 8).map(({ at }) => at);
  const pages = () => sandbox.exchanges.filter(({ route }) => route === "/guilds/{guild_id}/members").length;
  return { ...stand, guild, staff, ann: ann!, asked, pages, reads: () => asked().length + pages() };
}

/** Guild state without a gateway: each page of the member list waits in `answers` until the test gives it. */
async function createFeed(guildId: string) {
  const { database } = await openTestDatabase();
  const state = createGuildState({ database, logger: createLog().logger, served: new Set([guildId]), sync: { chunkTimeoutMs: 0 } });
  onTestFinished(() => state.feed.stop());
  const answers: ((members: APIGuildMember[]) => void)[] = [];
  const page = () => new Promise<APIGuildMember[]>((resolve) => answers.push(resolve));
  state.feed.attach({ member: () => Promise.resolve(null), page, requestAll: () => undefined });
  const tell = (t: string, d: object) => {
    for (const { dispatch, receive } of state.feed.listeners) if (dispatch === t) void receive(d);
    state.feed.alive();
  };
  return { state, answers, tell };
}

test.each([
  ["goes away and comes back", "setAvailable"],
  ["removes the bot and adds it", "bot"],
])("a server that %s again and again is read at once, and then once a window", async (_, how) => {
  const stand = await createHarbour({ windowMs: 3000 });
  const { sandbox, guild, state, staff, ann, reads } = stand;
  expect(reads()).toBe(1);
  for (let round = 0; round < 20; round += 1) {
    if (how === "bot") guild.removeBot();
    else guild.setAvailable(false);
    await sandbox.caughtUp();
    if (round === 19) guild.setRoles(ann, []);
    if (how === "bot") guild.addBot();
    else guild.setAvailable(true);
    await until(() => state.guilds()[0]?.present === true);
    await sandbox.caughtUp();
  }
  await until(() => isLive(stand));
  await state.track(tracking(guild, [], [ann.id]));
  expect(state.members(ann.id)[0]?.roleIds).not.toContain(staff.id);
  expect(reads()).toBeLessThanOrEqual(5);
});

test("a list that was being read when the server went away does not count as read", async () => {
  const { state, answers, tell } = await createFeed("200000000000000001");
  const guild = { id: "200000000000000001", name: "Harbour", owner_id: "100000000000000001", roles: [] };
  tell("READY", { guilds: [{ id: guild.id, unavailable: true }] });
  tell("GUILD_CREATE", guild);
  await until(() => answers.length === 1);
  tell("GUILD_DELETE", { id: guild.id, unavailable: true });
  tell("GUILD_CREATE", guild);
  answers[0]?.([]);
  await until(() => answers.length === 2);
  expect(isLive({ state })).toBe(false);
  answers[1]?.([]);
  await until(() => isLive({ state }));
});

test("an event about a member while a list is being read is newer than the list", async () => {
  const guildId = "200000000000000001";
  const { state, answers, tell } = await createFeed(guildId);
  const names = ["bot", "ann", "bob", "cem", "dan", "eve"];
  const idOf = (name: string) => (300_000_000_000_000_001n + BigInt(names.indexOf(name))).toString();
  const [before, after] = ["2026-01-01T00:00:00.000Z", "2026-02-02T00:00:00.000Z"];
  const member = (name: string, roles: readonly string[], joined: string | null = before) =>
    ({ user: { id: idOf(name), username: name, ...(name === "bot" && { bot: true }) }, roles, joined_at: joined }) as APIGuildMember;
  const [low, high] = ["400000000000000001", "400000000000000002"];
  const roles = [low, high].map((id, position) => ({ id, name: id, position, color: 0, permissions: "0" }));
  tell("READY", { guilds: [{ id: guildId, unavailable: true }], user: { id: idOf("bot") } });
  tell("GUILD_CREATE", { id: guildId, name: "Harbour", owner_id: idOf("ann"), roles, members: [member("bot", [])] });
  const seen: string[] = [];
  state.presences.onSeen(({ userId }) => seen.push(userId));
  const event = (t: string, of: object) => tell(t, { ...of, guild_id: guildId });
  const standing = () => {
    const found = names.map((name) => state.standings.of(guildId)?.member(idOf(name)));
    return Object.fromEntries(names.map((name, index) => [name, found[index]?.roleIds ?? found[index]]));
  };
  const joined = () => names.map((name) => state.presences.joinedAt(guildId, idOf(name)));
  await until(() => answers.length === 1);
  event("GUILD_MEMBER_ADD", member("bob", [high], after));
  event("GUILD_MEMBER_UPDATE", member("ann", [high], null));
  event("GUILD_MEMBER_UPDATE", member("dan", [high]));
  event("GUILD_MEMBER_REMOVE", { user: { id: idOf("cem") } });
  answers[0]?.(["bot", "ann", "cem", "dan", "eve"].map((name) => member(name, [low])));
  await until(() => isLive({ state }));
  const expected = { bot: [low], ann: [high], bob: [high], cem: null, dan: [high], eve: [low] };
  expect(standing()).toEqual(expected);
  const [old, young] = [Date.parse(before), Date.parse(after)];
  expect(joined()).toEqual([undefined, 1, young, undefined, old, old]);
  expect(seen.toSorted()).toEqual(["ann", "bob", "dan", "eve"].map(idOf));

  // What was known of somebody before stays so where an event leaves it out.
  tell("GUILD_DELETE", { id: guildId, unavailable: true });
  tell("GUILD_CREATE", { id: guildId, name: "Harbour", owner_id: idOf("ann"), roles, members: [member("bot", [])] });
  await until(() => answers.length === 2);
  event("GUILD_MEMBER_UPDATE", member("eve", [high], null));
  answers[1]?.(
    names.filter((name) => name !== "cem").map((name) => member(name, expected[name as "ann"], name === "bob" ? after : before)),
  );
  await until(() => isLive({ state }));
  expect(standing()).toEqual({ ...expected, eve: [high] });
  expect(joined()).toEqual([undefined, old, young, undefined, old, old]);
});

test("a read that failed is repeated when the gateway answers again, not before", async () => {
  const stand = await createHarbour({ windowMs: 1500, retryMs: 10 }, { memberRequestWindowMs: 1000 });
  const { sandbox, guild, state, staff, ann, asked, pages } = stand;
  sandbox.faults.rest({ route: list, status: 500, times: 1000 });
  await state.track(tracking(guild, [staff]));
  await until(() => isLive(stand));
  expect(state.members(ann.id)).toHaveLength(1);
  expect([asked().length, pages()]).toEqual([2, 4]);
});

test("after a rate limit of the gateway a read is repeated when Discord says, not before", async () => {
  const stand = await createHarbour({ windowMs: 0, retryMs: 10 }, { memberRequestWindowMs: 1500 });
  const { sandbox, guild, state, staff, ann, asked, pages } = stand;
  sandbox.faults.rest({ route: list, status: 500, times: 1000 });
  await state.track(tracking(guild, [staff]));
  await until(() => isLive(stand));
  expect(state.members(ann.id)).toHaveLength(1);
  expect([asked().length, pages()]).toEqual([3, 4]);
  expect(sandbox.gatewayLog.filter(({ t }) => t === "RATE_LIMITED")).toHaveLength(1);
});
