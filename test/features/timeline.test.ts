import { beforeAll, describe, expect, test } from "vitest";
import { createRecorder } from "../../src/features/audit/record.ts";
import { sources } from "../../src/features/timeline/sources/sources.ts";
import type { User } from "../../sandbox/index.ts";
import { filing } from "../contract/document.ts";
import { authorize, shareWorld } from "../contract/world.ts";
import type { Answer, AskOptions, Level } from "../support/world.ts";
import { settled } from "./native-actions-ground.ts";
import { write } from "./privacy-ground.ts";

const shared = shareWorld();

interface Scene {
  owner: User;
  requester: User;
  /** A viewer of staff to whom everything happens. */
  person: User;
  record: string;
  request: string;
  /** A confidential investigation about the person. */
  hidden: string;
}
let cast: Scene | undefined;
const scene = (): Scene => {
  if (cast === undefined) throw new Error("the scene is set before the tests");
  return cast;
};

async function done(ask: Promise<Answer>): Promise<Answer["body"]> {
  const { status, body } = await ask;
  expect([200, 201], JSON.stringify(body)).toContain(status);
  return body;
}

beforeAll(async () => {
  const { world } = shared;
  const [owner, admin, requester] = [await world.staff("owner"), await world.staff("admin"), await world.staff("moderator")];
  const person = await world.staff("viewer");
  const raiders = world.sandbox.createGuild({ name: "**Raid** @everyone", withBot: false });
  raiders.addMember(person);
  await authorize(world, person, { by: requester });
  await done(world.post("/blacklist", { kind: "server", subject_id: raiders.id, severity: "low" }, { actor: owner }));
  const listing = {
    kind: "user",
    subject_id: person.id,
    severity: "low",
    reason_public: "Spoke out of turn.",
    reason_internal: "Seen by X.",
  };
  const { id } = (await done(world.post("/blacklist", listing, { actor: owner }))).data;
  await done(world.patch(`/blacklist/${id}`, { severity: "medium" }, { actor: owner }));
  await done(world.delete(`/blacklist/${id}`, { reason: "Served its time." }, { actor: owner }));
  const filed = await done(world.post("/workflows/punishment", { ...filing("punishment"), user_id: person.id }, { actor: requester }));
  const word = { decision: "deny", reason: "There is not enough to go on." };
  await done(world.post(`/workflows/punishment/${filed.reference}/decision`, word, { actor: owner }));
  const investigation = { ...filing("investigation"), subject: { kind: "user", id: person.id }, confidential: true };
  const hidden = await done(world.post("/workflows/investigation", investigation, { actor: requester }));
  const quarrel = { title: "Behind closed doors", subjects: [{ kind: "user", id: person.id }] };
  const opened = await done(world.post("/cases", quarrel, { actor: owner }));
  await done(world.post(`/cases/${opened.data.id}/close`, { outcome: "resolved", reason: "They made up." }, { actor: owner }));
  await done(world.post(`/staff/${person.id}/suspend`, { reason: "Until it is clear." }, { actor: admin }));
  await done(world.post(`/staff/${person.id}/reinstate`, { reason: "It is clear now." }, { actor: admin }));
  world.guild.timeout(person, 60, { by: owner, reason: "Until it is quiet." });
  await settled(world);
  cast = { owner, requester, person, record: id, request: filed.reference, hidden: hidden.reference };
});

type Entry = Record<string, string>;
const ask = (userId: string, asked: AskOptions, query = ""): Promise<Answer> =>
  shared.world.get(`/users/${userId}/timeline?limit=200&${query}`, asked);

async function entriesOf(userId: string, asked: AskOptions, query = ""): Promise<Entry[]> {
  const { status, body } = await ask(userId, asked, query);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}
const kindsIn = (entries: readonly Entry[]): string[] => [...new Set(entries.map(({ kind }) => kind ?? ""))].toSorted();

