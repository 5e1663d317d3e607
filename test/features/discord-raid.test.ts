// @module-tag slow
import { beforeAll, expect, test } from "vitest";
import type { RestFault, User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { sizeOf } from "../support/size.ts";
import { createWorld, type World } from "../support/world.ts";
import { within } from "./stances-community.ts";

const reason = "Raided #general with three accounts.";
const limit = 120_000;
const inAll = sizeOf({ quick: 80, all: 80, long: 200 });
const people = { inAll, inDiscord: inAll / 5 };

/** What Discord does at the first attempt to ban every tenth of them, in turn. */
const faults: Omit<RestFault, "route">[] = [
  { status: 429, retryAfter: 2 },
  { status: 400, body: { code: 30_035, message: "Too many bans for non-guild members have been exceeded." } },
  { status: 500 },
  { hang: true },
];
/** Of those that are never answered, every other one is carried out. */
const faultAt = (index: number): Omit<RestFault, "route"> => ({ ...faults[index % 4], ...(index % 8 === 7 && { late: true }) });

let world: World;
let admin: User;
beforeAll(async () => {
  let end = (): Promise<void> => Promise.resolve();
  world = await createWorld({ onEnd: (way) => (end = way) });
  admin = await staffAtConsole(world, "admin");
  const owner = await staffAtConsole(world, "owner");
  const put = await world.put(`/guilds/${world.guild.id}/direct`, { ban: { level: "admin" } }, { actor: owner });
  expect(put.status, JSON.stringify(put.body)).toBe(200);
  return () => end();
});

const isBanned = (user: User): boolean => world.guild.bans().some(({ user: one }) => one.id === user.id);
/** How often Discord banned somebody, whether it said so or not. */
const bansOf = ({ id }: User): number =>
  world.sandbox.gatewayLog.filter(({ t, d }) => t === "GUILD_BAN_ADD" && (d as { user: { id: string } }).user.id === id).length;

interface Asked {
  user: User;
  reference: string;
  /** What Discord shows of the reply now; null over HTTP. */
  reply: (() => string) | null;
}

async function banOverHttp(user: User): Promise<Asked> {
  const ask = { actor: admin, headers: { "Idempotency-Key": `ban-of-${user.id}` } };
  const input = { action: "ban", user_id: user.id, reason };
  let { status, body } = await world.post(`/guilds/${world.guild.id}/moderation`, input, ask);
  // As clients do: a storage that is busy for the moment is asked again, under the same key.
  for (let again = 0; body.retryable === true && again < 5; again += 1) {
    await new Promise((done) => setTimeout(done, 1000));
    ({ status, body } = await world.post(`/guilds/${world.guild.id}/moderation`, input, ask));
  }
  expect([status, body.direct], JSON.stringify(body)).toEqual([201, true]);
  return { user, reference: body.reference, reply: null };
}

async function banInDiscord(user: User): Promise<Asked> {
  const run = await world.sandbox.as(admin).in(world.guild).runSlashCommand("ban", { user, reason });
  const first = (await run.reply()).content;
  // Nobody is called banned who is not, at no moment.
  if (first.includes("✓ Banned")) expect(isBanned(user)).toBe(true);
  const reference = /PUN-REQ-\d+/.exec(first.replaceAll("\\", ""))?.[0] ?? first;
  return { user, reference, reply: () => run.current()?.content ?? "" };
}

test(
  `A3: ${inAll.toString()} people of a raid are banned within two minutes, each once and each said as it went, though Discord takes no messages and fails every tenth ban`,
  async () => {
    world.sandbox.faults.rest({
      route: "POST /users/@me/channels",
      status: 400,
      body: { code: 40_003, message: "You are opening direct messages too fast." },
      times: 10_000,
    });
    const raiders = Array.from({ length: people.inAll }, () => world.member());
    const failing = raiders.filter((_, index) => index % 10 === 0);
    const hits = failing.map((user, index) =>
      world.sandbox.faults.rest({ route: `PUT /guilds/${world.guild.id}/bans/${user.id}`, ...faultAt(index) }),
    );
    const rows = () =>
      world.app.database.read.workflowEffect.findMany({
        where: { key: "discord.punish" },
        select: { status: true, dueAt: true, lastError: true },
      });
    const from = performance.now();
    const queue = [...raiders.entries()];
    const asked: Asked[] = [];
    const moderator = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift())
        asked.push(await (next[0] % (people.inAll / people.inDiscord) === 0 ? banInDiscord : banOverHttp)(next[1]));
    };
    await Promise.all(Array.from({ length: 8 }, moderator));
    await within(async () => (await rows()).every(({ status }) => status !== "pending"), limit - (performance.now() - from));
    expect(performance.now() - from).toBeLessThan(limit);

    expect(raiders.filter((user) => !isBanned(user))).toEqual([]);
    expect(hits.map((hit) => hit.hits)).toEqual(failing.map(() => 1));
    expect(await rows()).toEqual(raiders.map(() => ({ status: "done", dueAt: null, lastError: null })));
    expect(raiders.filter((user) => bansOf(user) !== 1)).toEqual([]);
    // One request each, a second one where the first had failed, and none where a first one without an answer had its effect.
    const answered = world.sandbox.exchanges.filter(({ method, path }) => method === "PUT" && path.includes("/bans/"));
    const unanswered = failing.filter((_, index) => faultAt(index).hang === true);
    const carriedOut = failing.filter((_, index) => faultAt(index).late === true);
    const each = inAll / 40;
    expect([unanswered.length, carriedOut.length]).toEqual([each, Math.floor(each / 2)]);
    const counted = (status: number): number => answered.filter((one) => one.status === status).length;
    expect([204, 400, 429, 500].map(counted)).toEqual([people.inAll - carriedOut.length, each, each, each]);
    expect(world.sandbox.exchanges.filter(({ method, path }) => method === "DELETE" && path.includes("/bans/"))).toEqual([]);

    const replies = asked.flatMap(({ user, reply }) => (reply === null ? [] : [{ user, reply }]));
    expect(replies).toHaveLength(people.inDiscord);
    await within(() => replies.every(({ reply }) => !reply().includes("Banning")), 30_000);
    for (const { user, reply } of replies) {
      expect(reply()).toContain(`✓ Banned <@${user.id}>`);
      expect(reply()).toContain("✗ Message not delivered");
    }
    expect(raiders.flatMap((user) => world.sandbox.directMessages(user))).toEqual([]);
    const notices = await world.app.database.read.workflowEffect.findMany({ where: { key: { startsWith: "notice.subject" } } });
    expect(notices.map(({ key, status }) => ({ key, status }))).toEqual(raiders.map(() => ({ key: "notice.subject", status: "failed" })));
  },
  limit + 60_000,
);
