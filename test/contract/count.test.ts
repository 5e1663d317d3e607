// @module-tag slow
import { failAction } from "../features/stances-community.ts";
import { settled } from "../features/native-actions-ground.ts";
import { beforeAll, describe, expect, test } from "vitest";
import { catalog } from "../../src/kernel/permissions.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { workflowKinds } from "../../src/kernel/vocabulary.ts";
import type { User } from "../../sandbox/index.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { ladder } from "../support/world.ts";
import { documentedRoutes, filing, freshId } from "./document.ts";
import { createPersonnel } from "./personnel.ts";
import { authorize, shareWorld } from "./world.ts";

const shared = shareWorld({ env: { SECOND_PERSON_FOR_DANGER: "true" }, furtherGuilds: ["Quay"] });
const places: Record<string, string> = {};
/** `id` stands for another thing in each room. */
const place = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => places[`${path.split("/")[1] ?? ""}.${name}`] ?? places[name] ?? "");

/** One owner, two moderators, a person in three servers of which two are listed, and a confidential investigation. */
interface Cast {
  owner: User;
  requester: User;
  outsider: User;
}
let cast: Cast | undefined;
const scene = (): Cast => {
  if (cast === undefined) throw new Error("the cast is made before the tests");
  return cast;
};

beforeAll(async () => {
  const { world } = shared;
  cast = { owner: await world.staff("owner"), requester: await world.staff("moderator"), outsider: await world.staff("moderator") };
  const { owner, requester, outsider } = cast;
  const person = world.member();
  const listed = ["Raid Base", "Raid Base Two"].map((name) => world.sandbox.createGuild({ name, withBot: false }));
  for (const guild of listed) guild.addMember(person);
  await authorize(world, person, { by: owner });
  const records = [
    { kind: "user", subject_id: person.id, reason_internal: "seen on the second camera" },
    { kind: "server", subject_id: listed[0]?.id },
    { kind: "server", subject_id: listed[1]?.id },
  ];
  const made = [];
  for (const record of records) made.push(await world.post("/blacklist", record, { actor: owner }));
  const id: string = made[0]?.body.data.id;
  const basis = [{ type: "admission", note: "Said so." }];
  const linkWith = (userId: string) => ({ user_id: userId, confidence: "probable", kind: "declared_alt", basis });
  for (const { id: other } of [requester, outsider])
    made.push(await world.post(`/users/${person.id}/links`, linkWith(other), { actor: owner }));
  const changed = await world.patch(`/blacklist/${id}`, { tags: ["raid"] }, { actor: owner });
  const investigation = { subject: { kind: "user", id: freshId() }, allegation: "Shared internal screenshots.", confidential: true };
  const filed = [];
  for (const [kind, body] of [
    ["punishment", filing("punishment")],
    ["punishment", filing("punishment")],
    ["poach", filing("poach")],
    ["investigation", investigation],
  ] as const)
    filed.push(await world.post(`/workflows/${kind}`, body, { actor: requester }));
  expect([...made, changed, ...filed].map(({ status }) => status)).toEqual([201, 201, 201, 201, 201, 200, 201, 201, 201, 201]);
  await world.makeKey(["staff.read"]);
  const grant = { overrides: [{ key: "staff.suspend", effect: "allow", reason: "on call tonight" }] };
  for (const { id: userId } of [requester, outsider])
    expect((await world.patch(`/permissions/users/${userId}`, grant, { actor: owner })).status).toBe(202);
  Object.assign(places, { discord_user_id: person.id, id, "servers.id": await registerServers(owner) });
  await recordPoaching(places["servers.id"] ?? "", person.id);
  world.guild.ban(person, { by: owner });
  world.guild.unban(person, { by: owner });
  world.guild.ban(person, { by: requester });
  await settled(world);
  await openCases(owner);
  await keepStrikes(person.id);
  await addEvidence(owner, filed[2]?.body.reference);
  await discuss(owner, filed[2]?.body.reference);
  places["guild_id"] = world.guild.id;
  for (const user_id of [freshId(), freshId()])
    await world.post(`/guilds/${world.guild.id}/exemptions`, { user_id, reason: "A friend of the house." }, { actor: owner });
  await failAction(world, freshId(), freshId());
  const followed = ["Harbour Watch", "Quay Watch"].map((name) => world.post("/lists", { name, kind: "file" }, { actor: owner }));
  const lists = (await Promise.all(followed)).map(({ body }) => body.data.id as string);
  places["lists.id"] = lists[0] ?? "";
  const listedThere = [freshId(), freshId()].map((subjectId) => ({ kind: "user", subject_id: subjectId }));
  expect((await world.put(`/lists/${lists[0] ?? ""}/file`, { records: listedThere }, { actor: owner })).status).toBe(200);
  const hooked = ["desk", "shelf"].map((name) => world.post("/webhooks", { name, url: "https://client.invalid/" }, { actor: owner }));
  const hooks = (await Promise.all(hooked)).map(({ body }) => body.data.id as string);
  places["webhooks.id"] = hooks[0] ?? "";
  // A paused one is sent nothing but tests.
  await world.patch(`/webhooks/${hooks[0] ?? ""}`, { state: "paused" }, { actor: owner });
  for (const _ of [1, 2]) await world.post(`/webhooks/${hooks[0] ?? ""}/test`, undefined, { actor: owner });
  places["roster.id"] = (await createPersonnel(world, owner)).audit;
});