test("the history tells what happened, newest first, in plain words and without what strangers or deciders wrote", async () => {
  const { owner, person, requester, record, request } = scene();
  const entries = await entriesOf(person.id, { actor: owner });
  const told = entries.map(({ kind, event }) => `${kind}.${event}`);
  for (const expected of [
    "authorization.requested",
    "authorization.granted",
    "match.opened",
    "match.closed",
    "blacklist.created",
    "blacklist.changed",
    "blacklist.revoked",
    "request.filed",
    "request.decided",
    "case.opened",
    "case.closed",
    "staff.suspended",
    "staff.reinstated",
    "native_action.timeout",
  ])
    expect(told).toContain(expected);
  const times = entries.map(({ at = "" }) => at);
  expect(times).toEqual(times.toSorted().toReversed());
  const find = (event: string) => entries.find((entry) => `${entry["kind"]}.${entry["event"]}` === event);
  expect(find("blacklist.created")).toMatchObject({ record_id: record, actor_id: owner.id, user_id: person.id });
  expect(find("blacklist.created")?.["summary"]).toContain("Spoke out of turn.");
  expect(find("request.decided")).toMatchObject({ reference: request, actor_id: owner.id });
  expect(find("authorization.requested")).toMatchObject({ actor_id: requester.id });
  expect(find("match.opened")?.["reference"]).toMatch(/^BL-\d{6}$/);
  const text = JSON.stringify(entries);
  for (const secret of ["Seen by X", "Raid", "not enough to go on", "Until it is clear", "Served its time", "Behind closed", "made up"])
    expect(text).not.toContain(secret);
});

describe("everybody sees the kinds they may read, and no others", () => {
  const seen: Record<Level, readonly string[]> = {
    viewer: ["authorization"],
    moderator: ["authorization", "blacklist", "link", "match", "native_action", "request"],
    senior: ["authorization", "blacklist", "case", "link", "match", "native_action", "request", "staff"],
    admin: ["authorization", "blacklist", "case", "link", "match", "native_action", "request", "staff"],
    owner: ["authorization", "blacklist", "case", "link", "match", "native_action", "request", "staff"],
  };

  test.each(Object.entries(seen))("as %s", async (level, kinds) => {
    const { world } = shared;
    const { owner, person } = scene();
    const link = {
      user_id: world.member().id,
      confidence: "probable",
      kind: "declared_alt",
      basis: [{ type: "admission", note: "Said so." }],
    };
    await done(world.post(`/users/${person.id}/links`, link, { actor: owner }));
    const reader = await world.staff(level as Level);
    const entries = await entriesOf(person.id, { actor: reader }, "count=true");
    expect(kindsIn(entries)).toEqual(kinds);
    // Neither asking for a kind nor counting shows more.
    for (const kind of seen.owner) {
      const { body } = await ask(person.id, { actor: reader }, `kind=${kind}&count=true`);
      expect(body.page.total).toBe(entries.filter((entry) => entry["kind"] === kind).length);
      expect(body.data.length > 0).toBe(kinds.includes(kind));
    }
  });

  test("as a key: its scopes decide, and records behind matches are named only with blacklist.read", async () => {
    const { world } = shared;
    const key = await world.makeKey(["users.*"], "none");
    const entries = await entriesOf(scene().person.id, { key });
    expect(kindsIn(entries)).toEqual(["authorization", "link", "match"]);
    expect(entries.filter(({ kind }) => kind === "match").every((entry) => !("reference" in entry))).toBe(true);
    const narrow = await world.makeKey(["blacklist.*"], "none");
    expect((await ask(scene().person.id, { key: narrow })).body).toMatchObject({ required: "users.authorization.read", missing_in: "key" });
  });

  test("and one's own history is not for oneself", async () => {
    const member = shared.world.member();
    expect((await ask(member.id, { actor: member })).body.code).toBe("acting_user_not_staff");
    const { person } = scene();
    expect(kindsIn(await entriesOf(person.id, { actor: person }))).toEqual(["authorization"]);
  });

  test("and every source belongs to a kind", () => {
    expect([...new Set(sources.map(({ kind }) => kind))].toSorted()).toEqual([...seen.owner].toSorted());
    expect(new Set(sources.map(({ name }) => name)).size).toBe(sources.length);
  });
});

test("a confidential investigation is in the history for those who may know of it, and not even counted for others", async () => {
  const { world } = shared;
  const { owner, requester, person, hidden } = scene();
  const [colleague, senior] = [await world.staff("moderator"), await world.staff("senior")];
  const about = async (asked: AskOptions) => {
    const { body } = await ask(person.id, asked, "kind=request&count=true");
    return { isThere: JSON.stringify(body).includes(hidden), total: body.page.total };
  };
  expect(await about({ actor: requester })).toEqual({ isThere: true, total: 3 });
  expect(await about({ actor: owner })).toEqual({ isThere: true, total: 3 });
  for (const actor of [colleague, senior]) expect(await about({ actor })).toEqual({ isThere: false, total: 2 });
  const key = await world.makeKey(["users.*", "workflows.*"]);
  expect(await about({ actor: owner, key })).toEqual({ isThere: false, total: 2 });
});

