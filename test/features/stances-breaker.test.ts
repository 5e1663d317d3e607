// @module-tag both
// @module-tag slow
import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { community, isBanned, within } from "./stances-community.ts";

// Row A12: proposals were not counted by the breaker.

/** A server that lets three actions an hour through, with members and their records. */
async function proposing() {
  const given = await community({ ACTION_BREAKER: "3" });
  const { world, bay, admin, list } = given;
  const { read } = world.app.database;
  const join = async (count: number) => {
    const people = bay.addMembers(count);
    await within(() => people.every(({ id }) => world.app.guildState.presences.joinedAt(bay.id, id) !== undefined));
    return people;
  };
  return {
    ...given,
    join,
    requests: () => read.workflowRequest.count(),
    states: async () => {
      const rows = await read.listAction.findMany({ where: { guildId: bay.id }, orderBy: { id: "asc" } });
      return rows.map(({ stance, state }) => `${stance} ${state}`);
    },
    listAll: async (people: readonly { id: string }[], more: object = {}) => {
      for (const person of people) await list(person, more);
      await world.app.lists.worker.catchUp(systemCall("job", uuid7()));
    },
    held: async () => (await world.get(`/guilds/${bay.id}/held-actions`, { actor: admin })).body.data,
    press: async (verb: "confirm" | "undo") => {
      const answer = await world.post(`/guilds/${bay.id}/held-actions/${verb}`, undefined, { actor: admin });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      await world.app.lists.worker.catchUp(systemCall("job", uuid7()));
    },
  };
}

test("of six people to be proposed three are, and three wait until somebody confirms them", async () => {
  const { world, bay, owner, stance, join, listAll, held, press, requests, states } = await proposing();
  const people = await join(6);
  await stance(bay, { category: "raid", stance: "propose", action: "kick" });
  const records = people.map(({ id }) => ({ kind: "user", subject_id: id, category: "raid", severity: "high" }));
  const told = await world.post("/blacklist/import?dry_run=true", { records }, { actor: owner });
  expect(told.body.data.guilds).toEqual([{ guild_id: bay.id, notify: 0, propose: 6, apply: 0, take_back: 0, waiting: 3 }]);
  await listAll(people);
  expect(await requests()).toBe(3);
  expect(await held()).toMatchObject({ state: "waiting", acted: 3, waiting: 3, people: [{ action: "kick" }, {}, {}] });
  await press("confirm");
  expect(await requests()).toBe(6);
  expect(await states()).toEqual(Array.from({ length: 6 }, () => "propose done"));
  for (const person of people) expect(bay.member(person)).toBeDefined();
});

test("held proposals that are undone are never filed, not even when the people join again", async () => {
  const { bay, stance, join, listAll, press, requests, states } = await proposing();
  await stance(bay, { category: "raid", stance: "propose", action: "kick" });
  const people = await join(5);
  await listAll(people);
  expect(await requests()).toBe(3);
  await press("undo");
  for (const person of people) {
    bay.kick(person);
    bay.addMember(person);
  }
  await listAll(await join(1));
  expect(await requests()).toBe(3);
  expect((await states()).slice(0, 5)).toEqual(Array.from({ length: 5 }, () => "propose settled"));
});

test("bans and proposals of one server count together, and what it is only told of counts nothing", async () => {
  const { bay, stance, join, listAll, held, requests } = await proposing();
  await stance(
    bay,
    { category: "raid", stance: "propose", action: "kick" },
    { category: "scam", stance: "apply", action: "ban" },
    { category: "other", stance: "notify" },
  );
  await listAll(await join(5), { category: "other" });
  expect(await held()).toMatchObject({ state: "none" });
  await listAll(await join(2));
  const scammers = await join(2);
  await listAll(scammers, { category: "scam" });
  expect(await requests()).toBe(2);
  // Whichever is looked at first.
  expect(scammers.filter((user) => isBanned(bay, user))).toHaveLength(1);
  expect(await held()).toMatchObject({ state: "waiting", acted: 3, waiting: 1, people: [{ action: "ban" }] });
});
