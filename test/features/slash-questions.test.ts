import { expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";
import { filePunishment } from "./review-ground.ts";

const at = (world: World, user: User) => world.sandbox.as(user).in(world.guild);

test("an approval that was asked about is not given to what the request was changed into meanwhile", async () => {
  const world = await createWorld();
  const [author, admin] = [await staffAtConsole(world, "moderator"), await staffAtConsole(world, "admin")];
  const reference = await filePunishment(world, author);
  const run = await at(world, admin).runSlashCommand("review approve", { reference, reason: "Seen by two." });
  expect((await run.reply()).content).toContain(reference.replaceAll("-", "\\-"));
  const graver = { action: "strike", points: 3, reason: "Something else altogether, and far graver." };
  const amended = await world.patch(`/workflows/punishment/${reference}`, graver, { actor: author });
  expect(amended.status, JSON.stringify(amended.body)).toBe(200);
  const pressed = await run.clickButton("Yes, do it");
  await world.sandbox.waitFor(() => pressed.followups().length > 0 || run.current()?.components.length === 0);
  const { status, approvals } = (await world.get(`/workflows/punishment/${reference}`, { actor: admin })).body.data;
  expect([status, approvals.votes]).toEqual(["pending", []]);
});

test.each(["revoke", "purge"])("a record that was changed since it was asked about is left alone: %s", async (verb) => {
  const world = await createWorld();
  const [owner, other] = [await staffAtConsole(world, "owner"), await world.staff("admin")];
  const body = { kind: "user", subject_id: world.member().id, category: "scam", severity: "low" };
  const record = (await world.post("/blacklist", body, { actor: other })).body.data;
  const run = await at(world, owner).runSlashCommand(`blacklist ${verb}`, { record: record.number, reason: "It was a mistake." });
  await (run.interaction.modal === null ? run : await run.submitModal({ reason: "It was a mistake." })).reply();
  const graver = { category: "predatory", severity: "critical" };
  expect((await world.patch(`/blacklist/${record.id}`, graver, { actor: other })).status).toBe(200);
  const pressed = await run.clickButton("Yes, do it");
  await world.sandbox.waitFor(() => pressed.followups().length > 0 || run.current()?.components.length === 0);
  expect((await world.get(`/blacklist/${record.id}`, { actor: owner })).body.data).toMatchObject({ status: "active", ...graver });
});

test("a question before harm is asked of nobody who may not do it", async () => {
  const world = await createWorld();
  const [admin, viewer] = [await world.staff("admin"), await staffAtConsole(world, "viewer")];
  const body = { kind: "user", subject_id: world.member().id, category: "scam", severity: "low" };
  const { number } = (await world.post("/blacklist", body, { actor: admin })).body.data;
  const asked = [
    ["blacklist revoke", { record: number }],
    ["blacklist purge", { record: number }],
    ["intel revoke", { user: world.member() }],
    ["case delete", { case: "CASE-000001" }],
  ] as const;
  for (const [words, given] of asked)
    expect.soft(await world.slash(viewer, words, { ...given, reason: "Because." }), words).toContain("permission_denied");
});

test("where votes are blind, the question before an approval does not tell that somebody has voted", async () => {
  const world = await createWorld();
  const [author, first, second] = [await world.staff("moderator"), await world.staff("admin"), await staffAtConsole(world, "admin")];
  const policy = { blind_votes: true, approvals: 2 };
  const set = await world.patch("/workflows/policies/punishment", policy, { actor: await world.staff("owner") });
  expect(set.status, JSON.stringify(set.body)).toBe(200);
  const asks = async (voted: boolean) => {
    const reference = await filePunishment(world, author);
    if (voted) await world.post(`/workflows/punishment/${reference}/decision`, { decision: "approve" }, { actor: first });
    const { content } = await (await at(world, second).runSlashCommand("review approve", { reference })).reply();
    return content.replaceAll(/PUN\S+|\d{17,20}/g, "it");
  };
  expect(await asks(true)).toBe(await asks(false));
});