describe("with the accounts of the same person", () => {
  test("each entry names its account; suspected and probable accounts stay apart", async () => {
    const { world } = shared;
    const { owner } = scene();
    const ids = Array.from({ length: 4 }, () => world.member().id);
    const [main = "", alt = "", maybe = "", second = ""] = ids;
    for (const id of ids) await done(world.post("/blacklist", { kind: "user", subject_id: id, severity: "low" }, { actor: owner }));
    const basis = [{ type: "admission", note: "Said so." }];
    for (const [from, to, confidence] of [
      [main, alt, "confirmed"],
      [alt, second, "confirmed"],
      [main, maybe, "probable"],
    ] as const)
      await done(world.post(`/users/${from}/links`, { user_id: to, confidence, kind: "declared_alt", basis }, { actor: owner }));
    const moderator = await world.staff("moderator");
    const accounts = async (query: string) => {
      const entries = await entriesOf(main, { actor: moderator }, `kind=blacklist&${query}`);
      return entries.map((entry) => entry["user_id"] ?? "").toSorted();
    };
    expect(await accounts("")).toEqual([main]);
    expect(await accounts("include_alts=false")).toEqual([main]);
    expect(await accounts("include_alts=true")).toEqual([main, alt, second].toSorted());
    // A link inside the group is told once.
    const links = await entriesOf(main, { actor: moderator }, "kind=link&include_alts=true");
    expect(links).toHaveLength(3);
  });

  test("only for those who may read links", async () => {
    const { world } = shared;
    const viewer = await world.staff("viewer");
    const { status, body } = await ask(scene().person.id, { actor: viewer }, "include_alts=true");
    expect([status, body]).toMatchObject([403, { required: "users.links.read", missing_in: "acting_user" }]);
  });
});

test("who never granted anything is not told to have had a grant", async () => {
  const { world } = shared;
  const { owner, requester } = scene();
  const { id } = world.member();
  await done(world.post("/authorize/sessions", { discord_user_id: id }, { actor: requester }));
  await done(world.delete(`/users/${id}/authorization`, { reason: "Asked the wrong person." }, { actor: owner }));
  const summaries = (await entriesOf(id, { actor: owner })).map(({ event, summary }) => `${event}: ${summary}`);
  expect(summaries).toContain("revoked: Access, or being asked for it, was taken back.");
  expect(JSON.stringify(summaries)).not.toContain("grant");
});

test("a deletion that a restored backup had forgotten is in the history, too", async () => {
  const { world } = shared;
  const { id } = world.member();
  const target = { kind: "user", id };
  await write(world, async (tx) => createRecorder()(tx, { action: "user.erase_again", target, subjectUserId: id }));
  expect(await entriesOf(id, { actor: scene().owner })).toMatchObject([{ kind: "authorization", event: "erased", user_id: id }]);
});

test("a record about a linked account is named only to those who may read links: it would say which account", async () => {
  const { world } = shared;
  const { owner, requester } = scene();
  const [main, alt] = [world.member(), world.member()];
  await authorize(world, main, { by: requester });
  const basis = [{ type: "admission", note: "Said so." }];
  const link = { user_id: alt.id, confidence: "confirmed", kind: "declared_alt", basis };
  await done(world.post(`/users/${main.id}/links`, link, { actor: owner }));
  const { number } = (await done(world.post("/blacklist", { kind: "user", subject_id: alt.id, severity: "low" }, { actor: owner }))).data;
  const matchesFor = async (scopes: string[]) => await entriesOf(main.id, { key: await world.makeKey(scopes, "none") }, "kind=match");
  const scopes = ["users.authorization.read", "users.matches.read", "blacklist.read"];
  expect(await matchesFor([...scopes, "users.links.read"])).toMatchObject([{ event: "opened", reference: number }]);
  const [told, ...more] = await matchesFor(scopes);
  expect([told?.["event"], more]).toEqual(["opened", []]);
  expect(JSON.stringify(told)).not.toContain(number);
});

test.each([
  ["kind=cases", "/kind"],
  ["kind=match,", "/kind"],
  ["include_alts=yes", "/include_alts"],
  ["to=9999-01-01T00:00:00.000Z", "/to"],
])("a filter that means nothing is refused: %s", async (query, pointer) => {
  const { owner, person } = scene();
  const { status, body } = await ask(person.id, { actor: owner }, query);
  expect([status, body]).toMatchObject([422, { errors: [{ pointer, in: "query" }] }]);
});