/** Two pieces of evidence on a record of each kind. */
async function addEvidence(actor: User, website_id: string): Promise<void> {
  const { world } = shared;
  const subjects = [{ kind: "user", id: freshId() }];
  places["cases.id"] ??= (await world.post("/cases", { title: "A quarrel", subjects }, { actor })).body.data.id;
  Object.assign(places, { "workflows.type": "poach", "workflows.website_id": website_id });
  for (const path of ["/cases/{id}/evidence", "/blacklist/{id}/evidence", "/workflows/{type}/{website_id}/evidence"])
    for (const note of ["first", "second"]) {
      const { status, body } = await world.post(place(path), { kind: "text", note }, { actor });
      expect([path, status, body.code]).toEqual([path, 201, undefined]);
    }
}

/** Two comments on a request, and a second line in its history. */
async function discuss(actor: User, reference: string): Promise<void> {
  const path = `/workflows/poach/${reference}`;
  for (const body of ["First", "Second"]) expect((await shared.world.post(`${path}/comments`, { body }, { actor })).status).toBe(201);
  expect((await shared.world.patch(path, { priority: "high" }, { actor })).status).toBe(200);
  places["workflows.id"] = reference;
}

/** Three cases, the first with two notes of which one was changed; two templates. */
async function openCases(actor: User): Promise<void> {
  const { world } = shared;
  const titles = ["A quarrel", "A brawl", "A hush"];
  const ids: string[] = [];
  for (const title of titles) {
    const about = { title, subjects: [{ kind: "user", id: freshId() }], labels: title === "A hush" ? [] : ["loud"] };
    ids.push((await world.post("/cases", about, { actor })).body.data.id);
  }
  const notes = [];
  for (const body of ["First", "Second"]) notes.push(await world.post(`/cases/${ids[0] ?? ""}/notes`, { body }, { actor }));
  const noteId: string = notes[0]?.body.data.id;
  expect((await world.patch(`/cases/${ids[0] ?? ""}/notes/${noteId}`, { body: "Changed" }, { actor })).status).toBe(200);
  for (const key of ["quarrel", "brawl"]) expect((await world.put(`/cases/templates/${key}`, {}, { actor })).status).toBe(200);
  Object.assign(places, { "cases.id": ids[0], "cases.note_id": noteId });
}

/** Two strikes in the first case, and two suggested requests. */
async function keepStrikes(userId: string): Promise<void> {
  const { database, draftRecords } = shared.world.app;
  const row = { caseId: places["cases.id"] ?? "", kind: "strike", userId, points: 1, reason: "Insulted two newcomers." };
  await database.write(systemCall("cli", uuid7()), async (tx) => {
    await tx.db.caseAction.createMany({ data: [uuid7(), uuid7()].map((id) => ({ ...row, id, at: tx.now })) });
    for (const type of ["punishment", "poach"] as const) {
      const subject = { kind: "user", id: userId } as const;
      await draftRecords.suggestInTx(tx, { type, payload: {}, subject, cause: "3 points are in force.", openKey: `count:${type}` });
    }
  });
}

/** Three servers, one of them party of two agreements. Answers its id. */
async function registerServers(actor: User): Promise<string> {
  const { registry, database } = shared.world.app;
  const ids = [freshId(), freshId(), freshId()];
  for (const [index, serverId] of ids.entries()) {
    const status = index === 0 ? "known" : "partner";
    expect((await shared.world.post("/servers", { id: serverId, status }, { actor })).status).toBe(201);
  }
  const [first = "", ...others] = ids;
  for (const other of others) {
    const draft = { serverIds: [first, other], covers: "both", coolingOffDays: 30, createdBy: null, permission: "system.act" } as const;
    await database.write(systemCall("cli", uuid7()), (tx) => registry.createAgreementInTx(tx, draft));
  }
  return first;
}

