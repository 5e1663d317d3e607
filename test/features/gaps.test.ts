// @module-tag both
import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World, type WorldOptions } from "../support/world.ts";

/** The subject holds every right of an admin, `cases.confidential` too: nothing but that it is about them keeps it from them. */
async function scene(options: WorldOptions = {}) {
  const world = await createWorld(options);
  const [owner, subject] = [await world.staff("owner"), await staffAtConsole(world, "admin")];
  return { world, owner, subject };
}

async function investigate(world: World, actor: User, about: string, confidential: boolean): Promise<string> {
  const body = { subject: { kind: "staff", id: about }, allegation: "Sold the keys of the house.", confidential };
  const { status, body: made } = await world.post("/workflows/investigation", body, { actor });
  if (status !== 201) throw new Error(JSON.stringify(made));
  return made.reference;
}

async function openCase(world: World, actor: User, about: string, confidential: boolean): Promise<string> {
  const body = { type: "general", title: "A matter", subjects: [{ kind: "user", id: about }], confidential };
  const { status, body: made } = await world.post("/cases", body, { actor });
  if (status !== 201) throw new Error(JSON.stringify(made));
  return made.data.number;
}

/** Every number that somebody is given: totals, statistics, their own profile, the queue in Discord. Times are left out: they pass. */
async function numbersFor(world: World, actor: User) {
  const total = async (path: string) => (await world.get(path, { actor })).body.page.total as number;
  const { all, types } = (await world.get("/workflows/stats", { actor })).body.data;
  const bare = ({ open_age: _, ...rest }: { open_age: unknown }) => rest;
  const queue = await world.slash(actor, "review queue");
  return {
    requests: await total("/workflows?count=true"),
    investigations: await total("/workflows?count=true&type=investigation&status=open"),
    cases: await total("/cases?count=true"),
    aboutMe: await total(`/cases?count=true&subject=${actor.id}`),
    timeline: await total(`/users/${actor.id}/timeline?count=true`),
    audit: await total(`/audit?count=true&subject=${actor.id}`),
    strikes: await total(`/users/${actor.id}/strikes?count=true`),
    activity: (await world.get(`/staff/${actor.id}/profile`, { actor })).body.data.activity,
    stats: [all, ...types].map(bare),
    statsInDiscord: (await world.slash(actor, "review stats")).replaceAll(/\d+ (?:second|minute)s?/g, ""),
    queue: queue.replaceAll(/<t:\d+:\w>/g, ""),
  };
}

describe("who is investigated in confidence", () => {
  test("finds no number changed by it, over HTTP and in Discord, while who may know of it does", async () => {
    const { world, owner, subject } = await scene();
    await investigate(world, owner, freshId(), false);
    await openCase(world, owner, freshId(), false);
    const [before, known] = [await numbersFor(world, subject), (await world.get("/workflows/stats", { actor: owner })).body.data.all];
    await investigate(world, owner, subject.id, true);
    await openCase(world, owner, subject.id, true);
    expect(await numbersFor(world, subject)).toEqual(before);
    const after = (await world.get("/workflows/stats", { actor: owner })).body.data.all;
    expect([after.filed - known.filed, after.open.total - known.open.total]).toEqual([1, 1]);
  });

  test("finds no gap in the references of requests and cases", async () => {
    const { world, owner, subject } = await scene();
    const references: string[] = [];
    const numbers: string[] = [];
    for (const confidential of [false, true, true, false]) {
      references.push(await investigate(world, owner, confidential ? subject.id : freshId(), confidential).catch(() => "duplicate"));
      numbers.push(await openCase(world, owner, confidential ? subject.id : freshId(), confidential));
    }
    expect(references).toEqual(["INV-REQ-000001", "INVC-REQ-000001", "duplicate", "INV-REQ-000002"]);
    expect(numbers).toEqual(["CASE-000001", "CASE-900000001", "CASE-900000002", "CASE-000002"]);
    const seen = async (path: string, field: string) =>
      (await world.get(path, { actor: subject })).body.data.map((row: Record<string, string>) => row[field]).toSorted();
    expect(await seen("/workflows", "reference")).toEqual(["INV-REQ-000001", "INV-REQ-000002"]);
    expect(await seen("/cases", "number")).toEqual(["CASE-000001", "CASE-000002"]);
    // What is hidden and what does not exist answer alike, by their new names too.
    for (const [real, missing] of [
      ["/workflows/investigation/INVC-REQ-000001", "/workflows/investigation/INVC-REQ-000009"],
      ["/cases/CASE-900000001", "/cases/CASE-900000009"],
    ] as const) {
      const answers = [await world.get(real, { actor: subject }), await world.get(missing, { actor: subject })];
      expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
        [404, "record_not_found"],
        [404, "record_not_found"],
      ]);
    }
    const told = [
      await world.slash(subject, "review show", { reference: "INVC-REQ-000001" }),
      await world.slash(subject, "review show", { reference: "INVC-REQ-000009" }),
    ];
    expect(told[0]?.replaceAll("000001", "")).toBe(told[1]?.replaceAll("000009", ""));
    expect((await world.get("/workflows/investigation/INVC-REQ-000001", { actor: owner })).status).toBe(200);
    expect((await world.get("/cases/case-900000001", { actor: owner })).body.data.number).toBe("CASE-900000001");
  });

  test("finds none where every kind shares one prefix, nor in the case that an approval opens", async () => {
    const { world, owner, subject } = await scene({ env: { REFERENCE_PREFIX: "ACMEACME" } });
    const decider = await world.staff("owner");
    const references = [
      await investigate(world, owner, freshId(), false),
      await investigate(world, owner, subject.id, true),
      await investigate(world, owner, freshId(), false),
    ];
    expect(references).toEqual(["ACMEACME-REQ-000001", "ACMEACMEC-REQ-000001", "ACMEACME-REQ-000002"]);
    for (const reference of references) {
      const { status } = await world.post(`/workflows/investigation/${reference}/decision`, { decision: "approve" }, { actor: decider });
      expect(status).toBe(200);
    }
    const numbers = (await world.app.database.read.case.findMany({ orderBy: { number: "asc" } })).map(({ number }) => number);
    expect(numbers).toEqual([1, 2, 900_000_001]);
  });

  test("cannot have the numbers of confidential requests shared by another kind, which would show their gaps", async () => {
    const { world, owner } = await scene();
    const taken = await world.patch("/workflows/policies/appeal", { prefix: "INVC" }, { actor: owner });
    expect([taken.status, taken.body.errors?.[0]]).toMatchObject([422, { pointer: "/prefix", code: "taken" }]);
  });
});
