import type { APIGuildMember, GatewayGuildMembersChunkDispatchData } from "discord-api-types/v10";
import { expect, test } from "vitest";
import { createMemberRead } from "../../src/discord/guild/member-read.ts";

const guildId = "200000000000000001";

function member(number: number): APIGuildMember {
  return {
    user: { id: (100_000_000_000_000_000n + BigInt(number)).toString(), username: `u${number.toString()}` },
    roles: [],
  } as unknown as APIGuildMember;
}

function createRead(pages: readonly (readonly APIGuildMember[])[], presentIds: readonly string[] = [], chunkTimeoutMs = 1000) {
  const accepted: string[] = [];
  const asked: string[] = [];
  let nonce = "";
  const read = createMemberRead({
    guildId,
    presentIds,
    chunkTimeoutMs,
    accept: (_guild, { user }) => accepted.push(user.id),
    discord: {
      member: () => Promise.resolve(null),
      page(_guild, after) {
        asked.push(after);
        return Promise.resolve(pages[asked.length - 1] ?? []);
      },
      requestAll: (_guild, given) => (nonce = given),
    },
  });
  const chunk = (index: number, count: number, members: readonly APIGuildMember[], given = nonce): void =>
    read.chunk({
      guild_id: guildId,
      chunk_index: index,
      chunk_count: count,
      members,
      nonce: given,
    } as GatewayGuildMembersChunkDispatchData);
  return { read, accepted, asked, chunk };
}

test("pages are asked for until one is not full", async () => {
  const full = Array.from({ length: 1000 }, (_, index) => member(index));
  const { read, asked, accepted } = createRead([full, [member(1000)]]);
  await read.byPages();
  expect(asked).toEqual(["0", full[999]!.user.id]);
  expect(accepted).toHaveLength(1001);
});

test("a page is taken in parts, so that others are served in between and an event wins over the rest of it", async () => {
  const full = Array.from({ length: 1000 }, (_, index) => member(index));
  const { read, accepted } = createRead([full, []]);
  const seen: number[] = [];
  const look = (): void => {
    seen.push(accepted.length);
    if (accepted.length > 0) read.touched(full[999]!.user.id);
    if (accepted.length < 999) setImmediate(look);
  };
  setImmediate(look);
  await read.byPages();
  expect(seen.filter((count, index) => count > 0 && count !== seen[index - 1]).length).toBeGreaterThan(2);
  expect(accepted).toHaveLength(999);
});

test("an event wins over what the list says about the same person, and proves their presence", async () => {
  const [ann, bob] = [member(1), member(2)];
  const { read, accepted } = createRead([[ann, bob]], [ann.user.id, bob.user.id, "300000000000000001", "300000000000000002"]);
  read.touched(ann.user.id);
  read.touched("300000000000000001");
  await read.byPages();
  expect(accepted).toEqual([bob.user.id]);
  expect([...read.unseen()]).toEqual(["300000000000000002"]);
});

test("chunks may come in any order; chunks of other requests do not count", async () => {
  const { read, chunk, accepted } = createRead([]);
  const complete = read.byGateway();
  chunk(1, 2, [member(2)]);
  chunk(0, 2, [member(9)], "foreign");
  chunk(1, 2, [member(2)]);
  chunk(0, 2, [member(1)]);
  expect(await complete).toBe(true);
  expect(new Set(accepted)).toEqual(new Set([member(1).user.id, member(2).user.id]));
});

test("silence, a refusal and a lost link end the gateway's part as incomplete", async () => {
  const silent = createRead([], [], 10);
  expect(await silent.read.byGateway()).toBe(false);
  const refused = createRead([]);
  const answer = refused.read.byGateway();
  refused.read.refuse();
  expect(await answer).toBe(false);
  const lost = createRead([[member(1)]]);
  const work = lost.read.byGateway();
  lost.read.lose();
  expect(await work).toBe(false);
  await lost.read.byPages();
  expect(lost.asked).toEqual([]);
  expect(lost.read.isLost()).toBe(true);
});
