import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { inWords } from "../../src/kit/say.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { authorize, shareWorld } from "../contract/world.ts";
import { runsOf } from "../support/size.ts";

const time = { offset: 0 };
const clock = { now: () => new Date(Date.now() + time.offset) };
const shared = shareWorld({ clock });
const cast: { owner: User; viewer: User } = {} as never;
beforeAll(async () => {
  cast.owner = await shared.world.staff("owner");
  cast.viewer = await shared.world.staff("viewer");
});

const day = 86_400_000;
const at = (days: number): Date => new Date(clock.now().getTime() + days * day);
const registry = () => shared.world.app.registry;
const read = () => shared.world.app.database.read;
const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => shared.world.app.database.write(systemCall("job", "test"), work);
const sweep = () => registry().sweep(systemCall("job", "sweep"));
/** What an effect keeps has been through JSON. */
const kept = ({ undo }: { undo: unknown }): unknown => JSON.parse(JSON.stringify(undo));
const note = { reason: "Taken back.", permission: "workflows.server-merge.reverse" };
const cause = { permission: "workflows.server-merge.decide", reason: "Approval of SMR-REQ-000001" };

const merge = (sourceId: string, targetId: string) =>
  write((tx) => registry().mergeInTx(tx, { sourceId, targetId, permission: cause.permission, causeReference: "SMR-REQ-000001" }));
const part = (done: { undo: unknown }) => write((tx) => registry().undoMergeInTx(tx, kept(done), note));
const suspend = (ids: string[], reference = "BLS-REQ-000001") =>
  write((tx) => registry().suspendAgreementsInTx(tx, ids, { reference, ...cause }));
const resume = (done: { undo: unknown }) => write((tx) => registry().undoSuspendAgreementsInTx(tx, kept(done), note));
const repoint = (from: string, into: string) => write((tx) => registry().repointAgreementsInTx(tx, from, into, cause));
const pointBack = (done: { undo: unknown }) => write((tx) => registry().undoRepointInTx(tx, kept(done), note));
async function agree(serverIds: string[], dates: { startsAt?: Date; endsAt?: Date } = {}): Promise<string> {
  const draft = { serverIds, covers: "both", coolingOffDays: 30, createdBy: null, permission: "system.act", ...dates } as const;
  const made = await write((tx) => registry().createAgreementInTx(tx, draft));
  if (made === null) throw new Error("no agreement");
  return made.id;
}
const register = async (body: object = {}): Promise<string> => {
  const answer = await shared.world.post("/servers", { id: freshId(), ...body }, { actor: cast.owner });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data.id;
};
const server = async (id: string) => (await shared.world.get(`/servers/${id}`, { actor: cast.viewer })).body.data;
const agreement = async (serverId: string) =>
  (await shared.world.get(`/servers/${serverId}/agreements`, { actor: cast.viewer })).body.data?.[0];
const actionsOf = async (targetId: string) =>
  (await read().auditEntry.findMany({ where: { targetId }, orderBy: { seq: "asc" } })).map(({ action }) => action);
const matchesOf = async (userId: string) =>
  (await read().match.findMany({ where: { userId, closedAt: null }, orderBy: { id: "asc" } })).map(({ kind, recordId }) => [
    kind,
    recordId,
  ]);

/** Somebody who has shown that they are in a server. */
async function memberOf(name: string) {
  const { world } = shared;
  const [guild, person] = [world.sandbox.createGuild({ name, withBot: false }), world.member()];
  guild.addMember(person);
  await authorize(world, person, { by: cast.owner });
  return { guild: guild.id, person: person.id };
}

