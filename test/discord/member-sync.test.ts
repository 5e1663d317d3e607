// @module-tag sqlite
// @module-tag slow
import type { APIGuildMember } from "discord-api-types/v10";
import { expect, onTestFinished, test } from "vitest";
import { createGuildState } from "../../src/discord/guild/create-guild-state.ts";
import type { SyncLimits } from "../../src/discord/guild/member-sync.ts";
import type { SandboxOptions } from "../../src/sandbox/index.ts";
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
  const { database } = await openTestDatabase();
  const state = createGuildState({
    database,
    logger: createLog().logger,
    served: new Set(["200000000000000001"]),
    sync: { chunkTimeoutMs: 0 },
  });
  onTestFinished(() => state.feed.stop());
  const answers: ((members: APIGuildMember[]) => void)[] = [];
  const page = () => new Promise<APIGuildMember[]>((resolve) => answers.push(resolve));
  state.feed.attach({ member: () => Promise.resolve(null), page, requestAll: () => undefined });
  const tell = (t: string, d: object) => {
    for (const { dispatch, receive } of state.feed.listeners) if (dispatch === t) void receive(d);
    state.feed.alive();
  };
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
