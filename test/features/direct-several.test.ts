import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../src/sandbox/index.ts";
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
});