describe("a merger that a request leads to", () => {
  test("registers both servers, and records about one concern members of the other until it is taken back", async () => {
    const { guild: source, person } = await memberOf("Quarry");
    const target = freshId();
    const listed = await shared.world.post("/blacklist", { kind: "server", subject_id: target }, { actor: cast.owner });
    expect(await matchesOf(person)).toEqual([]);
    const done = await merge(source, target);
    expect([await server(source), (await server(target)).status]).toMatchObject([{ status: "merged", merged_into: target }, "known"]);
    expect(await matchesOf(person)).toEqual([["merged_server", listed.body.data.id]]);
    expect(await part(done)).toMatchObject({ restored: true });
    expect([await server(source), await matchesOf(person)]).toMatchObject([{ status: "known" }, []]);
    expect(await server(source)).not.toHaveProperty("merged_into");
    expect(await part(done)).toMatchObject({ restored: false });
    expect(await actionsOf(source)).toEqual(["server.create", "server.update", "server.update"]);
    const used = await read().auditEntry.findMany({ where: { targetId: source }, orderBy: { seq: "asc" } });
    expect(used.map(({ permissionUsed }) => permissionUsed)).toEqual([cause.permission, cause.permission, note.permission]);
  });

  test("goes by aliases, and brings back the status there was", async () => {
    const alias = freshId();
    const [source, target] = [await register({ aliases: [alias], status: "partner" }), await register({ status: "member" })];
    const done = await merge(alias, target);
    expect(await server(alias)).toMatchObject({ id: source, status: "merged", merged_into: target });
    await part(done);
    expect((await server(source)).status).toBe("partner");
  });

  test("is refused where it makes no sense, and nothing is written", async () => {
    const alias = freshId();
    const [a, b, c, gone] = [await register({ aliases: [alias] }), await register(), await register(), await register()];
    await shared.world.patch(`/servers/${gone}`, { status: "defunct" }, { actor: cast.owner });
    await merge(a, b);
    const servers = await read().server.findMany({ orderBy: { id: "asc" } });
    const refused = [
      [c, c],
      [b, a],
      [c, alias],
      [a, c],
      [c, gone],
      [freshId(), gone],
    ];
    for (const [source = "", target = ""] of refused)
      await expect(merge(source, target), `${source} into ${target}`).rejects.toMatchObject({ code: "invalid_transition" });
    expect(await read().server.findMany({ orderBy: { id: "asc" } })).toEqual(servers);
  });

  test("that somebody has changed since stays as it is", async () => {
    const [a, b, c] = [await register(), await register(), await register()];
    const done = await merge(a, b);
    await shared.world.patch(`/servers/${a}`, { status: "merged", merged_into: c }, { actor: cast.owner });
    expect(await part(done)).toMatchObject({ restored: false });
    expect(await server(a)).toMatchObject({ status: "merged", merged_into: c });
  });
});

test("the facts of a plan change with what it depends on, and with nothing else", async () => {
  const [source, target, other] = [freshId(), await register({ status: "partner" }), freshId()];
  const until = await agree([source, other], { endsAt: at(10) });
  const facts = (when?: Date) => registry().mergeFacts(read(), source, target, when);
  const before = await facts();
  expect(before).toEqual({
    source: { id: source, status: "known", merged_into: null, aliases: [] },
    target: { id: target, status: "partner", merged_into: null, aliases: [] },
    agreements: [until],
  });
  expect((await facts(at(11))).agreements).toEqual([]);
  await register({ id: source });
  await shared.world.patch(`/servers/${target}`, { name: "Quarry", tags: ["racing"] }, { actor: cast.owner });
  expect(await facts()).toEqual(before);
  const changes: [change: () => Promise<unknown>, back: () => Promise<unknown>][] = [
    [
      () => shared.world.patch(`/servers/${source}`, { aliases: [other] }, { actor: cast.owner }),
      () => shared.world.patch(`/servers/${source}`, { aliases: [] }, { actor: cast.owner }),
    ],
    [
      () => shared.world.patch(`/servers/${target}`, { status: "watched" }, { actor: cast.owner }),
      () => shared.world.patch(`/servers/${target}`, { status: "partner" }, { actor: cast.owner }),
    ],
    [() => merge(source, target), () => shared.world.patch(`/servers/${source}`, { status: "known" }, { actor: cast.owner })],
    [() => write((tx) => registry().endAgreementInTx(tx, until, note)), () => Promise.resolve()],
  ];
  for (const [change, back] of changes) {
    await change();
    expect(await facts()).not.toEqual(before);
    await back();
    if (change !== changes.at(-1)?.[0]) expect(await facts()).toEqual(before);
  }
});

