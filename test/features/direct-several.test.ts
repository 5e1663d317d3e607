// @module-tag slow
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { ProblemError } from "../../src/kernel/errors.ts";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";

const reason = "Raided #general with three accounts.";

describe("banning several people at once", () => {
  let world: World;
  let admin: User;
  let other: User;
  let mod: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    admin = await staffAtConsole(world, "admin");
    other = await staffAtConsole(world, "admin");
    mod = await staffAtConsole(world, "moderator");
    const owner = await staffAtConsole(world, "owner");
    const rules = { warning: { level: "moderator" }, ban: { level: "admin", max: "P365D" } };
    expect((await world.put(`/guilds/${world.guild.id}/direct`, rules, { actor: owner })).status).toBe(200);
    return () => end();
  });

  const ban = (users: readonly User[], more: object = {}, actor = admin) =>
    world.post(
      `/guilds/${world.guild.id}/moderation`,
      { action: "ban", user_ids: users.map(({ id }) => id), reason, duration: "P30D", ...more },
      { actor },
    );
  const people = (count: number): User[] => Array.from({ length: count }, () => world.member());
  const isBanned = (user: User) => world.guild.bans().some(({ user: one }) => one.id === user.id);
  const count = () => world.app.database.read.workflowRequest.count();
  const messagesTo = (user: User) => world.sandbox.directMessages(user);

  test("200 people: a request, a case and a ban each, and no message to anybody", async () => {
    const raiders = people(200);
    const { status, body } = await ban(raiders, { delete_messages: "1h" });
    expect([status, body.status, body.direct], JSON.stringify(body)).toEqual([201, "approved", true]);
    expect(body.requests.map((one: { user_id: string }) => one.user_id)).toEqual(raiders.map(({ id }) => id));
    expect(new Set(body.requests.map((one: { reference: string }) => one.reference)).size).toBe(200);
    await world.sandbox.waitFor(() => raiders.every(isBanned));
    const { read } = world.app.database;
    expect(await read.case.count()).toBe(200);
    expect(await read.caseAction.count({ where: { kind: "ban" } })).toBe(200);
    expect(raiders.filter((user) => messagesTo(user).length > 0)).toEqual([]);
    const puts = world.sandbox.exchanges.filter(({ method, path }) => method === "PUT" && path.includes("/bans/"));
    expect([puts.length, new Set(puts.map(({ path }) => path)).size]).toEqual([200, 200]);
  });

  test("one of them is let back in alone: the others stay banned", async () => {
    const [first, second] = [world.member(), world.member()];
    const { body } = await ban([first, second], { notify_subject: true });
    await world.sandbox.waitFor(() => isBanned(first) && isBanned(second));
    expect([messagesTo(first).length, messagesTo(second).length]).toEqual([1, 1]);
    const decision = { decision: "reverse", reason: "It was somebody else." };
    const reference = body.requests[0].reference as string;
    expect((await world.post(`/workflows/punishment/${reference}/decision`, decision, { actor: other })).body.status).toBe("reversed");
    await world.sandbox.waitFor(() => !isBanned(first));
    expect(isBanned(second)).toBe(true);
    const view = (await world.get(`/workflows/punishment/${body.requests[1].reference as string}`, { actor: other })).body.data;
    expect([view.status, view.related]).toEqual(["approved", [reference]]);
  });

  test("all or nothing: whoever may not be banned is pointed at, and nobody is banned", async () => {
    const [one, two] = [world.member(), world.member()];
    const before = await count();
    const wrong = await ban([one, other, two, admin]);
    expect([wrong.status, wrong.body.errors.map((error: { pointer: string; code: string }) => [error.pointer, error.code])]).toEqual([
      422,
      [
        ["/user_ids/1", "rank"],
        ["/user_ids/3", "conflict"],
      ],
    ]);
    expect((await ban([one, two, one])).body.errors).toMatchObject([{ pointer: "/user_ids/2", code: "repeated" }]);
    expect((await ban([one], { user_id: two.id })).body.errors).toMatchObject([{ pointer: "/user_ids", code: "conflicting_fields" }]);
    expect((await ban([one], { action: "warning" })).body.errors).toMatchObject([{ pointer: "/user_ids", code: "not_offered" }]);
    expect((await ban([])).body.errors).toMatchObject([{ pointer: "/user_ids" }]);
    const many = Array.from({ length: 201 }, (_, index) => (10n ** 17n + BigInt(index)).toString());
    expect((await ban([], { user_ids: many })).body.errors).toMatchObject([{ pointer: "/user_ids" }]);
    const malformed = await ban([], { user_ids: [one.id, "rogue"] });
    expect(malformed.body.errors).toMatchObject([{ pointer: "/user_ids/1" }]);
    const nobody = await world.post(`/guilds/${world.guild.id}/moderation`, { action: "ban", reason }, { actor: admin });
    expect(nobody.body.errors).toMatchObject([{ pointer: "/user_id", code: "required" }]);
    expect(await count()).toBe(before);
    expect([one, two, other].filter(isBanned)).toEqual([]);
  });

  test("by somebody who does not decide it alone nothing is filed", async () => {
    const users = people(3);
    const before = await count();
    for (const [more, actor] of [
      [{}, mod],
      [{ duration: "P400D" }, admin],
    ] as const)
      expect((await ban(users, more, actor)).body).toMatchObject({ status: 403, code: "permission_denied" });
    expect(await count()).toBe(before);
    expect(users.filter(isBanned)).toEqual([]);
  });

  test("/ban users: mentions and ids with spaces, commas and lines between; a wrong one is named, and one of user and users is needed", async () => {
    const [one, two, three, four] = people(4) as [User, User, User, User];
    const slash = (options: object) => world.slash(admin, "ban", { reason, duration: "30d", ...options });
    const refused = await slash({ users: `<@${one.id}> <@${other.id}>` });
    expect(refused).toContain(`<@${other.id}>`);
    expect(refused).toContain("staff of your own rank or above");
    expect(refused).not.toContain(`<@${one.id}>`);
    expect(await slash({ users: `${one.id} rogue` })).not.toContain("Banning");
    expect(await slash({})).not.toContain("Banning");
    expect(await slash({ user: one, users: two.id })).not.toContain("Banning");
    expect([one, two, other].filter(isBanned)).toEqual([]);
    const said = await slash({ users: `<@${one.id}><@!${two.id}>, ${three.id}\n${four.id} ${one.id}` });
    expect(said.replaceAll("\\", "")).toMatch(
      /^Banning 4 people from \*\*Harbour\*\* \(4 left\) · \*\*PUN-REQ-\d+\*\* to \*\*PUN-REQ-\d+\*\*/,
    );
    await world.sandbox.waitFor(() => [one, two, three, four].every(isBanned));
    expect([one, two, three, four].filter((user) => messagesTo(user).length > 0)).toEqual([]);
  });

  test("of one person it says what is said of a single ban, and who it is", async () => {
    const user = world.member();
    const limited = world.sandbox.faults.rest({ route: `PUT /guilds/${world.guild.id}/bans/${user.id}`, status: 429, retryAfter: 3 });
    const run = await world.sandbox
      .as(admin)
      .in(world.guild)
      .runSlashCommand("ban", { users: user.id, reason, duration: "30d", "notify-subject": false });
    expect((await run.reply()).content).toContain(`Banning <@${user.id}> from **Harbour**`);
    await world.sandbox.waitFor(() => limited.hits > 0);
    expect(isBanned(user)).toBe(false);
    await world.sandbox.waitFor(() => run.current()?.content.includes(`✓ Banned <@${user.id}>`) === true);
    expect(isBanned(user)).toBe(true);
  });

  test("whoever was banned before is not counted as banned now", async () => {
    const [one, two] = people(2) as [User, User];
    world.guild.ban(one);
    const run = await world.sandbox
      .as(admin)
      .in(world.guild)
      .runSlashCommand("ban", { users: `${one.id} ${two.id}`, reason, duration: "30d" });
    await world.sandbox.waitFor(() => run.current()?.content.startsWith("✓") === true);
    expect(run.current()?.content).toContain("✓ Banned 1 of 2 people");
    expect(run.current()?.content).toContain(`– <@${one.id}> was not banned`);
    expect(run.current()?.content).toContain("already banned");
  });

  describe("in parts", () => {
    afterEach(() => void vi.restoreAllMocks());
    const requestsOf = async (users: readonly User[]) => {
      const where = { kind: "user", subjectId: { in: users.map(({ id }) => id) } };
      return (await world.app.database.read.workflowSubject.findMany({ where })).map(({ subjectId }) => subjectId);
    };

    /** Have the writes of a ban of several people fail. @param faultOf called with how many people were written before, and what writes */
    function failing(users: readonly User[], faultOf: (before: number, work: () => Promise<unknown>) => Promise<unknown>): void {
      const { write } = world.app.database;
      vi.spyOn(world.app.database, "write").mockImplementation(async (call, work) => {
        if (call.via !== "rest" && call.via !== "slash") return await write(call, work);
        return await faultOf((await requestsOf(users)).length, () => write(call, work));
      });
    }

    test("somebody else's act is done while 200 are banned", async () => {
      const raiders = people(200);
      const state = { isDone: false };
      const banned = ban(raiders).finally(() => (state.isDone = true));
      const others: string[] = [];
      while (!state.isDone) {
        const body = { action: "warning", user_id: world.member().id, reason, notify_subject: false };
        others.push((await world.post(`/guilds/${world.guild.id}/moderation`, body, { actor: mod })).body.reference);
      }
      const { status, body } = await banned;
      expect([status, body.left]).toEqual([201, null]);
      const [first, last] = [body.requests[0].reference, body.requests.at(-1).reference] as [string, string];
      expect(others.filter((one) => one > first && one < last).length).toBeGreaterThan(0);
      await world.sandbox.waitFor(() => raiders.every(isBanned));
    });

    test("a part that the storage does not take at first, or whose commit nobody knows of, is written once", async () => {
      const raiders = people(50);
      const tries: number[] = [];
      failing(raiders, async (before, work) => {
        tries.push(before);
        if (before === 20 && tries.filter((one) => one === 20).length === 1) throw new ProblemError("storage_busy");
        const value = await work();
        if (before === 20) throw new ProblemError("storage_busy");
        return value;
      });
      const { status, body } = await ban(raiders);
      expect([status, body.left, body.requests.length]).toEqual([201, null, 50]);
      expect((await requestsOf(raiders)).toSorted()).toEqual(raiders.map(({ id }) => id).toSorted());
      await world.sandbox.waitFor(() => raiders.every(isBanned));
    });

    test("where it cannot go on, it says whom nothing was done about; the same key goes on with them, and bans nobody twice", async () => {
      const raiders = people(50);
      const headers = { "idempotency-key": "raid-of-fifty" };
      const body = { action: "ban", user_ids: raiders.map(({ id }) => id), reason, duration: "P30D" };
      const send = () => world.post(`/guilds/${world.guild.id}/moderation`, body, { actor: admin, headers });
      failing(raiders, (before, work) => (before === 40 ? Promise.reject(new ProblemError("storage_busy", { retryAfter: 0.1 })) : work()));
      const first = await send();
      expect([first.status, first.body.requests.length]).toEqual([201, 40]);
      const left = { user_ids: raiders.slice(40).map(({ id }) => id), code: "storage_busy", detail: "There is a lot to do right now." };
      expect(first.body.left).toEqual(left);
      await world.sandbox.waitFor(() => raiders.slice(0, 40).every(isBanned));
      expect((await requestsOf(raiders)).length).toBe(40);
      expect(raiders.slice(40).filter(isBanned)).toEqual([]);
      vi.restoreAllMocks();
      const again = await send();
      expect([again.status, again.body.left, again.body.requests.length]).toEqual([201, null, 50]);
      expect(again.body.requests.slice(0, 40)).toEqual(first.body.requests);
      expect((await send()).body).toEqual(again.body);
      expect((await requestsOf(raiders)).toSorted()).toEqual(raiders.map(({ id }) => id).toSorted());
      await world.sandbox.waitFor(() => raiders.every(isBanned));
      const puts = () =>
        world.sandbox.exchanges.filter(({ method, path }) => method === "PUT" && raiders.some(({ id }) => path.endsWith(id))).length;
      await world.sandbox.waitFor(() => puts() >= 50);
      expect(puts()).toBe(50);
    });

    test("in Discord the reply names where the list was left, whatever went wrong; nothing at all before the first part", async () => {
      const raiders = people(30);
      const command = () =>
        world.sandbox
          .as(admin)
          .in(world.guild)
          .runSlashCommand("ban", { users: raiders.map(({ id }) => id).join(" "), reason, duration: "30d" });
      failing(raiders, (before, work) => (before === 20 ? Promise.reject(new Error("a bug")) : work()));
      const run = await command();
      await world.sandbox.waitFor(() => run.current()?.content.startsWith("✓") === true);
      expect(run.current()?.content).toContain("✓ Banned 20 of 30 people");
      expect(run.current()?.content).toContain(`the last 10 of your list, from <@${raiders[20]?.id ?? ""}> on. Something went wrong here.`);
      expect([raiders.filter(isBanned).length, (await requestsOf(raiders)).length]).toEqual([20, 20]);
      vi.restoreAllMocks();
      const others = people(30);
      failing(others, () => Promise.reject(new ProblemError("storage_busy", { retryAfter: 0.1 })));
      const refused = await ban(others);
      expect([refused.status, refused.body.code]).toEqual([503, "storage_busy"]);
      expect([others.filter(isBanned), await requestsOf(others)]).toEqual([[], []]);
    });
  });
});
