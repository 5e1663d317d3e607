import { expect, test } from "vitest";
import { defaultPauseMs } from "../../src/discord/rest/cards.ts";
import { usualPauses } from "../../src/features/workflows/cards/cards.ts";
import type { User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";
import { filePunishment } from "./review-ground.ts";

async function withCards(): Promise<{ world: World; admin: User; author: User; cardOf: (reference: string) => string }> {
  const world = await createWorld();
  const channel = world.guild.createChannel("reviews");
  await world.put(`/channels/${world.guild.id}`, { review: channel.id }, { actor: await world.staff("owner") });
  const cardOf = (reference: string) => {
    const found = world.guild.messages().find(({ embeds }) => embeds[0]?.title?.includes(reference));
    return found === undefined ? "" : JSON.stringify([found.embeds, found.components]);
  };
  return { world, cardOf, admin: await staffAtConsole(world, "admin"), author: await staffAtConsole(world, "moderator") };
}

test("unless told otherwise a board is edited every quarter of a minute, and what failed is tried again after five seconds", () => {
  expect(usualPauses).toEqual({ idle: 5000, notReady: 1000, failed: 5000, board: 15_000 });
  expect(defaultPauseMs).toBe(5000);
});

test("the card of a request that takes in a duplicate follows it", async () => {
  const { world, admin, author, cardOf } = await withCards();
  const [kept, double] = [await filePunishment(world, author), await filePunishment(world, author)];
  await world.sandbox.waitFor(() => cardOf(kept) !== "" && cardOf(double) !== "", 60_000);
  const told = await world.post(
    `/workflows/punishment/${double}/decision`,
    { decision: "void", duplicate_of: kept, reason: "Filed twice." },
    { actor: admin },
  );
  expect(told.status, JSON.stringify(told.body)).toBe(200);
  const { revision } = (await world.get(`/workflows/punishment/${kept}`, { actor: admin })).body.data;
  await world.sandbox.waitFor(() => cardOf(double).includes("void"), 60_000);
  await world.sandbox.waitFor(() => cardOf(kept).includes(`Revision ${revision}`), 60_000);
});

test("the menu of a card calls the history of a request by its name", async () => {
  const world = await createWorld();
  const [author, admin] = [await world.staff("moderator"), await staffAtConsole(world, "admin")];
  const reference = await filePunishment(world, author);
  const { components } = await (await world.sandbox.as(admin).in(world.guild).runSlashCommand("review show", { reference })).reply();
  expect(JSON.stringify(components)).toContain('{"value":"history","label":"History"}');
});