describe("an agreement that requests suspend", () => {
  test("counts for nothing until the last of them is taken back", async () => {
    const { guild, person } = await memberOf("Mine");
    const id = await agree([guild, shared.world.guild.id]);
    expect(await matchesOf(person)).toEqual([["no_poach", id]]);
    const first = await suspend([guild]);
    expect(first.ids).toEqual([id]);
    expect([(await agreement(guild)).status, await matchesOf(person)]).toEqual(["suspended", []]);
    const second = await suspend([guild], "BLS-REQ-000002");
    expect((await suspend([guild], "BLS-REQ-000002")).ids).toEqual([]);
    expect(await resume(first)).toMatchObject({ restored: true });
    expect([(await agreement(guild)).status, await matchesOf(person)]).toEqual(["suspended", []]);
    expect(await resume(second)).toMatchObject({ restored: true });
    expect([(await agreement(guild)).status, await matchesOf(person)]).toEqual(["active", [["no_poach", id]]]);
    expect([await resume(first), await resume(second)]).toMatchObject([{ restored: false }, { restored: false }]);
    expect(await actionsOf(id)).toEqual(["agreement.create", "agreement.suspend", "agreement.resume"]);
    expect(JSON.stringify(await agreement(guild))).not.toContain("BLS-REQ");
  });

  test("is found by every id of a server, also before it begins; one of other servers is left alone", async () => {
    const alias = freshId();
    const [mine, other, third] = [await register({ aliases: [alias] }), freshId(), freshId()];
    const [planned] = [await agree([alias, other], { startsAt: at(2) }), await agree([other, third])];
    const done = await suspend([mine]);
    expect(done.ids).toEqual([planned]);
    expect((await agreement(third)).status).toBe("active");
    await resume(done);
    expect((await agreement(mine)).status).toBe("scheduled");
  });

  test("ends by its date or by hand, and is not revived", async () => {
    const [a, b, c, d] = [freshId(), freshId(), freshId(), freshId()];
    const [dated, endless] = [await agree([a, b], { endsAt: at(3) }), await agree([c, d])];
    const done = await suspend([a, c]);
    expect(done.ids).toEqual([dated, endless].toSorted());
    await write((tx) => registry().endAgreementInTx(tx, endless, note));
    time.offset += 4 * day;
    expect((await agreement(a)).status).toBe("ended");
    await sweep();
    expect(inWords(await resume(done))).toMatchObject({ restored: false, detail: expect.stringContaining("0 of 2") });
    const rows = await read().agreement.findMany({ where: { id: { in: done.ids } } });
    expect(rows.map(({ status }) => status)).toEqual(["ended", "ended"]);
  });
});

describe("agreements of a server that became part of another", () => {
  test("name the other one, or end where nobody is left to agree with", async () => {
    const { guild: into, person } = await memberOf("Into");
    const [from, other] = [freshId(), shared.world.guild.id];
    const [moved, between] = [await agree([from, other]), await agree([from, into])];
    const done = await repoint(from, into);
    expect(await agreement(other)).toMatchObject({ id: moved, status: "active", server_ids: [into, other].toSorted() });
    expect(await matchesOf(person)).toEqual([["no_poach", moved]]);
    expect((await read().agreement.findUnique({ where: { id: between } }))?.status).toBe("ended");
    expect(await pointBack(done)).toMatchObject({ restored: true });
    expect(await agreement(other)).toMatchObject({ status: "active", server_ids: [from, other].toSorted() });
    expect(await agreement(into)).toMatchObject({ id: between, status: "active", server_ids: [from, into].toSorted(), ended: null });
    expect(await matchesOf(person)).toEqual([]);
    expect(await pointBack(done)).toMatchObject({ restored: false });
    expect(await actionsOf(between)).toEqual(["agreement.create", "agreement.end", "agreement.resume"]);
  });

  test("stay as somebody has left them since", async () => {
    const [from, into, other] = [freshId(), freshId(), freshId()];
    const id = await agree([from, other]);
    const done = await repoint(from, into);
    await write((tx) => registry().endAgreementInTx(tx, id, note));
    expect(await pointBack(done)).toMatchObject({ restored: false });
    expect(await agreement(other)).toMatchObject({ status: "ended", server_ids: [into, other].toSorted() });
  });
});

