import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import type { World } from "../support/world.ts";
import { community, isBanned, within } from "./stances-community.ts";

const checkOf = async (world: World, name = "discord_actions") => (await world.get("/health")).body.checks[name];
const change = (world: World, work: Parameters<World["app"]["database"]["write"]>[1]) =>
  world.app.database.write(systemCall("cli", uuid7()), work);

test("A2: GET /health warns of what the bot could not do, with the newest reason, until somebody has tried it again", async () => {
  const { world, harbour, stance, list, owner } = await community();
  const admin = await staffAtConsole(world, "admin");
  const rules = { ban: { level: "admin" } };
  expect((await world.put(`/guilds/${harbour.id}/direct`, rules, { actor: owner })).status).toBe(200);
  await stance(harbour, { category: "raid", stance: "apply", action: "ban" });
  const refuse = (user: User) =>
    world.sandbox.faults.rest({
      route: `PUT /guilds/${harbour.id}/bans/${user.id}`,
      status: 403,
      body: { code: 50_013, message: "Missing Permissions" },
    });
  const countOf = (kind: string, outcome: string) =>
    world.app.discordActions.counts().find((one) => one.kind === kind && one.outcome === outcome)?.count;

  // A message that does not arrive is no failure that an operator could mend.
  const raider = world.member();
  world.sandbox.setDirectMessages(raider, false);
  await world.slash(admin, "ban", { user: raider, reason: "Raided #general." });
  expect(isBanned(harbour, raider)).toBe(true);
  expect(await checkOf(world)).toEqual({ status: "pass" });
  expect([countOf("ban", "done"), countOf("ban", "failed"), countOf("message_user", "failed")]).toEqual([1, 0, 1]);

  const [other, wanted] = [world.member(), world.sandbox.createUser("wanted")];
  refuse(other);
  await world.slash(admin, "ban", { user: other, reason: "Raided #general." });
  await within(async () => (await checkOf(world)).status === "warn");
  expect((await checkOf(world)).reason).toMatch(/^An action in Discord failed at \S+Z and was not tried again\. \S.+ Try again from /);
  refuse(wanted);
  await list(wanted);
  harbour.addMember(wanted);
  await within(async () => String((await checkOf(world)).reason).startsWith("2 actions in Discord failed in the last 7 days"));
  expect(countOf("ban", "failed")).toBe(2);
  expect((await world.get("/health", { key: null })).body.checks.discord_actions).toEqual({ status: "warn" });
  // Approvals are not late because of it.
  expect(await checkOf(world, "deliveries")).toEqual({ status: "pass" });

  // What failed long ago is no news; what is tried again no longer waits for anybody.
  const longAgo = new Date(Date.now() - 8 * 86_400_000);
  await change(world, ({ db }) => db.workflowEffect.updateMany({ where: { status: "failed" }, data: { updatedAt: longAgo } }));
  expect((await checkOf(world)).reason).toMatch(/^An action/);
  const [action] = (await world.get(`/guilds/${harbour.id}/list-actions`, { actor: admin })).body.data;
  expect((await world.post(`/guilds/${harbour.id}/list-actions/${action.id}/retry`, undefined, { actor: admin })).status).toBe(200);
  await within(() => isBanned(harbour, wanted));
  expect(await checkOf(world)).toEqual({ status: "pass" });
});

test("what lists ask for and is not done in time is told by the same check", async () => {
  const { world, harbour } = await community();
  const away = world.sandbox.faults.down(Infinity);
  await within(() => world.app.discord.status().state !== "ready", 60_000);
  const at = (seconds: number) => new Date(Date.now() - seconds * 1000);
  const record = { listId: "own", recordId: uuid7(), recordReference: "BL-000999" };
  const due = { stance: "apply", action: "ban", state: "pending", dueAt: at(30) };
  const times = { joinedAt: at(90), createdAt: at(90), updatedAt: at(90) };
  await change(world, ({ db }) =>
    db.listAction.create({ data: { guildId: harbour.id, userId: world.member().id, ...record, ...times, ...due } }),
  );
  expect(await checkOf(world)).toEqual({ status: "pass" });
  await change(world, ({ db }) => db.listAction.updateMany({ data: { dueAt: at(70) } }));
  const reason = expect.stringMatching(/^What servers do about listed people is late: 1 due, the oldest since \S+Z\./) as string;
  expect(await checkOf(world)).toMatchObject({ status: "warn", reason });
  await change(world, ({ db }) => db.listAction.updateMany({ data: { dueAt: at(3700) } }));
  expect(await checkOf(world)).toMatchObject({ status: "fail", reason });
  expect(await checkOf(world, "deliveries")).toEqual({ status: "pass" });
  world.sandbox.faults.up();
  await away;
});
