import { expect, test } from "vitest";
import { ZodError } from "zod";
import { createPeopleGround, guilds, type PeopleGround } from "./people-ground.ts";
import { freshId } from "./workflows-ground.ts";
import { understand } from "../../src/features/workflows/requests/intake.ts";
import { kinds } from "../../src/features/workflows/kinds/kinds.ts";
import type { WorkflowKind } from "../../src/kernel/vocabulary.ts";
import { worded } from "../../src/kit/say.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld } from "../support/world.ts";

// Row C1: an act that a client limits to one server never reaches another one.

const user = "80351110224678912";
const [harbour, bay] = guilds;
const elsewhere = "799999999999999999";
const reason = "Led the raid of last night.";
const ban = { user_id: user, action: "ban", reason };
const listing = { user_id: user, category: "raid", severity: "high", reason };

const placeIn = (kind: WorkflowKind, body: object) => {
  const { payload, extra } = understand(kinds[kind], body);
  expect(Object.keys(extra).filter((name) => name !== "reason")).toEqual([]);
  return payload;
};

function refusedIn(kind: WorkflowKind, body: object): { path: string; message: string }[] {
  try {
    understand(kinds[kind], body);
  } catch (error) {
    if (!(error instanceof ZodError)) throw error;
    return error.issues.map(({ path, message }) => ({ path: `/${path.map(String).join("/")}`, message }));
  }
  return [];
}

test.each([
  { guild_id: harbour },
  { server_id: harbour },
  { guild_ids: [harbour] },
  { server_ids: [harbour] },
  { guild_ids: harbour },
  { guildId: harbour },
  { ServerIDs: [harbour] },
  { "guild-id": harbour },
  { discord: { guild_id: harbour } },
  { discord: { serverIds: [harbour] } },
  { guild_id: harbour, server_ids: [harbour], discord: { guild_ids: [harbour] } },
])("C1: %j names the server of a punishment, a record and their wrapped bodies", (place) => {
  const { discord, ...flat } = place as { discord?: object };
  expect(placeIn("punishment", { ...ban, ...place })["discord"]).toEqual({ action: "none", guild_ids: [harbour] });
  expect(placeIn("punishment", { payload: { ...ban, ...place } })["discord"]).toEqual({ action: "none", guild_ids: [harbour] });
  if (discord !== undefined) return;
  expect(placeIn("blacklist-user", { ...listing, ...flat })).toMatchObject({ scope: "servers", server_ids: [harbour] });
});

test("C1: every other kind that has a place takes it under the same names", () => {
  const ofServer = { category: "raiding", severity: "high", member_policy: "flag", reason };
  for (const name of ["guild_id", "guildIds", "server_ids", "serverId"])
    expect(placeIn("blacklist-server", { [name]: name.toLowerCase().endsWith("s") ? [harbour] : harbour, ...ofServer })).toMatchObject({
      server_id: harbour,
    });
  expect(placeIn("investigation", { guild_id: harbour, reason })).toMatchObject({ subject: { kind: "server", id: harbour } });
  expect(placeIn("investigation", { serverIds: [harbour], reason })).toMatchObject({ subject: { kind: "server", id: harbour } });
  expect(placeIn("poach", { kind: "agreement", guild_ids: [harbour, bay] })).toMatchObject({ party_server_ids: [harbour, bay] });
  const report = { kind: "report", victim_server_id: bay, occurred_at: "2026-11-20T10:00:00.000Z" };
  expect(placeIn("poach", { ...report, guildId: harbour })).toMatchObject({ offending_server_id: harbour });
});

test.each([
  [{ guild_id: harbour, server_id: bay }, "/server_id"],
  [{ guild_ids: [harbour], discord: { guild_ids: [harbour, bay] } }, "/discord/guild_ids"],
  [{ payload: { guildId: harbour }, serverIds: [bay] }, "/payload/guildId"],
  [{ guild_id: harbour, everywhere: true }, "/everywhere"],
  [{ discord: { guild_ids: [harbour], everywhere: true } }, "/discord/everywhere"],
])("C1: %j disagrees and is refused", (place, path) => {
  expect(refusedIn("punishment", { ...ban, ...place }).map((issue) => issue.path)).toEqual([path]);
  expect(refusedIn("punishment", { ...ban, guild_ids: [harbour, bay], server_ids: [bay, harbour] })).toEqual([]);
});

