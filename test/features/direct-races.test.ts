// @module-tag postgres
import { expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld } from "../support/world.ts";

const reason = "Raided #general with three accounts.";

test("two who ban the same person at once, and many who act on others, each get one request, one case and one ban", async () => {
  const world = await createWorld();
  const staff = await Promise.all(["admin", "admin"].map((level) => staffAtConsole(world, level as "admin")));
  const rules = { warning: { level: "admin" }, ban: { level: "admin" } };
  const owner = await staffAtConsole(world, "owner");
  expect((await world.put(`/guilds/${world.guild.id}/direct`, rules, { actor: owner })).status).toBe(200);
  const [raider, ...others] = Array.from({ length: 5 }, () => world.member());
  const act = (actor: (typeof staff)[number], action: string, user = raider) =>
    world.post(`/guilds/${world.guild.id}/moderation`, { action, user_id: user?.id, reason, notify_subject: false }, { actor });
  const answers = await Promise.all([
    ...staff.map((actor) => act(actor, "ban")),
    ...staff.flatMap((actor) => others.map((user) => act(actor, "warning", user))),
  ]);
  expect(answers.map(({ status, body }) => [status, body.status])).toEqual(answers.map(() => [201, "approved"]));
  const references = answers.map(({ body }) => body.reference as string).toSorted();
  expect(references).toEqual(answers.map((_, index) => `PUN-REQ-${(index + 1).toString().padStart(6, "0")}`));

  const bans = () => world.sandbox.exchanges.filter(({ method, path }) => method === "PUT" && path.includes("/bans/"));
  await world.sandbox.waitFor(() => bans().length > 0);
  const { read } = world.app.database;
  expect(await read.case.count()).toBe(5);
  expect(await read.caseAction.count()).toBe(answers.length);
  expect(await read.workflowRequest.count({ where: { isDirect: true, status: "approved" } })).toBe(answers.length);

  // Two who look at the same decision at once: one of them is noted.
  const [first = ""] = references;
  const third = await staffAtConsole(world, "senior");
  const looked = await Promise.all([owner, third].map((actor) => world.post(`/workflows/punishment/${first}/look`, {}, { actor })));
  expect(looked.map(({ status }) => status)).toEqual([200, 200]);
  expect(new Set(looked.map(({ body }) => body.looked_by)).size).toBe(1);
  expect(await read.workflowStep.count({ where: { action: "look" } })).toBe(1);
  expect(bans()).toHaveLength(1);
});

test("two who ban the same people at once, several and one by one, wait for each other and never get stuck", async () => {
  const world = await createWorld();
  const staff = await Promise.all(["admin", "admin", "admin"].map((level) => staffAtConsole(world, level as "admin")));
  const owner = await staffAtConsole(world, "owner");
  expect((await world.put(`/guilds/${world.guild.id}/direct`, { ban: { level: "admin" } }, { actor: owner })).status).toBe(200);
  const ids = Array.from({ length: 12 }, () => world.member().id);
  const [first, second, third] = staff;
  const ban = (who: object, actor = first) =>
    world.post(`/guilds/${world.guild.id}/moderation`, { action: "ban", reason, notify_subject: false, ...who }, { actor: actor ?? owner });
  const answers = await Promise.all([
    ban({ user_ids: ids }),
    ban({ user_ids: ids.toReversed() }, second),
    ...ids.map((id) => ban({ user_id: id }, third)),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  const { read } = world.app.database;
  expect(await read.workflowRequest.count({ where: { isDirect: true, status: "approved" } })).toBe(36);
  expect([await read.case.count(), await read.caseAction.count()]).toEqual([12, 36]);
  await world.sandbox.waitFor(() => world.guild.bans().length === 12);
});
