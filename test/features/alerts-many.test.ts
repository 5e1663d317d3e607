// @module-tag slow
import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { GuildHandle, Message } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { community, within } from "./stances-community.ts";

// Row A12: one list that names many people must not hide what is urgent.

type Event = Parameters<Awaited<ReturnType<typeof community>>["world"]["app"]["events"]["emit"]>[1];

/** A server with an alerts channel, in a community that follows a list. */
async function ground(log?: (line: string) => void) {
  const given = await community({ METRICS_TOKEN: token }, log === undefined ? {} : { log });
  const { world, harbour, owner, admin } = given;
  const channel = harbour.createChannel("alerts");
  expect((await world.put(`/channels/${harbour.id}`, { alerts: channel.id }, { actor: owner })).status).toBe(200);
  const made = await world.post("/lists", { name: "Harbour Watch", kind: "file" }, { actor: admin });
  const followed = made.body.data.id as string;
  const says = async (users: readonly { id: string }[]) => {
    const records = users.map(({ id }, index) => ({
      kind: "user",
      subject_id: id,
      number: `HW-${index.toString()}`,
      category: "raid",
      severity: "high",
    }));
    const sent = await world.put(`/lists/${followed}/file`, { records }, { actor: admin });
    expect(sent.status, JSON.stringify(sent.body)).toBe(200);
  };
  const alerts = (): Message[] => harbour.messages().filter(({ channelId }) => channelId === channel.id);
  const happen = (...events: Event[]) =>
    world.app.database.write(systemCall("job", uuid7()), (tx) => {
      for (const event of events) world.app.events.emit(tx, event);
      return Promise.resolve();
    });
  return {
    ...given,
    channel,
    followed,
    says,
    alerts,
    texts: () => alerts().map(({ embeds }) => embeds[0]?.description ?? ""),
    happen,
    joined: (guild: GuildHandle, userId: string, list: string, byRule = true): Event => ({
      type: "listed_person.joined",
      data: { guild_id: guild.id, user_id: userId, number: "BL-000001", list, by_rule: byRule },
    }),
    cleared: (guild: GuildHandle, userId: string, list: string): Event => ({
      type: "listed_person.cleared",
      data: { guild_id: guild.id, user_id: userId, number: "BL-000001", list },
    }),
    lowPool: (pool: string): Event => ({ type: "callsign.low_pool", data: { pool, free: 2, capacity: 20 } }),
  };
}

const token = "a-token-of-at-least-thirty-two-characters";
const idOf = (number: number): string => (300_000_000_000_000_000n + BigInt(number)).toString();
const over = "Nobody needs to look at this any more.";

test("of 150 members whom a followed list names without a rule one message tells, and a person on the blacklist is told of beside it", async () => {
  const { world, harbour, list, says, alerts, texts } = await ground();
  const people = harbour.addMembers(150);
  await within(() => people.every(({ id }) => world.app.guildState.presences.joinedAt(harbour.id, id) !== undefined), 30_000);
  const wanted = world.sandbox.createUser("wanted");
  await list(wanted);
  await says(people);
  harbour.addMember(wanted);
  const isTold = () => texts().some((text) => text.startsWith(`<@${wanted.id}>`));
  await within(isTold, 30_000);
  expect(alerts().length).toBeLessThanOrEqual(2);
  const summary = (count: number) => `${count.toString()} people on **Harbour Watch** are in this server.`;
  await within(() => texts().some((text) => text.startsWith(summary(150))), 60_000);
  expect(alerts()).toHaveLength(2);

  const reader = await staffAtConsole(world, "admin");
  const told = alerts().find(({ embeds }) => embeds[0]?.description?.startsWith(summary(150)));
  if (told === undefined) throw new Error("nothing was told");
  const opened = await (await world.sandbox.as(reader).in(harbour).press(told, "Open")).reply();
  expect(JSON.stringify(opened.embeds)).toContain("Harbour Watch");

  await world.restart();
  await says(people.slice(0, 40));
  await within(() => texts().some((text) => text.startsWith(summary(40))), 60_000);
  expect(alerts()).toHaveLength(2);
  await says([]);
  await within(() => texts().includes(over), 60_000);
  expect(texts().filter((text) => text === over)).toHaveLength(1);
  expect(isTold()).toBe(true);
});