test.each<[WorkflowKind, string, string]>([
  ["punishment", "channelId", "origin"],
  ["punishment", "ban_length", "duration"],
  ["punishment", "durationn", "duration"],
  ["punishment", "bannedUser", "user_id"],
  ["punishment", "expires_at", "appeal_until"],
  ["punishment", "penalty", "action"],
  ["recruitment", "guild_id", "origin"],
  ["appeal", "server_ids", "origin"],
  ["blacklist-user", "expires_on_date", "review_after"],
])("C1: a request of %s refuses %s, which it does not know, and names what is near", (kind, name, near) => {
  const [refused, ...others] = refusedIn(kind, { ...kinds[kind].example, [name]: "x" });
  expect(others).toEqual([]);
  expect(refused?.path).toBe(`/${name}`);
  const words = worded(refused?.message ?? "");
  expect(words).toMatch(/such as .+\./);
  if (near !== "origin") expect(words).toContain(near);
});

test("names that speak of nothing of the kind are kept as they were", () => {
  const kept = { ticketNo: 7, notes: "From the form.", source: "site", locale: "de" };
  expect(understand(kinds.punishment, { ...ban, guild_id: harbour, ...kept }).extra).toEqual(kept);
});

const servers = [
  { id: harbour, name: harbour },
  { id: bay, name: bay },
];
const post = (ground: PeopleGround, body: object, path = "punishment") =>
  ground.post(`/workflows/${path}`, body, { actor: ground.requester });
const stored = async (ground: PeopleGround) =>
  (await ground.database.read.workflowRequest.findMany({ orderBy: { id: "asc" } })).map(({ payload }) => payload as { discord: object });

test("C1: an act in Discord that names no server is refused with the servers there are, and is written nowhere", async () => {
  const ground = await createPeopleGround();
  for (const body of [
    ban,
    { ...ban, action: "kick" },
    { ...ban, action: "timeout", duration: "P1D" },
    { ...ban, action: "unban" },
    { ...ban, action: "note", discord: { action: "role_remove" } },
    { ...ban, action: "note", discord: { action: "ban", guild_ids: [] } },
    { ...ban, on_duplicate: "join" },
    { payload: { ...ban, everywhere: false } },
  ]) {
    const answer = await post(ground, body);
    expect(answer.status, JSON.stringify(body)).toBe(422);
    const { errors, example } = answer.body as { errors: object[]; example: object };
    expect(answer.body).toMatchObject({ code: "validation_failed", servers, example: { user_id: user, guild_ids: [harbour] } });
    expect(errors).toMatchObject([{ pointer: "payload" in body ? "/payload/guild_ids" : "/guild_ids", code: "required" }]);
    expect(JSON.stringify(errors)).toContain(`${harbour} (${harbour})`);
    // What it shows is accepted as it stands.
    expect((await post(ground, { ...example, user_id: freshId() })).status).toBe(201);
  }
  expect((await stored(ground)).map(({ discord }) => discord)).toEqual(
    Array.from({ length: 8 }, () => expect.objectContaining({ guild_ids: [harbour] }) as object),
  );
  for (const action of ["warning", "note", "strike"]) expect((await post(ground, { ...ban, user_id: freshId(), action })).status).toBe(201);
});

test("C1: a server that is not served is refused by name", async () => {
  const ground = await createPeopleGround();
  for (const [body, pointer] of [
    [{ guild_id: elsewhere }, "/guild_id"],
    [{ discord: { guild_ids: [harbour, elsewhere] } }, "/discord/guild_ids/1"],
  ] as const) {
    const answer = await post(ground, { ...ban, ...body });
    expect([answer.status, answer.body.errors]).toMatchObject([422, [{ pointer, code: "unknown_server" }]]);
    expect(answer.body.errors[0].detail).toContain(elsewhere);
    expect(answer.body.servers).toEqual(servers);
  }
  expect(await stored(ground)).toEqual([]);
});