type Undo = () => Promise<{ restored: boolean }>;
/** A server that nobody registered is as good as one that is merely known. */
async function inForce(ids: readonly string[], people: readonly string[]) {
  const servers = await read().server.findMany({ where: { id: { in: [...ids] } }, orderBy: { id: "asc" } });
  const agreements = await read().agreement.findMany({
    where: { parties: { some: { serverId: { in: [...ids] } } } },
    include: { parties: { orderBy: { serverId: "asc" } } },
    orderBy: { id: "asc" },
  });
  const incidents = await read().poachIncident.findMany({ where: { serverId: { in: [...ids] }, status: "active" } });
  const clearances = await Promise.all(people.map((id) => registry().findClearances(read(), id, clock.now())));
  return {
    servers: servers.flatMap(({ id, status, mergedInto }) => (status === "known" ? [] : [[id, status, mergedInto]])),
    agreements: agreements.map(({ revision: _, ...row }) => row),
    incidents: incidents.map(({ id }) => id),
    clearances: clearances.flat(),
  };
}

test("whatever is done to servers, taking it all back in reverse leaves in force what was", async () => {
  const place = fc.integer({ min: 0, max: 3 });
  const step = fc.record({ verb: fc.constantFrom("merge", "suspend", "repoint", "incident", "clear", "use"), a: place, b: place });
  const run = async (verb: string, a: string, b: string, index: number): Promise<Undo | undefined> => {
    const origin = { originReference: `PCH-REQ-${index.toString()}`, permission: cause.permission };
    if (verb === "merge") {
      const done = await merge(a, b).catch(ignoreRefusal);
      return done === undefined ? undefined : () => part(done);
    }
    if (verb === "suspend") {
      const done = await suspend([a, b], `BLS-REQ-${index.toString()}`);
      return () => resume(done);
    }
    if (verb === "repoint") {
      if (a === b) return undefined;
      const done = await repoint(a, b);
      return () => pointBack(done);
    }
    if (verb === "incident") {
      const incident = { serverId: a, victimServerId: b, offenderIds: [a], method: "dm", occurredAt: at(-1), ...origin };
      const { id } = await write((tx) => registry().recordIncidentInTx(tx, incident));
      return () => write((tx) => registry().voidIncidentInTx(tx, id, note));
    }
    if (verb === "clear") {
      const wanted = { userId: a, fromServerId: a, toServerId: b, validUntil: null, ...origin };
      const done = await write((tx) => registry().grantClearanceInTx(tx, wanted));
      return "skipped" in done ? undefined : () => write((tx) => registry().revokeClearanceInTx(tx, done.id, note));
    }
    const [free] = await registry().findClearances(read(), a, clock.now());
    if (free === undefined) return undefined;
    const use = { id: free.id, reference: `REC-REQ-${index.toString()}`, permission: cause.permission };
    const done = await write((tx) => registry().useClearanceInTx(tx, use));
    return "skipped" in done ? undefined : () => write((tx) => registry().undoUseClearanceInTx(tx, kept(done), note));
  };
  const pair = fc.tuple(place, place);
  await fc.assert(
    fc.asyncProperty(fc.array(pair, { maxLength: 4 }), place, fc.array(step, { maxLength: 7 }), async (pairs, registered, steps) => {
      const ids = [freshId(), freshId(), freshId(), freshId()];
      for (const id of ids.slice(0, registered)) await register({ id, status: "partner" });
      for (const [a, b] of pairs) if (a !== b) await agree([ids[a] ?? "", ids[b] ?? ""]);
      const before = await inForce(ids, ids);
      const undos: Undo[] = [];
      for (const [index, { verb, a, b }] of steps.entries()) {
        const undo = await run(verb, ids[a] ?? "", ids[b] ?? "", index);
        if (undo !== undefined) undos.unshift(undo);
      }
      for (const undo of undos) expect((await undo()).restored).toBe(true);
      expect(await inForce(ids, ids)).toEqual(before);
      for (const undo of undos) await undo();
      expect(await inForce(ids, ids)).toEqual(before);
    }),
    { numRuns: runsOf(12) },
  );
});

function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof ProblemError) || error.code !== "invalid_transition") throw error;
}
