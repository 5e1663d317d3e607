import { beforeAll, describe, expect, test } from "vitest";
import { routeTable } from "../../src/app.ts";
import { entries, entryOf } from "../../src/commands/table.ts";
import type { Entry, VerbInput } from "../../src/commands/entry.ts";
import type { Verbs } from "../../src/commands/verbs.ts";
import { annotated } from "../../src/http/route.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import type { User } from "../../src/sandbox/index.ts";
import type { World } from "../support/world.ts";
import { ZodError } from "zod";
import { createWorld } from "../support/world.ts";
import { cases, withoutCase } from "./parity/cases.ts";
import type { Case, Options, Scene, Way } from "./parity/scene.ts";
import { staffAtConsole } from "./world.ts";

/** What the verbs behind slash commands answered or refused, in order. */
const ran: Ran[] = [];

/** The verbs as they are, with a note of each answer: the reply itself is worded, so views cannot be compared by it. */
function noting(verbs: Verbs): Verbs {
  return {
    ...verbs,
    check(operation, call, input) {
      try {
        verbs.check(operation, call, input);
      } catch (error) {
        ran.push({ operation, input, error });
        throw error;
      }
    },
    async run(operation, call, input) {
      try {
        const answer = await verbs.run(operation, call, input);
        ran.push({ operation, input, answer });
        return answer;
      } catch (error) {
        ran.push({ operation, input, error });
        throw error;
      }
    },
  };
}

interface Ran {
  operation: string;
  input: VerbInput;
  answer?: unknown;
  error?: unknown;
}

interface Outcome {
  code: string | null;
  /** Of a refusal: which fields are wrong. */
  pointers: string[];
  view: unknown;
}

const specs = new Map(routeTable().map(({ spec }) => [spec.operationId, spec]));
const id = /(?:\b\d{17,20}\b|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{64}\b)/;
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/;
const parts = new RegExp(`(${id.source}|${time.source})`);
const day = 86_400_000;

/** Ids of the one world by those of the other, as they turned up. */
const twins = new Map<string, string>();

/** Where two answers of the two worlds differ: ids stand for each other one to one, times are about the same. */
function differences(a: unknown, b: unknown, path = ""): string[] {
  if (typeof a === "string" && typeof b === "string") return isAlike(a, b) ? [] : [`${path}: ${a} / ${b}`];
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null)
    return a === b ? [] : [`${path}: ${JSON.stringify(a)} / ${JSON.stringify(b)}`];
  const [left, right] = [a, b] as [Record<string, unknown>, Record<string, unknown>];
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return names.flatMap((name) => differences(left[name], right[name], `${path}/${name}`));
}

function isAlike(a: string, b: string): boolean {
  const [left, right] = [a.split(parts), b.split(parts)];
  return left.length === right.length && left.every((part, index) => isTwin(part, right[index] ?? ""));
}

function isTwin(a: string, b: string): boolean {
  if (time.test(a) && time.test(b)) return Math.abs(Date.parse(a) - Date.parse(b)) < day;
  if (!id.test(a) || !id.test(b)) return a === b;
  const known = twins.get(a);
  if (known !== undefined) return known === b;
  twins.set(a, b);
  return ![...twins].some(([other, twin]) => twin === b && other !== a);
}

async function setUp(onEnd: (end: () => Promise<void>) => void): Promise<Scene & { outsider: User; viewer: User }> {
  const world = await createWorld({ onEnd, aroundVerbs: noting });
  const owner = await staffAtConsole(world, "owner");
  const admin = await staffAtConsole(world, "admin");
  const senior = await staffAtConsole(world, "senior");
  const viewer = await staffAtConsole(world, "viewer");
  const [ann, bob, outsider] = [world.member("ann"), world.member("bob"), world.member("outsider")];
  world.guild.setRoles(outsider, [world.guild.createRole("door", { permissions: ["Administrator"] })]);
  const pool = { key: "north", name: "North", template: "N-{n:03}", ranges: [[1, 30]] };
  expect((await world.post("/callsigns/pools", pool, { actor: owner })).status).toBe(201);
  return { world, owner, admin, senior, ann, bob, outsider, viewer, kept: {} };
}