test("C1: a ban that names a server bans there and nowhere else, and says so before and after", async () => {
  const ground = await createPeopleGround();
  const filed = await ground.file("punishment", { ...ban, user_id: ground.person(guilds), guild_id: bay, duration: "P14D" });
  expect(filed.effects_preview.find(({ key }) => key === "discord.punish")?.detail).toBe(`On approval: ban from ${bay}, 14 days.`);
  expect(await ground.view("punishment", filed.reference)).toMatchObject({
    place: { everywhere: false, servers: [{ id: bay, name: bay }] },
  });
  const { effects } = await ground.approve("punishment", filed.reference);
  expect(effects.filter(({ key }: { key: string }) => key === "discord.punish")).toMatchObject([
    { status: "pending", target: { kind: "server", id: bay }, detail: `Ban from ${bay}.` },
  ]);
});

test("C1: everywhere is said, and means every server the bot is in", async () => {
  const ground = await createPeopleGround();
  const filed = await ground.file("punishment", { ...ban, user_id: ground.person(guilds), everywhere: true });
  expect(filed.effects_preview.find(({ key }) => key === "discord.punish")?.detail).toBe(
    `On approval: ban from all servers (${harbour} and ${bay}), permanently.`,
  );
  expect(await ground.view("punishment", filed.reference)).toMatchObject({ place: { everywhere: true, servers } });
  const { effects } = await ground.approve("punishment", filed.reference);
  expect(effects.flatMap(({ key, detail }: { key: string; detail: string }) => (key === "discord.punish" ? [detail] : []))).toEqual([
    `Ban from ${harbour}.`,
    `Ban from ${bay}.`,
  ]);
});

test("a pending request of an earlier version that names no server keeps meaning all of them", async () => {
  const ground = await createPeopleGround();
  const filed = await ground.file("punishment", { ...ban, user_id: ground.person(guilds), guild_id: bay });
  const { payload } = await ground.database.read.workflowRequest.findUniqueOrThrow({ where: { id: filed.id } });
  const old = { ...(payload as object), discord: { action: "none", guild_ids: [] } };
  await ground.write((db) => db.workflowRequest.update({ where: { id: filed.id }, data: { payload: old } }));
  const amend = (changes: object) => ground.patch(`/workflows/punishment/${filed.reference}`, changes, { actor: ground.requester });
  expect((await amend({ payload: { reason: "Led the raid of the night before." } })).status).toBe(200);
  expect(await ground.view("punishment", filed.reference)).toMatchObject({ place: { everywhere: true, servers } });
  const { effects } = await ground.approve("punishment", filed.reference);
  expect(effects.filter(({ key }: { key: string }) => key === "discord.punish")).toHaveLength(2);
});

test("C1: an amendment that changes the act or its servers says where it applies", async () => {
  const ground = await createPeopleGround();
  const { id, reference } = await ground.file("punishment", { ...ban, user_id: ground.person(guilds), action: "warning" });
  const amend = (payload: object) => ground.patch(`/workflows/punishment/${reference}`, { payload }, { actor: ground.requester });
  const discord = async () =>
    ((await ground.database.read.workflowRequest.findUniqueOrThrow({ where: { id } })).payload as { discord: object }).discord;
  const refused = await amend({ action: "ban" });
  expect([refused.status, refused.body]).toMatchObject([422, { servers, example: { payload: { action: "ban", guild_ids: [harbour] } } }]);
  expect(refused.body.errors).toMatchObject([{ pointer: "/payload/guild_ids", code: "required" }]);
  expect(await discord()).toEqual({ action: "none", guild_ids: [] });

  expect((await amend({ action: "ban", guild_id: bay })).status).toBe(200);
  expect(await discord()).toEqual({ action: "none", guild_ids: [bay] });
  expect((await amend({ action: "kick" })).status).toBe(200);
  expect(await discord()).toEqual({ action: "none", guild_ids: [bay] });
  expect((await amend({ everywhere: true })).status).toBe(200);
  expect(await discord()).toEqual({ action: "none", guild_ids: [], everywhere: true });
  expect((await amend({ server_ids: [harbour] })).status).toBe(200);
  expect(await discord()).toEqual({ action: "none", guild_ids: [harbour] });
  expect((await amend({ server_id: elsewhere })).body.errors).toMatchObject([{ pointer: "/payload/server_id", code: "unknown_server" }]);
  expect((await amend({ discord: { action: "none", guild_ids: [] } })).status).toBe(422);
  expect(await discord()).toEqual({ action: "none", guild_ids: [harbour] });
});

