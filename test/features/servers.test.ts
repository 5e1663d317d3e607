import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";

const shared = shareWorld();
let [senior, viewer]: User[] = [];

beforeAll(async () => {
  senior = await shared.world.staff("senior");
  viewer = await shared.world.staff("viewer");
});

const as = (actor: User | undefined) => (actor === undefined ? {} : { actor });
const register = async (body: Record<string, unknown> = {}) => {
  const answer = await shared.world.post("/servers", { id: freshId(), ...body }, as(senior));
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data;
};
const change = (id: string, body: object, headers = {}) => shared.world.patch(`/servers/${id}`, body, { ...as(senior), headers });
const read = async (id: string, actor = senior) => (await shared.world.get(`/servers/${id}`, as(actor))).body.data;
const auditOf = (targetId: string) =>
  shared.world.app.database.read.auditEntry.findMany({ where: { targetId }, orderBy: { seq: "asc" }, select: { action: true, seq: true } });
const eventsOf = async (id: string) =>
  (await shared.world.app.database.read.outboxEvent.findMany({ where: { type: "server.changed" } })).filter(
    ({ data }) => (data as { server_id?: string }).server_id === id,
  );
const rows = () => shared.world.app.database.read.server.count();

describe("registering", () => {
  test("a server is registered with everything that is told of it, and that is audited and announced", async () => {
    const [id, alias, contact] = [freshId(), freshId(), freshId()];
    const told = {
      name: "Quarry",
      icon: "a_0123456789abcdef0123456789abcdef",
      status: "partner",
      aliases: [alias],
      owner_user_id: contact,
      contacts: [{ user_id: contact, role: "owner" }],
      tags: ["mining"],
      note: "Friends since 2020.",
    };
    const view = await register({ id, ...told, invite_code: "quarry" });
    expect(view).toMatchObject({ id, ...told, invite: { code: "quarry", status: null, checked_at: null }, agreements: [], revision: 1 });
    expect(view).not.toHaveProperty("merged_into");
    expect(view.blacklist_id).toBeNull();
    expect(await read(alias)).toEqual(view);
    expect((await auditOf(id)).map(({ action }) => action)).toEqual(["server.create"]);
    expect((await eventsOf(id)).map(({ data }) => data)).toEqual([{ server_id: id, status: "partner" }]);
  });

  test("only an id is needed: the server is known then", async () => {
    const view = await register();
    expect(view).toMatchObject({ status: "known", name: null, icon: null, aliases: [], contacts: [], tags: [], note: null, invite: null });
  });

  test("an id is registered once, be it as a server or as an alias", async () => {
    const [id, alias] = [freshId(), freshId()];
    await register({ id, aliases: [alias] });
    const before = await rows();
    for (const body of [{ id }, { id: alias }, { id: freshId(), aliases: [id] }, { id: freshId(), aliases: [freshId(), alias] }]) {
      const { status, body: problem } = await shared.world.post("/servers", body, as(senior));
      expect([status, problem.code, problem.server_id]).toEqual([409, "duplicate_active_record", id]);
    }
    expect(await rows()).toBe(before);
    expect((await auditOf(id)).length).toBe(1);
  });

  test("ten calls that register the same server at once make one", async () => {
    const id = freshId();
    const answers = await Promise.all(Array.from({ length: 10 }, () => shared.world.post("/servers", { id }, as(senior))));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, ...Array<number>(9).fill(409)]);
    expect(await eventsOf(id)).toHaveLength(1);
  });

  test("the same key answers the same again and writes nothing", async () => {
    const id = freshId();
    const ask = () => shared.world.post("/servers", { id }, { ...as(senior), headers: { "idempotency-key": `k-${id}` } });
    const [first, second] = [await ask(), await ask()];
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(await eventsOf(id)).toHaveLength(1);
  });

  const bad: [name: string, body: Record<string, unknown>, pointer: string, code: string][] = [
    ["a blacklisted one", { status: "blacklisted" }, "/status", "use_blacklist"],
    ["one that is gone already", { status: "defunct" }, "/status", "invalid_value"],
    ["an address for an invite", { invite_code: "https://discord.gg/abc" }, "/invite_code", "invalid_format"],
    ["an unknown field", { owner: "1" }, "/owner", "unknown_field"],
    ["an id that is no id", { aliases: ["12"] }, "/aliases/0", "invalid_snowflake"],
    ["too many aliases", { aliases: Array.from({ length: 21 }, freshId) }, "/aliases", "too_many"],
    ["a contact without a role", { contacts: [{ user_id: freshId() }] }, "/contacts/0/role", "required"],
  ];
  test.each(bad)("%s is refused with the name of the field", async (_name, body, pointer, code) => {
    const before = await rows();
    const { status, body: problem } = await shared.world.post("/servers", { id: freshId(), ...body }, as(senior));
    expect(status).toBe(422);
    expect(problem.errors).toMatchObject([{ pointer, code }]);
    expect(await rows()).toBe(before);
  });

  test("a server is no alias of itself", async () => {
    const id = freshId();
    const { status, body } = await shared.world.post("/servers", { id, aliases: [freshId(), id] }, as(senior));
    expect([status, body.errors[0].pointer]).toEqual([422, "/aliases/1"]);
  });

  test("who may only read registers and changes nothing", async () => {
    const { id } = await register();
    const before = await rows();
    expect((await shared.world.post("/servers", { id: freshId() }, as(viewer))).body.code).toBe("permission_denied");
    expect((await shared.world.patch(`/servers/${id}`, { note: "mine" }, as(viewer))).body.code).toBe("permission_denied");
    expect([await rows(), (await read(id)).revision]).toEqual([before, 1]);
    const key = await shared.world.makeKey(["blacklist.read"]);
    expect((await shared.world.get("/servers", { key })).status).toBe(403);
    expect((await shared.world.get(`/servers/${id}`, { key })).status).toBe(403);
  });
});