/** Two incidents of a server, and two clearances of a person. */
async function recordPoaching(serverId: string, userId: string): Promise<void> {
  const { registry, database } = shared.world.app;
  const origin = { originReference: "PCH-REQ-000001", permission: "system.act" };
  await database.write(systemCall("cli", uuid7()), async (tx) => {
    for (const other of [freshId(), freshId()]) {
      const incident = { serverId, victimServerId: other, offenderIds: [userId], method: "dm", occurredAt: tx.now };
      await registry.recordIncidentInTx(tx, { ...incident, ...origin });
      const clearance = { userId, fromServerId: other, toServerId: serverId, validUntil: null };
      await registry.grantClearanceInTx(tx, { ...clearance, ...origin });
    }
  });
}

const roles = Object.keys(ladder).length;
const lists: [path: string, filter: string, total: number][] = [
  ["/staff", "", 3],
  ["/staff", "level=moderator", 2],
  ["/staffroles", "", roles],
  ["/keys", "", 2],
  ["/channels", "", 2],
  ["/guilds/{guild_id}/exemptions", "", 2],
  ["/guilds/{guild_id}/list-actions", "", 2],
  ["/lists", "", 2],
  ["/lists/{id}/entries", "", 2],
  ["/webhooks", "", 2],
  ["/webhooks/{id}/deliveries", "", 2],
  ["/confirmations", "", 2],
  ["/permissions/catalog", "", catalog.length],
  ["/permissions/roles", "", roles],
  ["/blacklist", "", 3],
  ["/blacklist", "kind=server", 2],
  ["/blacklist/{id}/history", "", 2],
  ["/blacklist/{id}/evidence", "", 2],
  ["/cases/{id}/evidence", "", 2],
  ["/workflows/{type}/{website_id}/evidence", "", 2],
  ["/blacklist/changes", "", 4],
  ["/blacklist/changes", "kind=user", 2],
  ["/cases", "", 3],
  ["/cases", "label=loud", 2],
  ["/cases", "label=loud&sort=due_at", 2],
  ["/cases/{id}/actions", "", 2],
  ["/users/{discord_user_id}/strikes", "", 2],
  ["/users/{discord_user_id}/strikes", "in_force=true", 2],
  ["/workflows/drafts", "", 2],
  ["/workflows/drafts", "status=all", 2],
  ["/cases/{id}/notes", "", 2],
  ["/cases/{id}/notes/{note_id}/history", "", 2],
  ["/cases/{id}/timeline", "", 6],
  ["/cases/templates", "", 2],
  ["/servers", "", 3],
  ["/servers", "status=partner", 2],
  ["/servers/{id}/agreements", "", 2],
  ["/servers/{id}/incidents", "", 2],
  ["/users/{discord_user_id}/clearances", "", 2],
  ["/guilds/{guild_id}/native-actions", "", 3],
  ["/guilds/{guild_id}/native-actions", "action=ban", 2],
  ["/users/{discord_user_id}/native-actions", "", 3],
  ["/users/{discord_user_id}/native-actions", "action=ban", 2],
  ["/users/{discord_user_id}/servers", "", 3],
  ["/users/{discord_user_id}/matches", "", 3],
  ["/users/{discord_user_id}/matches", "kind=server_blacklist", 2],
  ["/users/{discord_user_id}/links", "", 2],
  ["/users/{discord_user_id}/links", "status=all&confidence=probable", 2],
  ["/users/{discord_user_id}/timeline", "kind=blacklist", 2],
  ["/users/{discord_user_id}/timeline", "kind=blacklist,link", 4],
  ["/workflows/{type}/{id}/comments", "", 2],
  ["/workflows/{type}/{id}/history", "", 2],
  ["/workflows/policies", "", workflowKinds.length],
  ["/workflows", "", 4],
  ["/workflows", "type=punishment", 2],
  ["/workflows", "type=punishment,poach&sort=-priority", 3],
  ["/workflows", "type=punishment&sort=created_at", 2],
  ["/callsigns", "", 4],
  ["/callsigns", "state=assigned&q=north", 3],
  ["/callsigns/pools", "", 4],
  ["/callsigns/repairs", "", 2],
  ["/roster", "", 2],
  ["/roster", "status=trial", 2],
  ["/roster/history", "event=hired", 2],
  ["/roster/history", "event=callsign_assigned&source=staff", 4],
  ["/roster/audits", "", 2],
  ["/roster/audits/{id}/findings", "", 2],
  ["/audit", "action=blacklist.create", 3],
  ["/audit", "action_prefix=blacklist.", 4],
  ["/audit/mine", "action=blacklist.create", 3],
];

