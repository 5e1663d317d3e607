// @module-tag postgres
// @module-tag slow
import { expect, test } from "vitest";
import { StanceRule } from "../../src/features/lists/lists.schema.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createPair, isPostgres } from "./shared-ground.ts";

const call = systemCall("job", "asked");

test.runIf(isPostgres())("what only the process at Discord knows is answered by it, at whichever process it is asked", async () => {
  const { world, apps, ask } = await createPair();
  const [leader, follower] = apps;
  const listed = world.member();
  const owner = await world.staff("owner");
  const record = { kind: "user", subject_id: listed.id, category: "scam", severity: "high" };
  expect((await world.post("/blacklist", record, { actor: owner })).status).toBe(201);
  await world.get("/health");
  const guildId = world.guild.id;
  const rules = [StanceRule.parse({ category: "any", stance: "apply", action: "ban" })];
  const here = await leader.listPreviews.ofRules(guildId, rules);
  expect(here).toMatchObject({ apply: 1 });
  const began = performance.now();
  expect(await follower.listPreviews.ofRules(guildId, rules)).toEqual(here);
  expect(performance.now() - began).toBeLessThan(1500);
  // Whether the guild state is current each process says of its own.
  const { stale: _stale, ...status } = await leader.rosterSync.status(call);
  expect(await follower.rosterSync.status(call)).toMatchObject(status);
  const health = async () => (await (await ask(follower, "GET", "/health")).json()) as any;
  await expect.poll(async () => (await health()).checks.discord_gateway).toMatchObject({ status: "pass" });
  expect((await health()).checks.jobs).toEqual({ status: "pass" });
  expect(await leader.database.read.leaderRequest.count()).toBeLessThanOrEqual(1);
});

test.runIf(isPostgres())("a question that nobody answers is refused after five seconds, with when to come back", async () => {
  const { world, apps } = await createPair();
  const [leader, follower] = apps;
  await leader.leader.stop();
  const began = performance.now();
  const asked = follower.listPreviews.ofRules(world.guild.id, []);
  await expect(asked).rejects.toMatchObject({ code: "discord_unavailable", status: 503, retryAfter: 5 });
  expect(performance.now() - began).toBeLessThan(6500);
  expect(await follower.database.read.leaderRequest.count()).toBe(0);
});