describe("changing", () => {
  test("what is sent changes, the rest stays; the audit names what is not for everybody and does not show it", async () => {
    const { id } = await register({ name: "Quarry", note: "Old friends.", tags: ["mining"] });
    const { body, headers } = await change(id, { note: "Not so sure.", tags: ["mining", "raids", "raids"] });
    expect(body.data).toMatchObject({ name: "Quarry", note: "Not so sure.", tags: ["mining", "raids"], revision: 2 });
    expect(headers.get("etag")).toMatch(/^"v2-/);
    const [, entry] = await auditOf(id);
    const payload = await shared.world.app.database.read.auditPayload.findUnique({ where: { seq: entry?.seq ?? 0 } });
    expect(payload?.payload).toEqual({
      reason: null,
      before: { tags: ["mining"], note: "(hidden)" },
      after: { tags: ["mining", "raids"], note: "(hidden)" },
    });
  });

  test("a change that changes nothing writes nothing", async () => {
    const { id } = await register({ name: "Quarry" });
    expect((await change(id, { name: "Quarry", status: "known", aliases: [] })).body.data.revision).toBe(1);
    expect([(await auditOf(id)).length, (await eventsOf(id)).length]).toEqual([1, 1]);
  });

  test("a change of a revision that is no longer there is refused", async () => {
    const { id } = await register();
    expect((await change(id, { name: "A" }, { "if-match": '"v1"' })).status).toBe(200);
    const late = await change(id, { name: "B" }, { "if-match": '"v1"' });
    expect([late.status, late.body.current_etag]).toEqual([412, '"v2"']);
    expect((await read(id)).name).toBe("A");
  });

  test("aliases are replaced as a whole and answer no longer once they are gone", async () => {
    const [kept, gone, fresh] = [freshId(), freshId(), freshId()];
    const { id } = await register({ aliases: [kept, gone] });
    expect((await change(gone, { aliases: [fresh, kept] })).body.data.aliases).toEqual([kept, fresh].toSorted());
    expect((await shared.world.get(`/servers/${gone}`, as(senior))).body.code).toBe("record_not_found");
    expect((await read(fresh)).id).toBe(id);
    await register({ id: gone });
  });

  test("another invite has not been looked up yet", async () => {
    const { id } = await register({ invite_code: "first" });
    await shared.world.app.database.write(systemCall("job", "test"), (tx) =>
      tx.db.server.update({ where: { id }, data: { inviteStatus: "valid", inviteCheckedAt: tx.now } }),
    );
    expect((await change(id, { name: "B" })).body.data.invite.status).toBe("valid");
    expect((await change(id, { invite_code: "second" })).body.data.invite).toEqual({ code: "second", status: null, checked_at: null });
  });

  test("nothing is deleted: there is no way to, and what is gone is defunct", async () => {
    const { id } = await register();
    expect((await shared.world.delete(`/servers/${id}`, undefined, as(senior))).status).toBe(405);
    expect((await change(id, { status: "defunct" })).body.data.status).toBe("defunct");
  });
});

describe("mergers", () => {
  test("a server becomes part of a registered one, and comes back", async () => {
    const [small, big] = [await register(), await register()];
    expect((await change(small.id, { status: "merged", merged_into: big.id })).body.data).toMatchObject({
      status: "merged",
      merged_into: big.id,
    });
    const { body } = await change(small.id, { status: "known" });
    expect(body.data.status).toBe("known");
    expect(body.data).not.toHaveProperty("merged_into");
  });

  test("what cannot be merged stays as it is, and the field is named", async () => {
    const alias = freshId();
    const [a, b, c] = [await register(), await register({ aliases: [alias] }), await register()];
    await change(a.id, { status: "merged", merged_into: b.id });
    const tries: [id: string, body: object][] = [
      [c.id, { status: "merged" }],
      [c.id, { merged_into: b.id }],
      [c.id, { status: "partner", merged_into: b.id }],
      [c.id, { status: "merged", merged_into: c.id }],
      [c.id, { status: "merged", merged_into: freshId() }],
      [c.id, { status: "merged", merged_into: alias }],
      [c.id, { status: "merged", merged_into: a.id }],
      [b.id, { status: "merged", merged_into: a.id }],
    ];
    for (const [id, body] of tries) {
      const answer = await change(id, body);
      expect([answer.status, answer.body.errors?.[0].pointer], JSON.stringify(body)).toEqual([422, "/merged_into"]);
    }
    expect([(await read(b.id)).revision, (await read(c.id)).revision]).toEqual([1, 1]);
    expect((await change(c.id, { status: "blacklisted" })).body.errors).toMatchObject([{ pointer: "/status", code: "use_blacklist" }]);
  });
});

describe("who sees what", () => {
  test("contacts, owner, note and invite are for those who manage the register", async () => {
    const { id } = await register({ note: "Few eyes.", contacts: [{ user_id: freshId(), role: "owner" }], invite_code: "abc" });
    const seen = await read(id, viewer);
    for (const field of ["contacts", "owner_user_id", "note", "invite", "blacklist_id"]) expect(seen).not.toHaveProperty(field);
    expect(seen).toMatchObject({ id, status: "known", tags: [], agreements: [] });
    expect(await read(id)).toMatchObject({ note: "Few eyes.", invite: { code: "abc" }, blacklist_id: null });
  });

  test("that a server is blacklisted is seen by readers of the blacklist; everybody else sees the stored status", async () => {
    const alias = freshId();
    const { id } = await register({ status: "partner", aliases: [alias], name: `Raided ${alias}` });
    const owner = await shared.world.staff("owner");
    const record = (await shared.world.post("/blacklist", { kind: "server", subject_id: alias }, { actor: owner })).body.data;
    expect(await read(id)).toMatchObject({ status: "blacklisted", blacklist_id: record.id, revision: 1 });
    const seen = await read(id, viewer);
    expect(seen.status).toBe("partner");
    expect(JSON.stringify(seen)).not.toContain(record.id);
    const listed = async (actor: User | undefined, status: string) =>
      (await shared.world.get(`/servers?status=${status}&q=${alias}&count=true`, as(actor))).body.page.total;
    expect(await Promise.all([listed(senior, "blacklisted"), listed(senior, "partner")])).toEqual([1, 0]);
    expect(await Promise.all([listed(viewer, "blacklisted"), listed(viewer, "partner")])).toEqual([0, 1]);
    await shared.world.delete(`/blacklist/${record.id}`, { reason: "It was another one." }, { actor: owner });
    expect(await read(id)).toMatchObject({ status: "partner", blacklist_id: null });
    expect(await Promise.all([listed(senior, "blacklisted"), listed(senior, "partner")])).toEqual([0, 1]);
  });
});

test("the list finds servers by a part of the name, by id and by alias, page by page", async () => {
  const mark = `Zircon${freshId()}`;
  const alias = freshId();
  const made = [];
  for (const name of [`${mark} One`, `The ${mark} Two`, `${mark.toLowerCase()} three`]) made.push(await register({ name }));
  const last = await register({ name: `${mark} Four`, aliases: [alias] });
  const find = async (query: string) => (await shared.world.get(`/servers?${query}`, as(viewer))).body;
  const all = await find(`q=${mark}`);
  expect(all.data.map(({ id }: { id: string }) => id)).toEqual([last.id, ...made.map(({ id }) => id).toReversed()]);
  expect((await find(`q=${alias}`)).data.map(({ id }: { id: string }) => id)).toEqual([last.id]);
  expect((await find(`q=${last.id}`)).data).toHaveLength(1);
  expect((await find(`q=${mark}&status=watched`)).data).toEqual([]);
  const first = await find(`q=${mark}&limit=3`);
  const second = await find(`q=${mark}&limit=3&cursor=${encodeURIComponent(first.page.next_cursor)}`);
  expect([...first.data, ...second.data]).toEqual(all.data);
  expect(second.page.has_more).toBe(false);
});

test("the answer to a known tag is short, until something else is shown", async () => {
  const { id } = await register();
  const tag = (await shared.world.get(`/servers/${id}`, as(senior))).headers.get("etag") ?? "";
  const again = () => shared.world.get(`/servers/${id}`, { ...as(senior), headers: { "if-none-match": tag } });
  expect((await again()).status).toBe(304);
  const owner = await shared.world.staff("owner");
  await shared.world.post("/blacklist", { kind: "server", subject_id: id }, { actor: owner });
  expect((await again()).body.data.status).toBe("blacklisted");
});
