import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";
import { community, within } from "./stances-community.ts";

const reason = "Raided #general with three accounts.";
const limit = 15_000;

interface Effect {
  key: string;
  status: string;
  error?: { code: string; discord_code: number | null; detail: string };
  due_at: string | null;
}

const failures = ({ app }: World) =>
  app.database.read.outboxEvent.findMany({ where: { type: "discord_action.failed" }, orderBy: { seq: "asc" } });

describe("what the bot did in Discord is said as it happened", () => {
  let world: World;
  let admin: User;
  let other: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    [admin, other] = [await staffAtConsole(world, "admin"), await staffAtConsole(world, "admin")];
    const owner = await staffAtConsole(world, "owner");
    const rules = { warning: { level: "admin" }, timeout: { level: "admin" }, kick: { level: "admin" }, ban: { level: "admin" } };
    const put = await world.put(`/guilds/${world.guild.id}/direct`, rules, { actor: owner });
    expect(put.status, JSON.stringify(put.body)).toBe(200);
    return () => end();
  });

  const refuse = (route: string, code: number, times = 1) =>
    world.sandbox.faults.rest({ route, status: 403, body: { code, message: "No." }, times });
  const banOf = (user: User) => `PUT /guilds/${world.guild.id}/bans/${user.id}`;
  const isBanned = (user: User) => world.guild.bans().some(({ user: one }) => one.id === user.id);
  const messagesTo = (user: User) => world.sandbox.directMessages(user).map(({ content }) => content);
  const referenceIn = (text: string) => /PUN-REQ-\d+/.exec(text.replaceAll("\\", ""))?.[0] ?? text;
  const effectsOf = async (reference: string): Promise<Effect[]> =>
    (await world.get(`/workflows/punishment/${reference}`, { actor: other })).body.data.effects;
  const become = (reference: string, key: string, status: string) =>
    within(async () => (await effectsOf(reference)).some((effect) => effect.key === key && effect.status === status), limit);
  const actionsOf = async (user: User) => {
    const [found] = (await world.get(`/cases?subject=${user.id}`, { actor: other })).body.data;
    return (await world.get(`/cases/${found.id}/actions`, { actor: other })).body.data;
  };

  test("A1: a ban that Discord refuses is not called a ban, counts nothing, and the person hears that it was not carried out", async () => {
    const raider = world.member();
    refuse(banOf(raider), 50_013);
    const said = await world.slash(admin, "ban", { user: raider, reason, duration: "2 weeks" });
    expect(said).toContain(`✗ <@${raider.id}> was not banned`);
    expect(said).not.toContain("✓ Banned");
    expect(isBanned(raider)).toBe(false);
    const reference = referenceIn(said);
    await become(reference, "notice.subject.undo", "done");
    const act = (await effectsOf(reference)).find(({ key }) => key === "discord.punish");
    expect(act).toMatchObject({ status: "failed", error: { code: "missing_permission", discord_code: 50_013 } });
    expect(messagesTo(raider)).toEqual([expect.stringContaining("banned you"), expect.stringContaining("was not carried out")]);
    expect(await actionsOf(raider)).toMatchObject([
      { kind: "ban", voided: { by: null, reason: expect.stringContaining("not carried out in Discord") } },
    ]);
    const { body: audit } = await world.get("/audit?action=workflow.effect&outcome=failed", { actor: other });
    expect(audit.data[0]).toMatchObject({ outcome: "failed", target: { reference } });
    expect((await failures(world)).at(-1)).toMatchObject({
      permission: "workflows.read",
      data: { user_id: raider.id, guild_id: world.guild.id, action: "ban", reference, discord_code: 50_013 },
    });
    // Tried again by a person, it counts after all.
    const place = (await effectsOf(reference)).findIndex(({ key }) => key === "discord.punish") + 1;
    const again = await world.post(`/workflows/punishment/${reference}/effects/${place.toString()}/retry`, undefined, { actor: other });
    expect(again.status, JSON.stringify(again.body)).toBe(200);
    await become(reference, "discord.punish", "done");
    expect(isBanned(raider)).toBe(true);
    expect(await actionsOf(raider)).toMatchObject([{ kind: "ban", voided: null }]);
  });

  test("A1: a closed inbox and a person who left are said in the reply", async () => {
    const [closed, gone] = [world.member(), world.member()];
    world.sandbox.setDirectMessages(closed, false);
    const banned = await world.sandbox.as(admin).in(world.guild).runSlashCommand("ban", { user: closed, reason });
    await within(() => banned.current()?.content.includes(`✓ Banned <@${closed.id}>`) === true, limit);
    expect(banned.current()?.content).toContain("✗ Message not delivered");
    expect(isBanned(closed)).toBe(true);
    world.guild.leave(gone);
    const away = await world.sandbox.as(admin).in(world.guild).runSlashCommand("timeout", { user: gone, reason, duration: "2 hours" });
    await within(() => away.current()?.content.includes("The timeout starts when they return") === true, limit);
    expect(away.current()?.content).not.toContain("✓ Timed out");
  });

  test("A5: a timeout, and its end, wait for somebody who is away, and come into effect when they return", async () => {
    const person = world.member();
    const endOf = () => world.guild.member(person)?.timeoutUntil ?? 0;
    const set = referenceIn(await world.slash(admin, "timeout", { user: person, reason, duration: "2 hours" }));
    await become(set, "discord.punish", "done");
    expect(endOf()).toBeGreaterThan(Date.now());
    world.guild.leave(person);
    const lifted = referenceIn(await world.slash(admin, "untimeout", { user: person, reason }));
    expect((await effectsOf(lifted)).find(({ key }) => key === "discord.punish")).toMatchObject({ status: "pending", due_at: null });
    world.guild.addMember(person);
    await become(lifted, "discord.punish", "done");
    expect(endOf()).toBeLessThanOrEqual(Date.now());
  });

  test("a ban that Discord does not answer at first is edited into its outcome", async () => {
    const raider = world.member();
    world.sandbox.faults.rest({ route: banOf(raider), status: 429, retryAfter: 4, times: 1 });
    const run = await world.sandbox.as(admin).in(world.guild).runSlashCommand("ban", { user: raider, reason });
    const first = await run.reply();
    expect(first.content).toContain(`Banning <@${raider.id}> from **Harbour** …`);
    expect(isBanned(raider)).toBe(false);
    await within(() => run.current()?.content.includes("✓ Banned") === true, limit);
    expect(isBanned(raider)).toBe(true);
  });

  test("A3: messages that Discord puts off hold up no ban", async () => {
    const raiders = Array.from({ length: 10 }, () => world.member());
    const fault = world.sandbox.faults.rest({
      route: "POST /users/@me/channels",
      status: 400,
      body: { code: 40_003, message: "You are opening direct messages too fast." },
      times: 1000,
    });
    const answers = await Promise.all(raiders.map((user) => world.slash(admin, "ban", { user, reason })));
    await within(() => raiders.every((user) => isBanned(user)), limit);
    fault.clear();
    const replies = answers.map((said) => said.split("\n"));
    for (const lines of replies) expect(lines.some((line) => line.includes("Banned") || line.includes("Banning"))).toBe(true);
    const effects = await effectsOf(referenceIn(answers[0] ?? ""));
    expect(effects.find(({ key }) => key === "notice.subject")).toMatchObject({
      status: "failed",
      error: { code: "rate_limited", discord_code: 40_003, detail: "Discord is limiting messages right now." },
    });
    expect(raiders.flatMap((user) => messagesTo(user))).toEqual([]);
    const bans = world.sandbox.exchanges.filter(({ method, path }) => method === "PUT" && path.includes("/bans/"));
    for (const user of raiders) expect(bans.filter(({ path }) => path.endsWith(user.id))).toHaveLength(1);
  });

  test("A6: after an approval by somebody else the requester hears that it could not be done, and the card says where and why", async () => {
    const [requester, raider] = [await world.staff("moderator"), world.member()];
    const filed = await world.post(
      "/workflows/punishment",
      { user_id: raider.id, action: "ban", reason, discord: { action: "none", guild_ids: [world.guild.id] }, duration: "P7D" },
      { actor: requester },
    );
    expect(filed.status, JSON.stringify(filed.body)).toBe(201);
    refuse(banOf(raider), 50_013);
    const approved = await world.post(`/workflows/punishment/${filed.body.id}/decision`, { decision: "approve" }, { actor: other });
    expect(approved.status, JSON.stringify(approved.body)).toBe(200);
    await become(filed.body.reference, "discord.punish", "failed");
    await within(() => messagesTo(requester).some((content) => content.includes("could not carry it out")), limit);
    expect(messagesTo(requester).join("\n")).toContain("**Harbour**");
  });
});

test("A2: a list action that Discord refuses is in the audit with its reason, and in the events", async () => {
  const { world, bay, stance, list, rows, admin } = await community();
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  const user = world.sandbox.createUser("wanted");
  world.sandbox.faults.rest({
    route: `PUT /guilds/${bay.id}/bans/${user.id}`,
    status: 403,
    body: { code: 50_013, message: "Missing Permissions" },
  });
  await list(user);
  bay.addMember(user);
  await within(async () => (await rows(user))[0]?.state === "failed");
  const { body: audit } = await world.get("/audit?action=list_action.failed", { actor: admin });
  expect(audit.data).toMatchObject([{ outcome: "failed", after: { why: expect.stringContaining("I'm missing a permission") } }]);
  expect(await failures(world)).toMatchObject([
    { data: { cause: "list", guild_id: bay.id, user_id: user.id, action: "ban", discord_code: 50_013 } },
  ]);
});