test("ten people of a list and hour are told of one by one, the rest together, each list for itself and in its own server", async () => {
  const { harbour, bay, followed, happen, joined, cleared, alerts, texts } = await ground();
  const own = Array.from({ length: 25 }, (_, index) => idOf(index));
  await happen(...own.map((id) => joined(harbour, id, "own")), joined(bay, idOf(99), "own"), joined(harbour, idOf(50), followed));
  await within(() => texts().some((text) => text.includes(`<@${idOf(50)}>`)) && texts().some((text) => text.startsWith("15 more people")));
  const single = texts().filter((text) => text.startsWith("<@"));
  expect(single).toHaveLength(11);
  expect(texts()).toContain("15 more people on **your blacklist** are in this server.");
  expect(texts().join()).not.toContain(idOf(99));
  expect(alerts()).toHaveLength(12);

  // What is over is taken out where it was told.
  await happen(cleared(harbour, own[0] ?? "", "own"), ...own.slice(11).map((id) => cleared(harbour, id, "own")));
  await within(() => texts().includes("1 more person on **your blacklist** is in this server."));
  expect(texts().filter((text) => text === over)).toHaveLength(1);
  await happen(cleared(harbour, own[10] ?? "", "own"));
  await within(() => texts().filter((text) => text === over).length === 2);
  expect(alerts()).toHaveLength(12);
});

test("the end of an entry of one list leaves the alert of another list about the same person", async () => {
  const { harbour, followed, happen, joined, cleared, texts } = await ground();
  await happen(joined(harbour, idOf(1), "own"), joined(harbour, idOf(1), followed));
  await within(() => texts().length === 2);
  await happen(cleared(harbour, idOf(1), followed));
  await within(() => texts().includes(over));
  expect(texts().filter((text) => text === over)).toHaveLength(1);
});

test("urgent alerts go ahead of a hundred that wait, and each kind keeps its order", async () => {
  const { harbour, happen, joined, lowPool, texts } = await ground();
  await happen(...Array.from({ length: 100 }, (_, index) => lowPool(`pool${index.toString()}`)));
  await within(() => texts().length > 2);
  await happen({ type: "list_actions.held", data: { guild_id: harbour.id, acted: 20 } }, joined(harbour, idOf(1), "own"));
  const isTold = () => texts().some((text) => text.startsWith(`<@${idOf(1)}>`)) && texts().some((text) => text.startsWith("The bot acted"));
  const before = texts().length;
  await within(isTold);
  expect(
    texts()
      .slice(before)
      .findIndex((text) => text.startsWith("<@")),
  ).toBeLessThan(6);
  await within(() => texts().length === 102, 60_000);
  const pools = texts().flatMap((text) => /\*\*pool(\d+)\*\*/.exec(text)?.[1] ?? []);
  expect(pools).toEqual(Array.from({ length: 100 }, (_, index) => index.toString()));
});

test("an alert whose content Discord refuses is left out, logged and counted, and those after it are told", async () => {
  const lines: string[] = [];
  const { world, channel, harbour, happen, lowPool, texts, alerts } = await ground((line) => lines.push(line));
  const route = `POST /channels/${channel.id}/messages`;
  const body = { code: 50_035, message: "Invalid Form Body", errors: {} };
  const refusing = world.sandbox.faults.rest({ route, status: 400, body, times: 1 });
  await happen(lowPool("alpha"), lowPool("bravo"));
  await within(() => texts().length === 1);
  refusing.clear();
  expect(texts()[0]).toContain("**bravo**");
  const skipped = lines.map((line) => JSON.parse(line) as { level: number; kind?: string }).filter(({ kind }) => kind !== undefined);
  expect(skipped).toEqual([expect.objectContaining({ level: 50, kind: "callsign_pool_low", detail: "Discord rejected the values." })]);
  const metrics = await fetch(`${world.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  expect(await metrics.text()).toMatch(/^provost_alerts_skipped_total 1$/m);
  const { checks } = (await world.get("/health")).body;
  const text = `^An alert of server ${harbour.id} was left out at 20\\S+Z: Discord rejected the values\\.$`;
  expect(checks.review_cards).toEqual({ status: "warn", reason: expect.stringMatching(new RegExp(text)) });

  await world.restart();
  await happen(lowPool("alpha"));
  await within(() => texts().length === 2);
  expect(texts()[1]).toContain("**alpha**");
  expect(alerts()).toHaveLength(2);
});

test("an alert that cannot be worded is left out, logged and counted, and those after it are told", async () => {
  const lines: string[] = [];
  const { happen, lowPool, texts } = await ground((line) => lines.push(line));
  const { type, data } = lowPool("alpha") as { type: Event["type"]; data: any };
  await happen({ type, data: { ...data, pool: { toString: null } } }, lowPool("bravo"));
  await within(() => texts().length === 1);
  expect(texts()[0]).toContain("**bravo**");
  const said = lines.map((line) => JSON.parse(line) as { level: number; kind?: string }).filter(({ kind }) => kind !== undefined);
  expect(said).toEqual([expect.objectContaining({ level: 50, kind: "callsign_pool_low" })]);
});
