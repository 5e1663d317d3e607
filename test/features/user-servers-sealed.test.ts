// @module-tag both
// @module-tag slow
import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { authorize } from "../contract/world.ts";
import { createWorld } from "../support/world.ts";

const cli = () => systemCall("cli", uuid7());

/** A person who shared that they are in two servers, and somebody who may read it. */
async function createShared() {
  const errors: { msg: string; user?: string; level: number }[] = [];
  const world = await createWorld({
    log(line) {
      const entry = JSON.parse(line) as (typeof errors)[0];
      if (entry.level >= 50) errors.push(entry);
    },
  });
  const [reader, person] = [await world.staff("admin"), world.member()];
  const guilds = ["Cove", "Isle"].map((name) => world.sandbox.createGuild({ name, withBot: false }));
  for (const guild of guilds) guild.addMember(person);
  await authorize(world, person, { by: reader });
  const [cove, isle] = guilds.map(({ id }) => id);
  if (cove === undefined || isle === undefined) throw new Error("there are two servers");
  const { keyring, hashOf } = world.app;
  const rowOf = (serverId: string) =>
    world.app.database.read.userServer.findUniqueOrThrow({
      where: { userId_serverHash: { userId: person.id, serverHash: hashOf(serverId) } },
    });
  return {
    world,
    person,
    reader,
    errors,
    cove,
    isle,
    rowOf,
    write: (serverId: string, details: string | null) =>
      world.app.database.write(cli(), async ({ db }) => {
        const where = { userId_serverHash: { userId: person.id, serverHash: hashOf(serverId) } };
        await db.userServer.update({ where, data: { details } });
      }),
    /** A text as versions before this one wrote it: it belongs to the person, in whatever row it stands. */
    former: (user: User, server: { id: string; name: string }) =>
      keyring.encrypt(JSON.stringify({ ...server, icon: null }), `server:${user.id}`),
    shown: async () =>
      (await world.get(`/users/${person.id}/servers`, { actor: reader })).body.data.map(
        ({ server: { id, name_snapshot: name } }: { server: { id: string; name_snapshot?: string } }) => [id, name],
      ) as [string, string][],
    exported: async () => (await world.get(`/users/${person.id}/data-export`, { actor: person })).body.data.servers,
    refresh: () => world.post(`/users/${person.id}/refresh`, {}, { actor: reader }),
    reencrypt: async () => (await world.app.authorization.reencrypt(cli())).find(({ column }) => column === "user_servers.details"),
  };
}

const sorted = (rows: [string, string][]) => rows.toSorted(([a], [b]) => (a < b ? -1 : 1));

test("what is kept of one server opens in no other row of the same person: neither is shown as the other, and it is reported", async () => {
  const { person, errors, cove, isle, rowOf, write, shown, exported } = await createShared();
  expect(
    sorted(await shown())
      .map(([, name]) => name)
      .toSorted(),
  ).toEqual(["Cove", "Harbour", "Isle"]);
  const [one, other] = [(await rowOf(cove)).details, (await rowOf(isle)).details];
  await write(cove, other);
  await write(isle, one);
  expect((await shown()).map(([, name]) => name)).toEqual(["Harbour"]);
  const { entries, listed } = await exported();
  expect([entries.map(({ name }: { name: string }) => name), listed]).toEqual([["Harbour"], 2]);
  expect(errors.filter(({ msg }) => msg.includes("cannot be opened"))).toContainEqual(
    expect.objectContaining({ user: person.id, count: 2 }),
  );
});

test("the next refresh of the person puts right what was swapped", async () => {
  const { world, cove, isle, rowOf, write, shown, refresh } = await createShared();
  const [one, other] = [(await rowOf(cove)).details, (await rowOf(isle)).details];
  await write(cove, other);
  await write(isle, one);
  await world.app.database.write(cli(), async ({ db }) => void (await db.authorization.updateMany({ data: { refreshedAt: new Date(0) } })));
  const refreshed = await refresh();
  expect(refreshed.status, JSON.stringify(refreshed.body)).toBe(200);
  expect((await shown()).map(([, name]) => name).toSorted()).toEqual(["Cove", "Harbour", "Isle"]);
});

test("a text of the former form is read in its own row, and the sweep writes it anew so that it opens nowhere else", async () => {
  const { world, person, errors, cove, isle, rowOf, write, former, shown } = await createShared();
  await write(cove, former(person, { id: cove, name: "Old Cove" }));
  expect((await shown()).map(([, name]) => name).toSorted()).toEqual(["Harbour", "Isle", "Old Cove"]);
  await world.restart();
  await world.app.runJobs();
  const { details } = await rowOf(cove);
  expect(details).toMatch(/^v2\.test\./);
  expect(() => world.app.keyring.decrypt(details ?? "", `server:${person.id}`)).toThrow();
  expect((await shown()).map(([, name]) => name).toSorted()).toEqual(["Harbour", "Isle", "Old Cove"]);
  await write(isle, details);
  expect((await shown()).map(([, name]) => name).toSorted()).toEqual(["Harbour", "Old Cove"]);
  expect(errors.filter(({ msg }) => msg.includes("cannot be opened"))).not.toEqual([]);
});

test("the command line writes texts of the former form anew, too, and neither it nor the sweep makes one that stands in a foreign row good", async () => {
  const { world, person, cove, isle, rowOf, write, former, shown, reencrypt } = await createShared();
  const [good, moved] = [former(person, { id: cove, name: "Old Cove" }), former(person, { id: cove, name: "Cove again" })];
  await write(cove, good);
  await write(isle, moved);
  expect((await shown()).map(([, name]) => name).toSorted()).toEqual(["Harbour", "Old Cove"]);
  expect(await reencrypt()).toMatchObject({ resealed: 1, unreadable: 1 });
  expect((await rowOf(cove)).details).toMatch(/^v2\./);
  await world.restart();
  await world.app.runJobs();
  expect((await rowOf(isle)).details).toBe(moved);
  expect((await shown()).map(([, name]) => name).toSorted()).toEqual(["Harbour", "Old Cove"]);
  expect(await reencrypt()).toMatchObject({ resealed: 0, unreadable: 1 });
});