async function overHttp({ world, ...scene }: Scene, way: Way, actor: User): Promise<Outcome> {
  const [method, path, body] = way.http({ world, ...scene });
  const { status, body: answer } = await world.request(method, path, body, { actor });
  if (status >= 400) return refusal(answer.code, answer.errors);
  return { code: null, pointers: [], view: viewIn(answer) };
}

const viewIn = (answer: any): unknown =>
  typeof answer === "object" && answer !== null && answer.data !== undefined ? answer.data : withoutOrigin(answer);

/** An export says which installation it is from. */
const withoutOrigin = (answer: unknown): unknown => (typeof answer === "string" ? answer.replace(/"origin":"[^"]+"/, "") : answer);

/** Gives a command, fills its form in and says yes where it asks. @returns what the answer shows */
async function give(scene: Scene, entry: string, way: Pick<Way, "given" | "form">, actor: User) {
  const { world } = scene;
  ran.length = 0;
  let run = await world.sandbox
    .as(actor)
    .in(world.guild)
    .runSlashCommand(entry, way.given?.(scene) ?? {});
  const { type } = await run.acked;
  if (type === 9) run = await run.submitModal(way.form?.(scene) ?? {});
  let reply = await run.reply();
  if (JSON.stringify(reply.components).includes("Yes, do it")) reply = await (await run.clickButton("Yes, do it")).reply();
  return reply;
}

async function overDiscord(scene: Scene, entry: string, way: Way, actor: User): Promise<Outcome> {
  const reply = await give(scene, entry, way, actor);
  const { operation } = entryOf(entry);
  const last = ran.findLast((one) => one.operation === operation);
  const refused = refusedBy(last?.error);
  if (refused !== undefined) {
    expect(reply.content).toContain(`-# ${refused.code ?? ""}`);
    return refused;
  }
  expect({ reply: reply.content, error: last?.error }).toEqual({ reply: expect.not.stringContaining("-# "), error: undefined });
  const answer = last === undefined ? expect.fail(`${entry} ran nothing`) : last.answer;
  return { code: null, pointers: [], view: viewOf(operation, answer, reply.attachments[0]?.text) };
}

function viewOf(operation: string, answer: unknown, file: string | undefined): unknown {
  const { view } = annotated(answer);
  if (specs.get(operation)?.success.shape === "raw" && file !== undefined) return withoutOrigin(file);
  const data = (view as { data?: unknown }).data;
  return JSON.parse(JSON.stringify(data ?? view));
}

const refusal = (code: string, errors: readonly { pointer: string }[] = []): Outcome => ({
  code,
  pointers: errors.map(({ pointer }) => pointer).toSorted(),
  view: null,
});

function refusedBy(error: unknown): Outcome | undefined {
  if (error instanceof ProblemError) return refusal(error.code, error.errors);
  if (error instanceof ZodError)
    return refusal(
      "validation_failed",
      error.issues.map(({ path }) => ({ pointer: path.map((part) => `/${String(part)}`).join("") })),
    );
  return undefined;
}

/** What an entry of the audit says of its place, its door and its request. */
const bound = new Set(["seq", "id", "at", "payloadCommitment", "erased", "prevHash", "hash", "via", "clientId", "requestId", "guildId"]);

/** What was written into the audit since, but for the refusals, which are noted together and later. */
async function audited({ app }: World, from: number) {
  const { read } = app.database;
  const rows = await read.auditEntry.findMany({ where: { seq: { gt: from }, outcome: { not: "denied" } }, orderBy: { seq: "asc" } });
  const payloads = await read.auditPayload.findMany({ where: { seq: { gt: from } } });
  return rows.map((row) => {
    const same = Object.fromEntries(Object.entries(row).filter(([name]) => !bound.has(name)));
    return { via: row.via, entry: { ...same, payload: payloads.find(({ seq }) => seq === row.seq)?.payload ?? null } };
  });
}

const last = async ({ app }: World): Promise<number> =>
  (await app.database.read.auditEntry.aggregate({ _max: { seq: true } }))._max.seq ?? 0;

/** What differs by its nature: ids of requests, the door and the key in entries of the audit, and how far work in the background has come. */
const ofTheDoor = new Set([
  "via",
  "requested_via",
  "key_id",
  "request_id",
  "client",
  "hash",
  "prev_hash",
  "seq",
  "guild_id",
  "etag",
  "held_back",
  "last_round_at",
  "pending",
]);

/** Links lead to the world they are from, by a secret of their own. */
const ownAddress = /http:\/\/127\.0\.0\.1:\d+\/(authorize\/[\w-]+)?/g;

function withoutDoor(view: unknown): unknown {
  return JSON.parse(JSON.stringify(view), (name, value: unknown) => {
    if (ofTheDoor.has(name)) return undefined;
    return typeof value === "string" ? value.replace(ownAddress, "") : value;
  });
}

const people = ["owner", "admin", "senior", "ann", "bob", "outsider", "viewer"] as const;

describe.each(Object.entries(cases))("the same through both doors: %s", (_, list) => {
  const ends: (() => Promise<void>)[] = [];
  let [http, discord] = [] as unknown as [Awaited<ReturnType<typeof setUp>>, Awaited<ReturnType<typeof setUp>>];
  beforeAll(async () => {
    twins.clear();
    http = await setUp((end) => ends.push(end));
    discord = await setUp((end) => ends.push(end));
    for (const name of people) twins.set(http[name].id, discord[name].id);
    return async () => void (await Promise.all(ends.map((end) => end())));
  });

  /** The same way through both, by the same person of either world. */
  async function both(entry: string, way: Way, who: (typeof people)[number]): Promise<[Outcome, Outcome]> {
    return [await overHttp(http, way, http[who]), await overDiscord(discord, entry, way, discord[who])];
  }

  const refusals = async (entry: string, way: Way, who: (typeof people)[number]): Promise<Outcome> => {
    const before = [await last(http.world), await last(discord.world)];
    const [left, right] = await both(entry, way, who);
    expect(right).toEqual(left);
    const after = await Promise.all([audited(http.world, before[0] ?? 0), audited(discord.world, before[1] ?? 0)]);
    expect(after).toEqual([[], []]);
    return left;
  };

  test.each(list)("$entry", async ({ entry, by = "owner", before, wrong, ...way }: Case) => {
    await before?.(http);
    await before?.(discord);
    expect((await refusals(entry, way, "outsider")).code).not.toBeNull();
    if (wrong !== undefined) {
      expect((await refusals(entry, wrong, by)).code).not.toBeNull();
      // Who may not is told so before anything is looked at.
      expect((await refusals(entry, wrong, "outsider")).pointers).toEqual([]);
    }

    const from = [await last(http.world), await last(discord.world)];
    const [left, right] = await both(entry, way, by);
    expect(left.code).toBeNull();
    expect(differences(withoutDoor(left), withoutDoor(right))).toEqual([]);
    const [there, here] = await Promise.all([audited(http.world, from[0] ?? 0), audited(discord.world, from[1] ?? 0)]);
    expect(
      differences(
        there.map((one) => one.entry),
        here.map((one) => one.entry),
      ),
    ).toEqual([]);
    expect([there.map(({ via }) => via), here.map(({ via }) => via)]).toEqual([there.map(() => "rest"), here.map(() => "slash")]);
  });
});

/** What options of a name are given, where any text would not do: references count on from 1 in either world. */
const sampleOfName: Readonly<Record<string, string>> = {
  request: "BLU-REQ-000001",
  reference: "BLU-REQ-000001",
  server: "80351110224678912",
  source: "80351110224678912",
  target: "80351110224678913",
};

/** Something for every option and field that has to be given. */
function sampleOf({ options = [], form = [] }: Entry, { ann, world }: Scene): { given: () => Options; form: () => Record<string, string> } {
  const values = { person: ann, whole: 1, number: 1, yes: true, role: world.roles.viewer, channel: "1", file: "", text: "sample" } as const;
  const typed = options
    .filter(({ required }) => required === true)
    .map(({ name, kind, choices, min = 1 }) => [name, choices?.[0] ?? sampleOfName[name] ?? (kind === "whole" ? min : values[kind])]);
  const filled = form
    .filter(({ required, kind }) => required === true && kind !== "person")
    .map(({ name, choices, min = 0 }) => [name, choices?.[0] ?? "Both doors agree".padEnd(min, "!")]);
  return { given: () => Object.fromEntries(typed), form: () => Object.fromEntries(filled) };
}

/** An operation with the ids of the world of the HTTP door, as it is asked for there. */
function askedOf({ operation, input }: Ran, scene: Scene): Parameters<World["request"]> {
  const here = new Map([...twins].map(([there, twin]) => [twin, there]));
  const mapped = JSON.stringify(input)
    .split(parts)
    .map((part) => here.get(part) ?? part)
    .join("");
  const { params = {}, query = {}, body } = JSON.parse(mapped) as VerbInput;
  const { method, path, request } = specs.get(operation) ?? expect.fail(operation);
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const search = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])).toString();
  const sent = request?.body === undefined ? undefined : (body ?? {});
  return [method.toUpperCase(), search === "" ? place : `${place}?${search}`, sent, { actor: scene.owner }];
}

