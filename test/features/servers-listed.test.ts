import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import type { GuildHandle, User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { authorize, everyRow, shareWorld } from "../contract/world.ts";

const shared = shareWorld({ env: { SERVER_DETAIL: "listed", SECOND_PERSON_FOR_DANGER: "false" } });
let [owner, senior, moderator]: User[] = [];

beforeAll(async () => {
  const { world } = shared;
  [owner, senior, moderator] = [await world.staff("owner"), await world.staff("senior"), await world.staff("moderator")];
});

const as = (actor: User | undefined) => (actor === undefined ? {} : { actor });
const serversOf = async ({ id }: User, actor = senior, query = "") => {
  const { status, body } = await shared.world.get(`/users/${id}/servers?${query}`, as(actor));
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};
const idsOf = async (person: User, actor = senior): Promise<string[]> =>
  (await serversOf(person, actor)).data.map(({ server }: { server: { id: string } }) => server.id).toSorted();

/** A person in three servers nobody here knows, after the whole flow. */
async function granted(names = ["a", "b", "c"]): Promise<{ person: User; guilds: GuildHandle[] }> {
  const { world } = shared;
  const person = world.sandbox.createUser(`person${randomUUID()}`);
  const guilds = names.map((name) => world.sandbox.createGuild({ name: `${name}-${randomUUID()}`, withBot: false }));
  for (const guild of guilds) guild.addMember(person);
  if (owner === undefined) throw new Error("the cast is made before the tests");
  await authorize(world, person, { by: owner });
  return { person, guilds };
}
const register = async (body: object) => (await shared.world.post("/servers", body, as(senior))).body.data;
const list = async (subjectId: string, body: object = {}) =>
  (await shared.world.post("/blacklist", { kind: "server", subject_id: subjectId, ...body }, as(owner))).body.data;

/** The rows that hold one of the texts, by their table. */
async function holding(texts: readonly string[]): Promise<string[]> {
  const tables = Object.entries(await everyRow(shared.world));
  return tables.flatMap(([table, rows]) => rows.filter((row) => texts.some((text) => row.includes(text))).map(() => table));
}

/** What is kept, encrypted, of each of a person's servers. */
const detailsOf = async ({ id: userId }: User) =>
  (await shared.world.app.database.read.userServer.findMany({ where: { userId } })).map(({ details }) => details);

describe("where only hashes are kept", () => {
  test("no name and no id of a server is anywhere in the database after the flow and after a refresh; the servers are counted", async () => {
    const { person, guilds } = await granted();
    const texts = guilds.flatMap(({ id, name }) => [id, name]);
    expect(await holding(texts)).toEqual([]);
    expect(await holding([person.id])).toContain("UserServer");
    expect(await detailsOf(person)).toEqual([null, null, null]);
    expect((await shared.world.post(`/users/${person.id}/refresh`, { force: true }, as(owner))).status).toBe(200);
    expect(await holding(texts)).toEqual([]);
    expect(await detailsOf(person)).toEqual([null, null, null]);
    expect(await serversOf(person)).toMatchObject({ data: [], page: { has_more: false }, meta: { unlisted_count: 3, stale: false } });
    const seen = await serversOf(person, moderator);
    expect(seen.data).toEqual([]);
    expect(seen.meta).not.toHaveProperty("unlisted_count");
  });

  test("registering a server makes exactly that one readable, an alias that one; taking it out hides it again", async () => {
    const { person, guilds } = await granted();
    const [first, second] = guilds;
    if (first === undefined || second === undefined) throw new Error("three servers");
    const alias = freshId();
    await register({ id: first.id, name: "Quarry", icon: "abc", status: "watched", tags: ["mining"], aliases: [alias] });
    const page = await serversOf(person);
    expect(page.data).toMatchObject([
      {
        server: { id: first.id, name_snapshot: "Quarry", icon: "abc", status: "watched" },
        relation: { is_member: true },
        tags: ["mining"],
      },
    ]);
    expect(page.meta.unlisted_count).toBe(2);
    await shared.world.patch(`/servers/${first.id}`, { aliases: [second.id] }, as(senior));
    expect(await idsOf(person)).toEqual([first.id, second.id].toSorted());
    expect((await serversOf(person)).meta.unlisted_count).toBe(1);
    await shared.world.patch(`/servers/${first.id}`, { aliases: [] }, as(senior));
    expect(await idsOf(person)).toEqual([first.id]);
    await shared.world.patch(`/servers/${first.id}`, { status: "defunct" }, as(senior));
    expect(await serversOf(person)).toMatchObject({ data: [], meta: { unlisted_count: 3 } });
  });

  test("a record makes its server readable to readers of the blacklist while it is in force, under the name the record has", async () => {
    const { person, guilds } = await granted();
    const id = guilds[1]?.id ?? "";
    const record = await list(id, { subject_name: "Raid Base" });
    expect((await serversOf(person)).data).toMatchObject([
      { server: { id, name_snapshot: "Raid Base", status: "blacklisted" }, blacklist_id: record.id, tags: [], agreements: [] },
    ]);
    const matches = (await shared.world.get(`/users/${person.id}/matches`, as(senior))).body.data;
    expect(matches).toMatchObject([{ kind: "server_blacklist", server: { id } }]);
    const key = await shared.world.makeKey(["users.servers.read", "users.servers.read_unlisted_count", "servers.read"]);
    const blind = await shared.world.get(`/users/${person.id}/servers`, { key });
    expect(blind.body).toMatchObject({ data: [], meta: { unlisted_count: 3 } });
    await shared.world.delete(`/blacklist/${record.id}`, { reason: "It was another one." }, as(owner));
    expect(await serversOf(person)).toMatchObject({ data: [], meta: { unlisted_count: 3 } });
  });

  test("a registered server that is blacklisted is shown with its stored status to who may not know of the record", async () => {
    const { person, guilds } = await granted();
    const id = guilds[0]?.id ?? "";
    await register({ id, name: "Quarry", status: "partner" });
    const record = await list(id);
    expect((await serversOf(person)).data[0]).toMatchObject({ server: { status: "blacklisted" }, blacklist_id: record.id });
    const key = await shared.world.makeKey(["users.servers.read", "servers.read"]);
    const { data } = (await shared.world.get(`/users/${person.id}/servers`, { key })).body;
    expect(data).toMatchObject([{ server: { id, name_snapshot: "Quarry", status: "partner" } }]);
    expect(JSON.stringify(data)).not.toContain(record.id);
    const outside = await shared.world.makeKey(["users.servers.read"]);
    expect((await shared.world.get(`/users/${person.id}/servers`, { key: outside })).body.data).toEqual([]);
  });

  test("pages hold what is shown, however many hidden servers lie between", async () => {
    const { person, guilds } = await granted(Array.from({ length: 12 }, (_, index) => index.toString()));
    for (const { id } of guilds.filter((_, index) => index % 3 === 0)) await register({ id });
    const all = await serversOf(person, senior, "count=true");
    expect([all.data.length, all.page.total, all.meta.unlisted_count]).toEqual([4, 4, 8]);
    const seen = [];
    let cursor = "";
    do {
      const { data, page, meta } = await serversOf(person, senior, `limit=1${cursor}`);
      expect(meta.unlisted_count).toBe(8);
      seen.push(...data);
      cursor = page.next_cursor === null ? "" : `&cursor=${encodeURIComponent(page.next_cursor)}`;
    } while (cursor !== "");
    expect(seen).toEqual(all.data);
  });
});

describe("a list that is read under another detail", () => {
  const seen = (guilds: readonly GuildHandle[]) => guilds.map(({ id, name }) => ({ id, name, icon: null, relation: "member" as const }));
  const store = (person: User, guilds: readonly GuildHandle[], detail?: "full" | "listed") =>
    shared.world.app.database.write(systemCall("job", "store"), (tx) =>
      shared.world.app.servers.store(tx, person.id, seen(guilds), detail),
    );
  const kept = async (person: User) => (await detailsOf(person)).filter((details) => details !== null).length;

  test("less detail wipes what was kept, of former servers too, and loses neither relation nor times", async () => {
    const { person, guilds } = await granted();
    expect(await store(person, guilds, "full")).toEqual({ added: 0, removed: 0, total: 3 });
    expect([await kept(person), (await serversOf(person)).data.length]).toEqual([3, 3]);
    expect(await store(person, guilds.slice(1))).toEqual({ added: 0, removed: 1, total: 2 });
    const before = await shared.world.app.database.read.userServer.findMany({
      where: { userId: person.id },
      orderBy: { serverHash: "asc" },
    });
    expect(await kept(person)).toBe(3);
    expect(await store(person, guilds.slice(1), "listed")).toEqual({ added: 0, removed: 0, total: 2 });
    const after = await shared.world.app.database.read.userServer.findMany({
      where: { userId: person.id },
      orderBy: { serverHash: "asc" },
    });
    const bare = before.map(({ lastSeenAt: _, details: __, ...row }) => ({ ...row, details: null }));
    expect(after.map(({ lastSeenAt: _, ...row }) => row)).toEqual(bare);
    expect(await serversOf(person)).toMatchObject({ data: [], meta: { unlisted_count: 3 } });
  });

  test("more detail fills in what is seen now; what was left stays a hash", async () => {
    const { person, guilds } = await granted();
    await store(person, guilds.slice(1), "listed");
    await store(person, guilds.slice(1), "full");
    expect([await kept(person), await idsOf(person)]).toEqual([
      2,
      guilds
        .slice(1)
        .map(({ id }) => id)
        .toSorted(),
    ]);
    expect((await serversOf(person)).meta.unlisted_count).toBe(1);
    const details = await shared.world.app.servers.detailsOf(
      person.id,
      (await shared.world.app.database.read.userServer.findMany({ where: { userId: person.id } })).map(({ serverHash }) => serverHash),
    );
    expect([...details.values()].map(({ name }) => name).toSorted()).toEqual(
      guilds
        .slice(1)
        .map(({ name }) => name)
        .toSorted(),
    );
  });

  test("what is stored is shown to everybody who may read it, and the register adds what it knows", async () => {
    const { person, guilds } = await granted();
    await store(person, guilds, "full");
    const [first] = guilds;
    await register({ id: first?.id, name: "Another name", status: "member", tags: ["old"] });
    const key = await shared.world.makeKey(["users.servers.read"]);
    const bare = (await shared.world.get(`/users/${person.id}/servers`, { key })).body.data;
    expect(bare).toHaveLength(3);
    for (const entry of bare) {
      expect(entry.server).not.toHaveProperty("status");
      for (const field of ["tags", "agreements", "blacklist_id"]) expect(entry).not.toHaveProperty(field);
    }
    const entries: { server: { id: string } }[] = (await serversOf(person)).data;
    expect(entries.find(({ server }) => server.id === first?.id)).toMatchObject({
      server: { name_snapshot: first?.name, status: "member" },
      tags: ["old"],
    });
    expect(entries.filter(({ server }) => server.id !== first?.id)).toMatchObject([
      { server: { status: "known" } },
      { server: { status: "known" } },
    ]);
  });
});

test("who looks at somebody's servers is noted, and oneself is not", async () => {
  const { person } = await granted();
  await serversOf(person);
  const looks = () => shared.world.app.database.read.dataRead.findMany({ where: { userId: person.id, what: "servers" } });
  await expect.poll(async () => (await looks()).map(({ readerId }) => readerId), { timeout: 60_000 }).toEqual([senior?.id]);
});
