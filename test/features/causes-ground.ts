import { expect } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { GuildHandle, User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";
import { settled } from "./native-actions-ground.ts";

export const reason = "Raided #general with three accounts.";
export const hour = 3_600_000;

export interface EffectRow {
  key: string;
  status: string;
  detail: string;
  due_at: string | null;
}

export type CausesGround = Awaited<ReturnType<typeof createCausesGround>>;

/** Two servers whose owners decide alone, the time of the service, and what Discord shows of a person. */
export async function createCausesGround() {
  const time = { offset: 0 };
  const now = () => Date.now() + time.offset;
  let end = (): Promise<void> => Promise.resolve();
  const world = await createWorld({
    furtherGuilds: ["Quay"],
    clock: { now: () => new Date(now()) },
    discordNow: now,
    // Alerts and the breaker have tests of their own.
    env: { ACTION_BREAKER: "1000" },
    onEnd: (way) => (end = way),
  });
  const [owner, other, third, fourth, fifth] = [
    await staffAtConsole(world, "owner"),
    await staffAtConsole(world, "owner"),
    await staffAtConsole(world, "owner"),
    await staffAtConsole(world, "owner"),
    await staffAtConsole(world, "owner"),
  ] as const;
  const guilds = [world.guild, ...world.furtherGuilds] as [GuildHandle, GuildHandle];
  const everybody = { level: "moderator" };
  for (const guild of guilds) {
    const rules = { timeout: everybody, ban: everybody, kick: everybody, warning: everybody };
    const put = await world.put(`/guilds/${guild.id}/direct`, rules, { actor: owner });
    expect(put.status, JSON.stringify(put.body)).toBe(200);
  }
  // Nobody files more than twenty requests an hour.
  const filers: User[] = [];
  let filed = 0;
  async function filer(): Promise<User> {
    const place = Math.floor((filed += 1) / 15);
    filers[place] ??= await staffAtConsole(world, "owner");
    return filers[place];
  }
  const call = () => systemCall("job", uuid7());
  const answered = async (path: string, body: object, actor: User) => {
    const answer = await world.post(path, body, { actor });
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  };

  const ground = {
    world,
    end: () => end(),
    owner,
    other,
    third,
    fourth,
    fifth,
    guilds,
    time,
    now,
    /** Let time pass for the service, and do everything that is due then. */
    async pass(ms: number): Promise<void> {
      time.offset += ms;
      await ground.settle();
    },
    async settle(): Promise<void> {
      await settled(world);
      for (let round = 0; round < 3; round += 1) {
        await world.app.deliveries.deliverDue(call());
        await world.app.lists.worker.catchUp(call());
      }
      await settled(world);
    },
    /**
     * Moderate somebody in a server, and have it done: alone, or with somebody else's approval where the person is banned or timed out by hand
     * already, or where nobody lifts it alone.
     */
    async moderate(user: User, body: object, guild: GuildHandle = guilds[0]): Promise<string> {
      const wanted = { user_id: user.id, reason, ...body };
      const actor = await filer();
      const { status, body: answer } = await world.post(`/guilds/${guild.id}/moderation`, wanted, { actor });
      const isSoAlready = status === 409 && /^(already|not)_/.test(String(answer.discord?.code));
      expect(isSoAlready || status < 300, JSON.stringify(answer)).toBe(true);
      const reference: string = isSoAlready
        ? await ground.file("punishment", { ...wanted, guild_ids: [guild.id], on_duplicate: "join" })
        : answer.reference;
      if (answer.direct !== true) await ground.decide("punishment", reference, { decision: "approve" }, third);
      await ground.settle();
      return reference;
    },
    /** Somebody who may file one more request this hour. */
    filer,
    async file(kind: string, body: object): Promise<string> {
      return (await answered(`/workflows/${kind}`, body, await filer())).reference as string;
    },
    async decide(kind: string, reference: string, body: object, actor: User = other) {
      const answer = await answered(`/workflows/${kind}/${reference}/decision`, { reason: "It was looked into again.", ...body }, actor);
      await ground.settle();
      return answer;
    },
    reverse: (reference: string, kind = "punishment", actor: User = other) =>
      ground.decide(kind, reference, { decision: "reverse" }, actor),
    async effects(reference: string, key?: string, kind = "punishment"): Promise<EffectRow[]> {
      const { body } = await world.get(`/workflows/${kind}/${reference}`, { actor: owner });
      return (body.data.effects as EffectRow[]).filter((effect) => key === undefined || effect.key === key);
    },
    /** When Discord lets somebody write again, as hours from now; null: they may write. */
    timeout(user: User, guild: GuildHandle = guilds[0]): number | null {
      const until = guild.member(user)?.timeoutUntil ?? null;
      return until === null || until <= now() ? null : Math.round(((until - now()) / hour) * 10) / 10;
    },
    isBanned: (user: User, guild: GuildHandle = guilds[0]): boolean => guild.bans().some(({ user: one }) => one.id === user.id),
    messages: (user: User): string[] => world.sandbox.directMessages(user).map(({ content }) => content),
    async stance(guild: GuildHandle, rules: readonly object[]): Promise<void> {
      const put = await world.put(`/guilds/${guild.id}/stance`, { rules }, { actor: owner });
      expect(put.status, JSON.stringify(put.body)).toBeLessThan(300);
      await ground.settle();
    },
    async list(user: User, category = "raid"): Promise<string> {
      const body = { kind: "user", subject_id: user.id, category, severity: "high", reason_public: reason };
      const { data } = await answered("/blacklist", body, owner);
      await ground.settle();
      return data.number as string;
    },
    async revoke(number: string): Promise<void> {
      const answer = await world.delete(`/blacklist/${number}`, { reason: "It was somebody else." }, { actor: other });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      await ground.settle();
    },
  };
  return ground;
}

export type { World };