describe("whatever a command does, the HTTP door answers the same", () => {
  const ends: (() => Promise<void>)[] = [];
  let [http, discord] = [] as unknown as [Awaited<ReturnType<typeof setUp>>, Awaited<ReturnType<typeof setUp>>];
  beforeAll(async () => {
    twins.clear();
    http = await setUp((end) => ends.push(end));
    discord = await setUp((end) => ends.push(end));
    for (const name of people) twins.set(http[name].id, discord[name].id);
    twins.set(http.world.guild.id, discord.world.guild.id);
    for (const level of ["owner", "admin", "senior", "moderator", "viewer"] as const)
      twins.set(http.world.roles[level].id, discord.world.roles[level].id);
    return async () => void (await Promise.all(ends.map((end) => end())));
  });

  const cased = new Set(Object.values(cases).flatMap((list) => list.map(({ entry }) => entry)));
  const nameOf = ({ command, path }: Entry): string => `${command} ${path}`.trim();
  const rest = entries.filter((entry) => !cased.has(nameOf(entry)) && withoutCase[nameOf(entry)] === undefined);

  test.each(rest.map((entry) => ({ name: nameOf(entry), entry })))("$name", async ({ name, entry }) => {
    for (const who of ["outsider", "owner"] as const) {
      const from = [await last(http.world), await last(discord.world)];
      const reply = await give(discord, name, sampleOf(entry, discord), discord[who]);
      const done = [...ran];
      // What is looked up first may not be there for them: then nothing runs, and they are told.
      if (done.length === 0) expect(reply.content).toMatch(/-# \w+$/);
      for (const one of done) {
        const [method, path, body] = askedOf(one, http);
        const { status, body: answer } = await http.world.request(method, path, body, { actor: http[who] });
        const there = status >= 400 ? refusal(answer.code, answer.errors) : { code: null, pointers: [], view: viewIn(answer) };
        const done = (): Outcome => ({ code: null, pointers: [], view: viewOf(one.operation, one.answer, reply.attachments[0]?.text) });
        const here = refusedBy(one.error) ?? done();
        expect({ [one.operation]: differences(withoutDoor(there), withoutDoor(here)) }).toEqual({ [one.operation]: [] });
      }
      const [there, here] = await Promise.all([audited(http.world, from[0] ?? 0), audited(discord.world, from[1] ?? 0)]);
      expect(
        differences(
          there.map((one) => one.entry),
          here.map((one) => one.entry),
        ),
      ).toEqual([]);
    }
  });
});

test("no case is of a command that is not there, and none has a case and a reason to have none", () => {
  const names = new Set(entries.map(({ command, path }) => `${command} ${path}`.trim()));
  const shown = new Set(Object.values(cases).flatMap((list) => list.map(({ entry }) => entry)));
  expect([...shown, ...Object.keys(withoutCase)].filter((name) => !names.has(name))).toEqual([]);
  expect(Object.keys(withoutCase).filter((name) => shown.has(name))).toEqual([]);
});