test("the table knows every list", () => {
  const known = new Set(lists.map(([path]) => path));
  const documented = documentedRoutes.filter(
    ({ operation }) => operation.responses["200"]?.content?.["application/json"]?.schema["properties"]?.page !== undefined,
  );
  expect(documented.map(({ path }) => path).toSorted()).toEqual([...known].toSorted());
  const uncounted = documented.filter(({ operation }) => operation.parameters?.every(({ name }) => name !== "count"));
  expect(uncounted).toEqual([]);
});

describe("a list says how many entries there are only when asked", () => {
  const ask = (path: string, query: string) => shared.world.get(`${place(path)}?${query}`, { actor: scene().owner });

  test.each(lists)("%s?%s", async (path, filter, total) => {
    const plain = await ask(path, `${filter}&limit=1`);
    expect(plain.status, JSON.stringify(plain.body)).toBe(200);
    expect(plain.body.page).not.toHaveProperty("total");
    expect((await ask(path, `${filter}&limit=1&count=false`)).body.page).not.toHaveProperty("total");
    const counted = await ask(path, `${filter}&limit=1&count=true`);
    expect(counted.body).toEqual({ ...plain.body, page: { ...plain.body.page, total }, meta: counted.body.meta });
    expect((await ask(path, `${filter}&limit=200`)).body.data).toHaveLength(total);
  });

  test.each(lists)(
    "%s?%s on the second page, with the cursor of a page that was not counted and the other way round",
    async (path, filter, total) => {
      const next = async (count: string): Promise<string> => {
        const { page } = (await ask(path, `${filter}&limit=1${count}`)).body;
        return `cursor=${encodeURIComponent(page.next_cursor)}`;
      };
      const counted = await ask(path, `${filter}&limit=1&count=true&${await next("")}`);
      expect(counted.body.page).toMatchObject({ total, has_more: total > 2 });
      const plain = await ask(path, `${filter}&limit=1&${await next("&count=true")}`);
      expect(plain.body.data).toEqual(counted.body.data);
      expect(plain.body.page).not.toHaveProperty("total");
    },
  );

  test.each(lists)("%s?%s refuses to guess what another word means", async (path, filter) => {
    for (const word of ["1", "yes", "TRUE", ""]) {
      const { body } = await ask(path, `${filter}&count=${word}`);
      expect(body).toMatchObject({ status: 422, code: "validation_failed", errors: [{ pointer: "/count", in: "query" }] });
    }
  });
});

test("the next page of a counted list is counted, too", async () => {
  const { headers } = await shared.world.get("/blacklist?limit=1&count=true", { actor: scene().owner });
  expect(headers.get("link")).toMatch(/^<\/blacklist\?limit=1&count=true&cursor=/);
});

test("filters that match nothing have a total of 0", async () => {
  const { body } = await shared.world.get(`/blacklist?subject=${freshId()}&count=true`, { actor: scene().owner });
  expect(body).toMatchObject({ data: [], page: { total: 0, has_more: false } });
});

test("a confidential investigation is not counted for those who may not know of it", async () => {
  const { owner, requester, outsider } = scene();
  const totals = async (actor: User): Promise<number[]> => {
    const answers = await Promise.all(
      ["count=true", "count=true&limit=1&type=investigation", "count=true&q=INVC-REQ"].map((query) =>
        shared.world.get(`/workflows?${query}`, { actor }),
      ),
    );
    return answers.map(({ body }) => body.page.total);
  };
  expect(await totals(outsider)).toEqual([3, 0, 0]);
  expect(await totals(requester)).toEqual([4, 1, 1]);
  expect(await totals(owner)).toEqual([4, 1, 1]);
});

test("a hidden reason cannot be searched for by its count", async () => {
  const { owner, outsider } = scene();
  const total = async (actor: User): Promise<number> =>
    (await shared.world.get("/blacklist?count=true&q=second+camera", { actor })).body.page.total;
  expect([await total(owner), await total(outsider)]).toEqual([1, 0]);
});

test("keys are counted, revoked ones too", async () => {
  const { keys } = shared.world.app;
  const call = systemCall("cli", uuid7());
  const { id } = requireDone(await keys.create(call, { name: "retired", scopes: ["staff.read"], delegation: "none" }));
  await keys.revoke(call, id);
  const first = await keys.list(call, { limit: 1 });
  expect(first).not.toHaveProperty("total");
  const { data } = await keys.list(call, { limit: 200 });
  expect(data.length).toBeGreaterThan(1);
  const second = await keys.list(call, { limit: 1, count: "true", cursor: first.next_cursor ?? "" });
  expect(second.total).toBe(data.length);
});
