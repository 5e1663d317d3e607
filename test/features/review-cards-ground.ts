import { setTimeout as delay } from "node:timers/promises";
import { expect, type TestContext } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { GuildHandle, Message, User } from "../../sandbox/index.ts";
import type { Pauses } from "../../src/core.ts";
import { soonBack } from "../support/pauses.ts";
import { createWorld, type WorldOptions } from "../support/world.ts";

/** What a test waits for comes soon, but not so often that nothing else has its turn. */
export const shortPauses = {
  discord: soonBack,
  cards: { idle: 500, notReady: 50, failed: 100, board: 1000 },
  cardRetryMs: 100,
} satisfies Pauses;
export const posting = "POST /channels/:channel/messages";
export const deleting = "DELETE /channels/:channel/messages/:message";
export const lacking = { message: "Missing Permissions", code: 50013 };

/** A world with people, a channel for reviews, and words for what stands where. */
export async function createGround({ onTestFinished }: TestContext, options: WorldOptions = {}) {
  const world = await createWorld({ pauses: shortPauses, ...options, onEnd: onTestFinished });
  const [author, admin] = [await staffAtConsole(world, "moderator"), await staffAtConsole(world, "admin")];
  const owner = await world.staff("owner");
  const { sandbox } = world;
  const messagesIn = ({ id }: { id: string }): Message[] => [...(sandbox.inside.world.channels.get(id)?.messages.values() ?? [])];
  const cardsIn = (channel: { id: string }, reference: string): Message[] =>
    messagesIn(channel).filter(({ embeds }) => embeds[0]?.title?.includes(reference));
  const until = (fits: () => boolean, ms = 60_000) => sandbox.waitFor(fits, ms);
  const ground = {
    world,
    author,
    admin,
    messagesIn,
    cardsIn,
    until,
    boardIn: (channel: { id: string }) => messagesIn(channel).find(({ embeds }) => embeds[0]?.title?.startsWith("Open requests")),
    choose: async (channels: object, guild: GuildHandle = world.guild) => {
      const chosen = await world.put(`/channels/${guild.id}`, channels, { actor: owner });
      expect(chosen.status, JSON.stringify(chosen.body)).toBe(200);
    },
    decide: async (reference: string, body: object, actor: User = admin) => {
      const decided = await world.post(`/workflows/punishment/${reference}/decision`, body, { actor });
      expect(decided.status, JSON.stringify(decided.body)).toBe(200);
    },
    /** The one card of a request stands in this channel and says this. */
    shows: (channel: { id: string }, reference: string, words: string) =>
      until(() => cardsIn(channel, reference).some(({ embeds }) => JSON.stringify(embeds).includes(words))),
    health: async (key?: null) => (await world.get("/health", key === null ? { key } : {})).body,
  };
  const reviews = world.guild.createChannel("reviews");
  await ground.choose({ review: reviews.id });
  return { ...ground, reviews };
}

/** The check of cards, once it says so. */
export async function told(health: () => Promise<{ checks: { review_cards: { status: string; reason?: string } } }>, status: string) {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const { review_cards: said } = (await health()).checks;
    if (said.status === status || performance.now() > deadline) {
      expect(said.status).toBe(status);
      return said;
    }
    // Each look asks the service for its health: without a pause nothing else would come to its turn.
    await delay(20);
  }
}