test("C1: what holds in every server cannot be limited to one", async () => {
  const ground = await createPeopleGround();
  for (const action of ["suspension", "termination", "probation"]) {
    const answer = await post(ground, { ...ban, action, guild_id: bay });
    expect([answer.status, answer.body.errors]).toMatchObject([422, [{ pointer: "/guild_id", code: "not_offered" }]]);
  }
  expect(await stored(ground)).toEqual([]);
});

test("C1: a record is limited to any servers, which its preview names", async () => {
  const ground = await createPeopleGround();
  const partner = freshId();
  await ground.write((db, now) =>
    db.server.create({ data: { id: partner, hash: partner, status: "partner", contacts: [], tags: [], createdAt: now, updatedAt: now } }),
  );
  const filed = await ground.file("blacklist-user", { ...listing, guild_ids: [bay, partner] });
  expect(filed.effects_preview.find(({ key }) => key === "blacklist.create")?.detail).toBe(
    `The subject is put on the blacklist of ${bay} and server ${partner}; an active record there is strengthened instead.`,
  );
  const unknown = await post(ground, { ...listing, user_id: freshId(), guild_id: elsewhere }, "blacklist-user");
  expect([unknown.status, unknown.body.code]).toEqual([201, undefined]);
  const both = await post(ground, { ...listing, user_id: freshId(), guild_id: bay, scope: "network" }, "blacklist-user");
  expect([both.status, both.body.errors]).toMatchObject([422, [{ pointer: "/guild_id", code: "conflicting_fields" }]]);
});

test("an installation with one server means that one", async () => {
  const world = await createWorld();
  const [filer, subject] = [await world.staff("admin"), world.member()];
  const filed = await world.post("/workflows/punishment", { ...ban, user_id: subject.id, duration: "P2D" }, { actor: filer });
  expect(filed.status).toBe(201);
  const previews = filed.body.effects_preview as { key: string; detail: string }[];
  expect(previews.find(({ key }) => key === "discord.punish")?.detail).toBe("On approval: ban from Harbour, 2 days.");
  const { body } = await world.get(`/workflows/punishment/${filed.body.reference as string}`, { actor: filer });
  expect(body.data).toMatchObject({
    payload: { discord: { guild_ids: [world.guild.id] } },
    place: { everywhere: false, servers: [{ id: world.guild.id, name: "Harbour" }] },
  });
});

test("C1: a slash command acts in its own server, unless it names others or all", async () => {
  const world = await createWorld({ furtherGuilds: ["North Bay"] });
  const [further] = world.furtherGuilds;
  const filer = await staffAtConsole(world, "admin");
  const door = world.sandbox.as(filer).in(world.guild);
  const file = async (options: Record<string, string>) => {
    const subject = world.member();
    const run = await door.runSlashCommand("request punishment", { user: subject, action: "ban", ...options });
    const reply = JSON.stringify(await (await run.submitModal({ reason })).reply());
    const { body } = await world.get(`/workflows?subject=${subject.id}`, { actor: filer });
    return { reply, place: (body.data as { place: { everywhere: boolean; servers: { id: string }[] } }[])[0]?.place };
  };
  const own = await file({});
  expect(own.place).toEqual({ everywhere: false, servers: [{ id: world.guild.id, name: "Harbour" }] });
  expect(own.reply).toContain("ban from Harbour, permanently");
  const named = await file({ servers: "north bay" });
  expect(named.place).toEqual({ everywhere: false, servers: [{ id: further?.id, name: "North Bay" }] });
  expect(named.reply).not.toContain("Harbour");
  const both = await file({ servers: `Harbour, ${further?.id ?? ""}` });
  expect(both.place?.servers.map(({ id }) => id)).toEqual([world.guild.id, further?.id]);
  expect((await file({ servers: "all" })).place).toMatchObject({ everywhere: true });
  const subject = world.member();
  const unknown = await door.runSlashCommand("request punishment", { user: subject, action: "ban", servers: "South Bay" });
  expect(JSON.stringify(await unknown.reply())).toContain("South Bay");
  expect((await world.get(`/workflows?subject=${subject.id}`, { actor: filer })).body.data).toEqual([]);
});
