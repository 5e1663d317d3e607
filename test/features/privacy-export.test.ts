import { beforeAll, describe, expect, test } from "vitest";
import { exportLimit } from "../../src/features/privacy/privacy.schema.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { asPerson, plant, words, write, type Planted } from "./privacy-ground.ts";

const shared = shareWorld();
let planted: Planted | undefined;
const scene = (): Planted => {
  if (planted === undefined) throw new Error("everything is planted before the tests");
  return planted;
};
beforeAll(async () => {
  planted = await plant(shared.world);
});

const exportOf = async (userId: string, actor: string) => shared.world.get(`/users/${userId}/data-export`, { actor });

describe("the export of a person", () => {
  test("holds everything that is stored and theirs to have", async () => {
    const { person, cove, filed, about } = scene();
    const { world } = shared;
    const answer = await exportOf(person.id, person.id);
    expect(answer.status).toBe(200);
    const { data } = answer.body;
    expect(data).toMatchObject({ discord_user_id: person.id, authorization: { status: "active", detail: "full" } });
    expect(data.sessions.entries.map(({ status }: any) => status)).toEqual(["pending", "authorized"]);
    expect(new Map(data.servers.entries.map(({ id, name }: any) => [id, name]))).toEqual(
      new Map([
        [world.guild.id, "Harbour"],
        [cove.id, words.server],
      ]),
    );
    expect(data.servers.entries).toHaveLength(2);
    expect(data.servers.listed).toBe(0);
    expect(data.matches.entries.map(({ kind }: any) => kind).toSorted()).toEqual(["server_blacklist", "user_blacklist"]);
    for (const match of data.matches.entries) expect(match.rules.length).toBeGreaterThan(0);
    expect(data.linked_accounts.entries).toMatchObject([{ kind: "confirmed", ended_at: null }]);
    expect(new Map(data.requests.entries.map(({ reference, role }: any) => [reference, role]))).toEqual(
      new Map([
        [filed, "requester"],
        [about, "subject"],
      ]),
    );
    expect(data.requests.entries).toHaveLength(2);
    expect(data.blacklist.entries).toMatchObject([
      { number: "BL-000002", category: "scam", status: "active", reason_public: words.public },
    ]);
    expect(data.blacklist.entries[0].appeal).toMatch(/appeal/);
    expect(data.staff).toMatchObject({
      department: "Quay",
      permissions: [{ permission: "staff.read", effect: "deny", reason: words.permission }],
    });
    expect(data.memberships.entries).toMatchObject([{ username: words.name, nickname: words.name, present: false }]);
    const actions = data.audit.entries.map(({ action }: any) => action);
    expect(actions).toEqual(expect.arrayContaining(["blacklist.create", "workflow.create"]));
    expect(actions.some((action: string) => action.startsWith("authorization"))).toBe(true);
  });

  test("is the same whoever asks, but for the look itself", async () => {
    const { person, admin } = scene();
    const strip = ({ made_at: _at, reads: _reads, ...rest }: any) => rest;
    const own = strip((await exportOf(person.id, person.id)).body.data);
    expect(strip((await exportOf(person.id, admin.id)).body.data)).toEqual(own);
    expect(strip(JSON.parse(JSON.stringify(await shared.world.app.privacy.export(asPerson(person.id), person.id))))).toEqual(own);
  });

  test("holds no token, no secret of staff, nothing confidential and nobody else", async () => {
    const { person, other, suspected, confirmed, confidential, moderator, admin } = scene();
    const { read } = shared.world.app.database;
    const text = JSON.stringify((await exportOf(person.id, person.id)).body);
    const grant = await read.authorization.findUniqueOrThrow({ where: { userId: person.id } });
    const sessions = await read.authorizationSession.findMany({ where: { userId: person.id } });
    const servers = await read.userServer.findMany({ where: { userId: person.id } });
    const secrets = [
      grant.accessToken,
      grant.refreshToken,
      ...sessions.flatMap((row) => [row.tokenHash, row.stateHash, row.cookieHash, row.verifier]),
      ...servers.flatMap((row) => [row.serverHash, row.details]),
    ].filter((secret) => secret !== null);
    expect(secrets.length).toBeGreaterThan(6);
    const people = [other, suspected, confirmed, moderator, admin].map(({ id }) => id);
    const hidden = [...secrets, words.internal, words.staffNote, words.secretServer, confidential, ...people];
    expect(hidden.filter((one) => text.includes(one))).toEqual([]);
    const restricted = await read.workflowRequest.findUniqueOrThrow({ where: { reference: confidential } });
    const entries = await read.auditEntry.findMany({ where: { subjectUserId: person.id } });
    const shown = JSON.parse(text).data.audit.entries as { at: string; action: string }[];
    expect(entries.some(({ targetId }) => targetId === restricted.id)).toBe(true);
    expect(shown).toHaveLength(entries.filter(({ targetId }) => targetId !== restricted.id).length);
  });

  test("leaves out matches through an account that only staff connect with them", async () => {
    const { person, suspected, confirmed } = scene();
    const { world } = shared;
    const [match] = await world.app.database.read.match.findMany({ where: { userId: person.id } });
    const kinds = async (): Promise<string[]> =>
      (await exportOf(person.id, person.id)).body.data.matches.entries.map(({ kind }: any) => kind).toSorted();
    const before = await kinds();
    const copies = [suspected, confirmed].map((via, index) => ({
      ...match!,
      id: `00000000-0000-7000-8000-00000000000${index.toString()}`,
      recordId: `record-${index.toString()}`,
      kind: "alt_of_blacklisted",
      viaUserId: via.id,
      why: [],
      resolution: {},
    }));
    await write(world, (tx) => tx.db.match.createMany({ data: copies }));
    expect(await kinds()).toEqual([...before, "alt_of_blacklisted"].toSorted());
    await write(world, (tx) => tx.db.match.deleteMany({ where: { id: { in: copies.map(({ id }) => id) } } }));
  });

  test("holds what they wrote and staff kept, without who kept it and on what, and nothing confidential or redacted", async () => {
    const { person, other, moderator, about, confidential } = scene();
    const { world } = shared;
    const { read } = world.app.database;
    const idOf = async (reference: string) => (await read.workflowRequest.findUniqueOrThrow({ where: { reference } })).id;
    const openCase = async (more: object) => {
      const asked = { type: "general", title: "A case", subjects: [{ kind: "user", id: person.id }], ...more };
      return (await world.post("/cases", asked, { actor: scene().admin })).body.data.id as string;
    };
    const [open, secret] = [await openCase({}), await openCase({ confidential: true })];
    const at = new Date("2026-02-01T10:00:00.000Z");
    const piece = (content: string, more: object = {}, author = person.id) => ({
      recordKind: "request",
      kind: "message",
      message: { guild_id: "1", channel_id: "2", message_id: "3", author_id: author, content, sent_at: at.toISOString(), edited_at: null },
      isVerified: true,
      isConfidential: false,
      capturedAt: at,
      capturedBy: moderator.id,
      ...more,
    });
    const on = { request: { recordId: await idOf(about) }, hidden: { recordId: await idOf(confidential) } };
    const pieces = [
      piece("kept-1", on.request),
      piece("kept-2", { recordKind: "case", recordId: open }),
      piece("left-out-1", on.hidden),
      piece("left-out-2", { recordKind: "case", recordId: secret }),
      piece("left-out-3", { ...on.request, isConfidential: true }),
      piece("left-out-4", { ...on.request, isVerified: false }),
      piece("left-out-5", { ...on.request, redactedAt: at }),
      piece("left-out-6", { ...on.request, kind: "text" }),
      piece("left-out-7", on.request, other.id),
    ];
    await write(world, (tx) => tx.db.evidenceItem.createMany({ data: pieces as never }));
    const { body } = await exportOf(person.id, person.id);
    const told = { guild_id: "1", channel_id: "2", message_id: "3", sent_at: at.toISOString(), captured_at: at.toISOString() };
    const { entries } = body.data.messages;
    expect(entries.map(({ content }: any) => content).toSorted()).toEqual(["kept-1", "kept-2"]);
    for (const { content: _content, text: _text, ...rest } of entries) expect(rest).toEqual(told);
    const text = JSON.stringify(body);
    expect(["left-out", moderator.id, open, secret].filter((one) => text.includes(one))).toEqual([]);
    expect(await world.slash(person, "mydata")).toContain("• messages of yours kept as evidence: 2");
    await write(world, (tx) => tx.db.evidenceItem.deleteMany({ where: { capturedAt: at } }));
  });

  test("holds the place on the roster, the callsigns and what they wrote about a request, and not what staff wrote", async () => {
    const { world } = shared;
    const { person, filed, admin } = scene();
    const at = new Date();
    const { id: requestId } = await world.app.database.read.workflowRequest.findUniqueOrThrow({ where: { reference: filed } });
    await write(world, async ({ db }) => {
      const entry = { userId: person.id, status: "suspended", staffRole: "moderator", joinedAt: at, createdAt: at, updatedAt: at };
      const { id: entryId } = await db.rosterEntry.create({ data: entry });
      const told = { before: {}, after: {}, actorId: admin.id, reason: "left-out", effectiveAt: at, recordedAt: at };
      await db.rosterEvent.create({ data: { entryId, userId: person.id, event: "suspended", ...told } });
      const slot = { pool: "main", number: 7, callsign: "M-007", state: "assigned", since: at, createdAt: at };
      await db.callsignSlot.create({ data: { ...slot, userId: person.id } });
      const comment = { requestId, createdAt: at };
      await db.workflowComment.createMany({
        data: [
          { ...comment, authorId: person.id, visibility: "requester", body: "I was not there." },
          { ...comment, authorId: person.id, visibility: "internal", body: "left-out" },
          { ...comment, authorId: admin.id, visibility: "requester", body: "left-out" },
        ],
      });
    });
    const { body } = await exportOf(person.id, person.id);
    expect(body.data.staff.roster).toMatchObject({ status: "suspended", staff_role: "moderator", history: [{ event: "suspended" }] });
    expect(body.data.staff.callsigns).toMatchObject([{ callsign: "M-007", state: "assigned" }]);
    const request = body.data.requests.entries.find(({ reference }: any) => reference === filed);
    expect(request.comments.map((one: any) => one.body)).toEqual(["I was not there."]);
    expect(["left-out", admin.id].filter((one) => JSON.stringify(body).includes(one))).toEqual([]);
    await write(world, async ({ db }) => {
      await db.rosterEntry.deleteMany({});
      await db.callsignSlot.deleteMany({});
      await db.workflowComment.deleteMany({ where: { requestId } });
    });
  });

  test("of somebody nothing is stored of is empty, and no error", async () => {
    const stranger = shared.world.member("stranger");
    const { status, body } = await exportOf(stranger.id, stranger.id);
    expect(status).toBe(200);
    const { discord_user_id: _id, made_at: _at, ...rest } = body.data;
    const none = { entries: [] };
    expect(rest).toEqual({
      authorization: null,
      sessions: none,
      servers: { ...none, listed: 0 },
      matches: none,
      linked_accounts: none,
      requests: none,
      blacklist: none,
      cases: none,
      messages: none,
      staff: null,
      memberships: none,
      native_actions: none,
      reads: none,
      audit: none,
    });
  });

  test("is refused to whoever is neither the person nor holds users.export", async () => {
    const { person, other, moderator } = scene();
    const before = await shared.world.app.database.read.dataRead.count();
    expect((await exportOf(person.id, moderator.id)).body).toMatchObject({ status: 403, code: "permission_denied" });
    expect((await exportOf(person.id, other.id)).body).toMatchObject({ status: 403, code: "acting_user_not_staff" });
    const limited = await shared.world.makeKey(["users.servers.read"]);
    const answer = await shared.world.get(`/users/${person.id}/data-export`, { actor: person, key: limited });
    expect(answer.body).toMatchObject({ status: 403, code: "permission_denied" });
    expect(await shared.world.app.database.read.dataRead.count()).toBe(before);
  });

  test("says by name who looked, and never by id", async () => {
    const { person, admin } = scene();
    await shared.world.get(`/users/${person.id}/data-export`);
    await exportOf(person.id, admin.id);
    const { reads } = (await exportOf(person.id, person.id)).body.data;
    const readers = reads.entries.filter(({ what }: any) => what === "export").map(({ reader }: any) => reader);
    expect(readers.toSorted()).toEqual(["A moderation client (world)", admin.username].toSorted());
    for (const { hour } of reads.entries) expect(hour).toMatch(/:00:00\.000Z$/);
  });

  test("holds the newest of a long list and says that there are more", async () => {
    const { other } = scene();
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000);
    const looks = Array.from({ length: exportLimit + 5 }, (_, index) => ({ what: "servers", hour: at(index), at: at(index) }));
    const data = looks.map((look) => ({ userId: other.id, readerId: "1", clientId: "", ...look }));
    await write(shared.world, (tx) => tx.db.dataRead.createMany({ data }));
    const { reads, sessions } = (await exportOf(other.id, other.id)).body.data;
    expect(reads).toMatchObject({ truncated: true });
    expect(reads.entries).toHaveLength(exportLimit);
    expect(reads.entries[0].hour).toBe(at(exportLimit + 4).toISOString());
    expect(sessions.truncated).toBeUndefined();
  });
});

describe("/mydata", () => {
  test("tells everybody, staff or not, what kinds are stored and where to see them, and only them", async () => {
    const { world } = shared;
    const { person } = scene();
    const said = await world.slash(person, "mydata");
    expect(said).toContain("• servers of your list: 2");
    expect(said).toContain("• blacklist records about you: 1");
    expect(said).toContain(`${world.url}/privacy`);
    const nobody = world.member("nobody");
    expect(await world.slash(nobody, "mydata")).toContain("Nothing is stored about you.");
    expect(await world.slash(await staffAtConsole(world, "viewer"), "mydata")).toContain("/privacy");
  });
});
