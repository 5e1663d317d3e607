// @module-tag slow
import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World } from "../support/world.ts";

const reason = "Raided #general with three accounts.";

describe("a raid is answered in one step", () => {
  let world: World;
  let admin: User;
  let second: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({
      furtherGuilds: ["Quay"],
      onEnd: (way) => (end = way),
    });
    admin = await staffAtConsole(world, "admin");
    second = await staffAtConsole(world, "admin");
    const owner = await staffAtConsole(world, "owner");
    const rules = { warning: { level: "admin" }, ban: { level: "admin" } };
    expect((await world.put(`/guilds/${world.guild.id}/direct`, rules, { actor: owner })).status).toBe(200);
    return () => end();
  });

  const moderate = (actor: User, body: object) => world.post(`/guilds/${world.guild.id}/moderation`, { reason, ...body }, { actor });
  const deliver = () => world.app.deliveries.deliverDue(systemCall("job", uuid7()));
  const isBanned = (user: User, guild = world.guild) => guild.bans().some(({ user: one }) => one.id === user.id);
  const write = (user: User, guild = world.guild) =>
    world.sandbox
      .as(user)
      .in(guild)
      .post({ content: `Free coins for everybody from ${user.username}` });
  const isThere = ({ id, channelId }: { id: string; channelId: string }) =>
    world.sandbox.inside.world.channels.get(channelId)?.messages.has(id) === true;
  const deletions = (user: User) =>
    world.sandbox.exchanges
      .filter(({ method, path }) => method === "PUT" && path.endsWith(`/guilds/${world.guild.id}/bans/${user.id}`))
      .map(({ requestBody }) => (requestBody as { delete_message_seconds?: number } | null)?.delete_message_seconds);

  test("200 acts in a row that their author decides alone all pass; requests that wait are limited as before", async () => {
    const people = Array.from({ length: 200 }, () => world.member());
    for (const user of people) {
      const { status, body } = await moderate(admin, { action: "warning", user_id: user.id, notify_subject: false });
      expect([status, body.direct], JSON.stringify(body)).toEqual([201, true]);
    }
    const warn = () => world.post("/workflows/punishment", { user_id: world.member().id, action: "strike", reason }, { actor: admin });
    const waiting = [];
    for (let index = 0; index < 21; index += 1) waiting.push((await warn()).status);
    expect(waiting).toEqual([...Array.from({ length: 20 }, () => 201), 429]);
    // What waits is no reason to refuse what is decided at once.
    const { status, body } = await moderate(admin, { action: "ban", user_id: world.member().id, notify_subject: false });
    expect([status, body.direct]).toEqual([201, true]);
  });

  test("/ban deletes the messages of the last hours in this server alone, as far back as was said", async () => {
    const [raider, bystander, other] = [world.member(), world.member(), world.member()];
    const [quay] = world.furtherGuilds;
    quay?.addMember(raider);
    const spam = [write(raider), write(raider)];
    const kept = [write(bystander), write(other), ...(quay === undefined ? [] : [write(raider, quay)])];
    await world.slash(admin, "ban", { user: raider, reason, "delete-messages": "6 hours" });
    await world.slash(admin, "ban", { user: other, reason });
    await world.sandbox.waitFor(() => deletions(raider).length > 0 && deletions(other).length > 0);
    expect(spam.filter(isThere)).toEqual([]);
    expect(kept.filter((message) => !isThere(message))).toEqual([]);
    expect([deletions(raider), deletions(other)]).toEqual([[21_600], [undefined]]);
  });

  test("over HTTP too; other lengths, other actions and what is longer than 7 days are refused with a pointer, and delete nothing", async () => {
    const user = world.member();
    const message = write(user);
    const refused: [object, string, string][] = [
      [{ action: "ban", delete_messages: "P8D" }, "/delete_messages", "invalid_value"],
      [{ action: "ban", delete_messages: "soon" }, "/delete_messages", "invalid_value"],
      [{ action: "warning", delete_messages: "1h" }, "/delete_messages", "not_offered"],
    ];
    for (const [input, pointer, code] of refused)
      expect((await moderate(admin, { ...input, user_id: user.id })).body.errors).toMatchObject([{ pointer, code }]);
    expect(isThere(message)).toBe(true);
    const none = world.member();
    await moderate(admin, { action: "ban", user_id: none.id, delete_messages: "none" });
    await moderate(admin, { action: "ban", user_id: user.id, delete_messages: "P7D" });
    await world.sandbox.waitFor(() => deletions(user).length > 0 && deletions(none).length > 0);
    expect(isThere(message)).toBe(false);
    expect([deletions(user), deletions(none)]).toEqual([[604_800], [undefined]]);
  });

  test("a request deletes messages too, once it is approved; a decision put back in force later deletes nothing again", async () => {
    const user = world.member();
    const message = write(user);
    const file = (body: object) => world.post("/workflows/punishment", { user_id: user.id, reason, ...body }, { actor: second });
    const refused = await file({ action: "strike", discord: { action: "kick", delete_messages: "1d" } });
    expect(refused.body.errors).toMatchObject([{ pointer: "/discord/delete_messages", code: "not_offered" }]);
    const form = await world.sandbox
      .as(second)
      .in(world.guild)
      .runSlashCommand("request punishment", { user, action: "ban", "delete-messages": "1 day" });
    const said = (await (await form.submitModal({ reason })).reply()).content;
    const reference = /PUN-REQ-\d+/.exec(said.replaceAll("\\", ""))?.[0] ?? said;
    await deliver();
    expect([isThere(message), isBanned(user)]).toEqual([true, false]);
    const decide = (body: object) => world.post(`/workflows/punishment/${reference}/decision`, body, { actor: admin });
    expect((await decide({ decision: "approve", reason })).body.status).toBe("approved");
    await world.sandbox.waitFor(() => deletions(user).length > 0);
    expect([isThere(message), deletions(user)]).toEqual([false, [86_400]]);

    // The appeal is heard, the person writes again, and the ruling is taken back.
    const judge = await staffAtConsole(world, "owner");
    const other = await staffAtConsole(world, "owner");
    const grounds = "The account was stolen on the day of the raid.";
    const filed = (await world.post("/workflows/appeal", { target: reference, grounds, user_id: user.id }, { actor: second })).body;
    const rule = (decision: string, actor = judge) =>
      world.post(
        `/workflows/appeal/${filed.reference as string}/decision`,
        { decision, reason: "We looked at all of it again." },
        { actor },
      );
    expect((await rule("overturn")).body.status).toBe("approved");
    await world.sandbox.waitFor(() => !isBanned(user));
    world.guild.addMember(user);
    const later = write(user);
    expect((await rule("reverse", other)).body.status).toBe("reversed");
    await world.sandbox.waitFor(() => deletions(user).length > 1);
    expect([isThere(later), deletions(user)]).toEqual([true, [86_400, undefined]]);
  });

  test("while the length is typed, none and the usual ones are offered", async () => {
    const offered = await world.sandbox
      .as(admin)
      .in(world.guild)
      .autocomplete("ban", { focused: "delete-messages", value: "", options: { user: world.member() } });
    expect(offered.map(({ value }) => value)).toEqual(["none", "1h", "6h", "1d", "3d", "7d"]);
  });
});
