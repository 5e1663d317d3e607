import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import type { GuildHandle, User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World, type WorldOptions } from "../support/world.ts";

const reason = "Led the raid of last night.";
/** What each event is followed by, at the latest. */
export const limitMs = 2000;

/** Three servers of one community, of which staff say what each does about listed people. */
export async function community(env: Record<string, string> = {}, options: Pick<WorldOptions, "isScheduled" | "log"> = {}) {
  const world = await createWorld({ ...options, furtherGuilds: ["Bay", "Cove"], env });
  const [bay, cove] = world.furtherGuilds as [GuildHandle, GuildHandle];
  const owner = await world.staff("owner");
  const admin = await world.staff("admin");
  return {
    world,
    harbour: world.guild,
    bay,
    cove,
    owner,
    admin,
    async stance(guild: GuildHandle, ...rules: object[]) {
      const answer = await world.put(`/guilds/${guild.id}/stance`, { rules }, { actor: owner });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.data;
    },
    async list(user: Pick<User, "id">, more: object = {}): Promise<{ number: string; id: string }> {
      const body = { kind: "user", subject_id: user.id, category: "raid", severity: "high", reason_public: reason, ...more };
      const answer = await world.post("/blacklist", body, { actor: admin });
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      return answer.body.data;
    },
    async revoke(number: string) {
      const answer = await world.delete(`/blacklist/${number}`, { reason: "It was somebody else." }, { actor: admin });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    },
    rows: (user: Pick<User, "id">) => world.app.database.read.listAction.findMany({ where: { userId: user.id }, orderBy: { id: "asc" } }),
  };
}

/**
 * Waits until something is so; says how long it took, in milliseconds.
 * @param what says what is so instead, when it takes too long
 */
export async function within(isSo: () => boolean | Promise<boolean>, most = 60_000, what?: () => Promise<unknown>): Promise<number> {
  for (const began = performance.now(); ; await pause(5)) {
    const ms = performance.now() - began;
    if (await isSo()) return ms;
    if (ms > most) throw new Error(`not within ${most.toString()} ms${what === undefined ? "" : `: ${JSON.stringify(await what())}`}`);
  }
}

export const isBanned = (guild: GuildHandle, user: User) => guild.bans().some((ban) => ban.user.id === user.id);

/** Somebody's action waits for a confirmation, alone; the bot does nothing about it once it is confirmed. */
export async function holdAction({ app, guild }: Pick<World, "app" | "guild">, userId: string): Promise<void> {
  await app.database.write(systemCall("cli", uuid7()), async (tx) => {
    await tx.db.listAction.deleteMany({});
    const record = { listId: "own", recordId: uuid7(), recordReference: "BL-000999" };
    const times = { joinedAt: tx.now, createdAt: tx.now, updatedAt: tx.now };
    const waiting = { batchId: uuid7(), stance: "notify", action: "ban", state: "held" };
    await tx.db.listAction.create({ data: { guildId: guild.id, userId, ...record, ...times, ...waiting } });
  });
}

export const failedId = "0199f3a0-0000-7000-8000-00000000000f";

/** What the bot could not take back, the first by the id `failedId`: tried again, it needs nothing of Discord. */
export async function failAction({ app, guild }: Pick<World, "app" | "guild">, ...userIds: string[]): Promise<void> {
  await app.database.write(systemCall("cli", uuid7()), async (tx) => {
    await tx.db.listAction.deleteMany({ where: { id: failedId } });
    const record = { listId: "own", recordId: uuid7(), recordReference: "BL-000999" };
    const times = { joinedAt: tx.now, createdAt: tx.now, updatedAt: tx.now };
    const failed = { stance: "apply", action: "kick", state: "failed", changed: true, lastError: "They are not in the server." };
    for (const [index, userId] of userIds.entries())
      await tx.db.listAction.create({
        data: { ...(index === 0 && { id: failedId }), guildId: guild.id, userId, ...record, ...times, ...failed },
      });
  });
}
