import { expect, test } from "vitest";
import { createWorld } from "../support/world.ts";
import { approve } from "./review-ground.ts";

test("a request filed over HTTP and approved in Discord lists the user in the whole service", async () => {
  const world = await createWorld();
  const [requester, decider, outsider] = [await world.staff("moderator"), await world.staff("senior"), world.member()];
  // Discord itself shows the commands to administrators only until the guild allows more.
  for (const role of [world.roles.moderator, world.roles.senior]) world.guild.setRolePermissions(role, ["Administrator"]);
  const listing = { category: "raid", severity: "high", reason: "Led the raid of last night." };
  const body = { discordUserId: outsider.id, ...listing, serverIds: [world.guild.id] };
  const filed = await world.post("/workflows/blacklist-user", body, { actor: requester });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  expect(filed.body).toMatchObject({ success: true, reference: "BLU-REQ-000001", status: "pending" });
  const view = (await world.get("/workflows/blacklist-user/BLU-REQ-000001", { actor: decider })).body.data;
  expect(view).toMatchObject({
    requester: { id: requester.id, in_community: true },
    allowed_actions: expect.arrayContaining(["approve", "deny"]),
  });
  expect(await world.slash(requester, "review approve", { reference: "BLU-REQ-000001" })).toContain("permission_denied");
  expect(await approve(world, decider, "blu-req-000001")).toContain("is approved");
  expect(await world.slash(requester, "blacklist check", { ids: outsider.id })).toContain("is listed");
  const check = await world.post("/blacklist/check", { user_ids: [outsider.id] }, { actor: requester });
  expect(check.body.data.users).toMatchObject([{ listed: true, records: [{ number: "BL-000001" }] }]);
  const entries = (await world.get("/audit?action_prefix=workflow.")).body.data;
  // What is left for the bot is done in its own time.
  const told = entries.filter((entry: { action: string }) => entry.action !== "workflow.effect");
  expect(told.map((entry: { action: string; via: string }) => [entry.action, entry.via])).toEqual([
    ["workflow.approve", "slash"],
    ["workflow.create", "rest"],
  ]);
  expect((await world.get("/audit/verify")).body.data.ok).toBe(true);
});

test("requests, records and the chain are there again after a restart", async () => {
  const world = await createWorld();
  const admin = await world.staff("admin");
  const subject = await world.staff("viewer");
  await world.post("/blacklist", { kind: "user", subject_id: subject.id }, { actor: admin });
  const report = { kind: "report", victim_server_id: world.guild.id, occurred_at: "2026-11-20T10:00:00.000Z" };
  const poach = (offender: string) => world.post("/workflows/poach", { ...report, offending_server_id: offender }, { actor: admin });
  expect((await poach("80351110224678912")).body.reference).toBe("PCH-REQ-000001");
  await world.restart();
  await world.sandbox.waitFor(async () => (await world.get("/blacklist/BL-000001", { actor: admin })).status === 200);
  expect((await poach("80351110224678913")).body.reference).toBe("PCH-REQ-000002");
  expect((await world.get("/audit/verify")).body.data).toMatchObject({ ok: true });
});
