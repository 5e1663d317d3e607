// @module-tag sqlite
// @module-tag slow
import type { Call } from "../../src/kernel/call.ts";
import type { VerbInput, Verbs } from "../../src/commands/verbs.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandTable, routeTable } from "../../src/features.ts";
import { annotated } from "../../src/operations/route.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { isHeld } from "../../src/kernel/held.ts";
import { inJson, inWords } from "../../src/kit/say.ts";
import type { User } from "../../sandbox/index.ts";
import { tier } from "../support/size.ts";
import { createWorld, type World } from "../support/world.ts";
import { ZodError } from "zod";
import { upload } from "../features/evidence-ground.ts";
import { cases, environments, withoutCase } from "./parity/cases.ts";
import type { Case, Scene, Way } from "./parity/scene.ts";
import { staffAtConsole } from "./world.ts";

const { entries, entryOf } = commandTable();

/** What the verbs behind slash commands answered or refused, in order. */
const ran: Ran[] = [];
/** The commands that ran something, since and before it was forgotten. */
const [during, before] = [new Set<string>(), new Set<string>()];

/** The verbs as they are, with a note of each answer: the reply itself is worded, so views cannot be compared by it. */
function noting(verbs: Verbs): Verbs {
  const note = ({ requestId }: Call, one: Ran): void => {
    // A reply that is brought up to date reads for a command of before.
    if (before.has(requestId)) return;
    during.add(requestId);
    ran.push(one);
  };
  return {
    ...verbs,
    check(operation, call, input) {
      try {
        verbs.check(operation, call, input);
      } catch (error) {
        note(call, { operation, input, error });
        throw error;
      }
    },
    async run(operation, call, input) {
      try {
        const answer = await verbs.run(operation, call, input);
        note(call, { operation, input, answer });
        return answer;
      } catch (error) {
        note(call, { operation, input, error });
        throw error;
      }
    },
  };
}

/** Forget what ran, and what the commands that ran it still run. */
function forgetRun(): void {
  for (const requestId of during) before.add(requestId);
  during.clear();
  ran.length = 0;
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
const id = /(?:\b\d{17,20}\b|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{64}\b|(?<![\w-])[\w-]{43}(?![\w-]))/;
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/;
const parts = new RegExp(`(${id.source}|${time.source})`);
const soon = 20 * 60_000;

/** Ids of the one world by those of the other, as they turned up. */
const twins = new Map<string, string>();

/** How long requests took, in seconds: about the same in both worlds. */
const lengths = /\/(?:open_age|first_touch|decision)\/(?:p50|p90|max)$/;

/** Where two answers of the two worlds differ: ids stand for each other one to one, times are about the same. */
function differences(a: unknown, b: unknown, path = ""): string[] {
  if (typeof a === "string" && typeof b === "string") return isAlike(a, b) ? [] : [`${path}: ${a} / ${b}`];
  if (typeof a === "number" && typeof b === "number" && lengths.test(path)) return Math.abs(a - b) < 60 ? [] : [`${path}: ${a} / ${b}`];
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
  if (time.test(a) && time.test(b)) return Math.abs(Date.parse(a) - Date.parse(b)) < soon;
  if (!id.test(a) || !id.test(b)) return a === b;
  const known = twins.get(a);
  if (known !== undefined) return known === b;
  twins.set(a, b);
  return ![...twins].some(([other, twin]) => twin === b && other !== a);
}

type Everybody = Scene & { outsider: User; viewer: User };

/**
 * Pairs of worlds by their settings. Lists share one, each with people of its own: a world costs as much as ten commands. There are two
 * of a kind, as a world tells only so many kinds of refusals of a minute apart.
 */
const pairs = new Map<string, Promise<readonly [World, World]>>();
const ends: (() => Promise<void>)[] = [];
afterAll(async () => void (await Promise.all(ends.map((end) => end()))));

async function createPair(env: Record<string, string>): Promise<readonly [World, World]> {
  const [http, discord] = [await createNoted(env), await createNoted(env)];
  twins.set(http.guild.id, discord.guild.id);
  return [http, discord];
}

async function createNoted(env: Record<string, string>): Promise<World> {
  const world = await createWorld({ onEnd: (end) => ends.push(end), env, aroundVerbs: noting });
  const pool = { key: "north", name: "North", template: "N-{n:03}", ranges: [[1, 30]] };
  expect((await world.post("/callsigns/pools", pool, { actor: await world.staff("owner") })).status).toBe(201);
  return world;
}

async function setUp(world: World): Promise<Everybody> {
  const owner = await staffAtConsole(world, "owner");
  const admin = await staffAtConsole(world, "admin");
  const senior = await staffAtConsole(world, "senior");
  const viewer = await staffAtConsole(world, "viewer");
  const [ann, bob, outsider] = [world.member("ann"), world.member("bob"), world.member("outsider")];
  world.guild.setRoles(outsider, [world.guild.createRole("door", { permissions: ["Administrator"] })]);
  // Makes the key that people sign with, before anything is counted.
  await world.get("/confirmations", { actor: owner, signed: true });
  return { world, owner, admin, senior, ann, bob, outsider, viewer, kept: {} };
}

async function overHttp({ world, ...scene }: Scene, way: Way, actor: User): Promise<Outcome> {
  const [method, path, body, { headers = {}, file, signed } = {}] = way.http({ world, ...scene });
  const { status, body: answer } =
    file === undefined
      ? await world.request(method, path, body, { actor, headers, ...(signed && { signed }) })
      : await upload(world, path, { actor, ...file, fields: body as Record<string, string>, headers });
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
  forgetRun();
  let run = await world.sandbox
    .as(actor)
    .in(world.guild)
    .runSlashCommand(entry, way.given?.(scene) ?? {});
  const { type } = await run.acked;
  if (type === 9) run = await run.submitModal(way.form?.(scene) ?? {});
  const reply = await run.reply();
  if (!JSON.stringify(reply.components).includes("Yes, do it")) return reply;
  const pressed = await run.clickButton("Yes, do it");
  const after = await pressed.reply();
  // A refusal leaves the question as it is.
  return pressed.followups().at(-1) ?? after;
}

async function overDiscord(scene: Scene, entry: string, way: Way, actor: User): Promise<Outcome> {
  const reply = await give(scene, entry, way, actor);
  const { operation } = entryOf(entry);
  // What an entry looks up first may refuse already.
  const [, told] = /^-# ([a-z_]+)$/m.exec(reply.content) ?? [];
  // What is only tried, before a form or beside an answer, counts where it is refused, or where nothing else was asked for.
  const of = ran.filter((one) => one.operation === operation);
  const isDone = ({ input, error }: Ran): boolean => error !== undefined || input.query?.["dry_run"] === undefined;
  const last = of.findLast(isDone) ?? (told === undefined ? of.at(-1) : undefined) ?? ran.findLast(({ error }) => error !== undefined);
  const refused = refusedBy(last?.error);
  if (refused !== undefined) {
    expect(reply.content).toContain(`-# ${refused.code ?? ""}`);
    return refused;
  }
  // What the entry itself looked up was not there.
  if (last === undefined && told !== undefined) return refusal(told);
  expect({ reply: reply.content, error: last?.error }).toEqual({ reply: expect.not.stringMatching(/^-# [a-z_]+$/m), error: undefined });
  const answer = last === undefined ? expect.fail(`${entry} ran nothing`) : last.answer;
  return { code: null, pointers: [], view: viewOf(operation, answer, reply.attachments[0]?.text) };
}

function viewOf(operation: string, answer: unknown, file: string | undefined): unknown {
  if (isHeld(answer)) return inWords(answer.confirmation_required);
  const { view } = annotated(answer);
  if (specs.get(operation)?.success.shape === "raw" && file !== undefined) return withoutOrigin(file);
  const data = (view as { data?: unknown }).data;
  return JSON.parse(inJson(data ?? view));
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

interface Written {
  seq: number;
  via: string;
  entry: object;
}

/** What an entry of the audit says of its place, its door and its request. */
const bound = new Set(["seq", "id", "at", "payloadCommitment", "erased", "prevHash", "hash", "via", "clientId", "requestId", "guildId"]);

/** What was written into the audit since, but for the refusals, which are noted together and later, and what the service did by itself. */
async function audited({ app }: World, from: number): Promise<Written[]> {
  const { read } = app.database;
  const rows = await read.auditEntry.findMany({
    where: { seq: { gt: from }, outcome: { not: "denied" }, via: { not: "job" } },
    orderBy: { seq: "asc" },
  });
  if (rows.length === 0) return [];
  const payloads = await read.auditPayload.findMany({ where: { seq: { gt: from } } });
  return rows.map((row) => {
    const same = Object.fromEntries(Object.entries(row).filter(([name]) => !bound.has(name)));
    // A key of a client has a name of its own; by its id it is compared all the same.
    if (row.targetKind === "api_key") same["targetReference"] = row.targetReference !== null;
    return { seq: row.seq, via: row.via, entry: { ...same, payload: placeless(payloads.find(({ seq }) => seq === row.seq)?.payload) } };
  });
}

/** Where the details stood that an entry says were erased depends on when refusals were noted; how many they were does not. */
function placeless(payload: unknown): unknown {
  const { after } = (payload ?? {}) as { after?: object | null };
  return after !== undefined && after !== null && "details_erased" in after
    ? { ...(payload as object), after: { ...after, ranges: null } }
    : (payload ?? null);
}

/** What differs by its nature: ids of requests, the door and the key in entries of the audit, and how far work in the background has come. */
const ofTheDoor = new Set([
  "api_key_id",
  "ms",
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

/** Keys of clients, and codes of changes that are held: each is a secret of its own. */
const ownSecret = /\bprv_live_\w+|\bwhsec_[\w+/=]+|^[2-9A-HJKMNP-Z]{6}$/g;

function withoutDoor(view: unknown): unknown {
  return JSON.parse(JSON.stringify(view), (name, value: unknown) => {
    if (ofTheDoor.has(name)) return undefined;
    // Of the key that signs for an installation: only what is told of it.
    if (name === "key" && typeof value === "object" && value !== null) return Object.keys(value);
    return typeof value === "string" ? value.replace(ownAddress, "").replace(ownSecret, "a secret") : value;
  });
}

/** In the quick tier every other case is tried with wrong input, and an outsider tries each command once: further cases of a command are about what it does, and about what is wrong with it. */
const refusedIn = (list: readonly Case[]) =>
  list.map((one, index) => ({
    ...one,
    isRefused: tier !== "quick" || list.findIndex(({ entry }) => entry === one.entry) === index,
    isTriedWrong: tier !== "quick" || index % 2 === 0,
  }));

/** Lists that count on a world that is new, or leave one in which nobody has the rights they had. */
const alone: ReadonlySet<string> = new Set([
  "moderation in one step",
  "staff roles",
  "permissions",
  "the setup",
  "what is decided",
  "what authors do",
]);

const people = ["owner", "admin", "senior", "ann", "bob", "outsider", "viewer"] as const;

describe.each(Object.entries(cases))("the same through both doors: %s", (about, list) => {
  let [http, discord] = [] as unknown as [Everybody, Everybody];
  /** How many refusals earlier lists had left. */
  let noted = 0;
  beforeAll(async () => {
    const env = environments[about] ?? {};
    const key = alone.has(about) ? about : `${JSON.stringify(env)} ${(Object.keys(cases).indexOf(about) % 2).toString()}`;
    const pair = pairs.get(key) ?? createPair(env);
    pairs.set(key, pair);
    const [there, here] = await pair;
    [http, discord] = [await setUp(there), await setUp(here)];
    for (const name of people) twins.set(http[name].id, discord[name].id);
    noted = (await denied(there)).length;
  });

  /** The same way through both, by the same person of either world. */
  async function both(entry: string, way: Way, who: (typeof people)[number]): Promise<[Outcome, Outcome]> {
    return [await overHttp(http, way, http[who]), await overDiscord(discord, entry, way, discord[who])];
  }

  const refusals = async (entry: string, way: Way, who: (typeof people)[number]): Promise<Outcome> => {
    const [left, right] = await both(entry, way, who);
    expect(right).toEqual(left);
    expect(left.code).not.toBeNull();
    return left;
  };

  /** How far the audit of either world was read. */
  const seen = { http: 0, discord: 0 };
  const written = async (): Promise<[Written[], Written[]]> => {
    const [there, here] = await Promise.all([audited(http.world, seen.http), audited(discord.world, seen.discord)]);
    Object.assign(seen, { http: there.at(-1)?.seq ?? seen.http, discord: here.at(-1)?.seq ?? seen.discord });
    return [there, here];
  };

  test.each(refusedIn(list))(
    "$entry",
    async ({ isRefused, isTriedWrong, entry, by = "owner", before, isOpen = false, isPersonal = false, wrong, ...way }) => {
      await before?.(http);
      await before?.(discord);
      await written();
      if (isRefused && !isOpen) await refusals(entry, way, "outsider");
      if (wrong !== undefined && isTriedWrong) {
        await refusals(entry, wrong, by);
        // Who may not is told so before anything is looked at.
        if (isRefused) expect(isPersonal ? [] : (await refusals(entry, wrong, "outsider")).pointers).toEqual([]);
      }
      expect(await written()).toEqual([[], []]);

      const [left, right] = await both(entry, way, by);
      expect(left.code).toBeNull();
      expect(differences(withoutDoor(left), withoutDoor(right))).toEqual([]);
      const [there, here] = await written();
      expect(
        differences(
          there.map((one) => one.entry),
          here.map((one) => one.entry),
        ),
      ).toEqual([]);
      expect([there.map(({ via }) => via), here.map(({ via }) => via)]).toEqual([there.map(() => "rest"), here.map(() => "slash")]);
    },
  );

  test("what was refused for lack of rights is noted the same way", async () => {
    const [there, here] = [await denied(http.world), await denied(discord.world)];
    expect([...there, ...here].filter((one) => one.startsWith("audit.denied_overflow"))).toEqual([]);
    expect(here).toEqual(there.map((one) => one.replaceAll(new RegExp(id, "g"), (known) => twins.get(known) ?? known)).toSorted());
    expect(there.length > noted).toBe(list.some(({ isOpen = false }) => !isOpen));
  });
});

/** The kinds of attempts that were refused for lack of rights: how often, and when, differs with the pace. */
async function denied({ app }: World): Promise<string[]> {
  await app.audit.flushDenied();
  const { read } = app.database;
  const rows = await read.auditEntry.findMany({ where: { outcome: "denied" } });
  const payloads = await read.auditPayload.findMany({ where: { seq: { in: rows.map(({ seq }) => seq) } } });
  const kinds = rows.map(({ seq, action, actorId, targetKind, targetId, targetReference, subjectUserId }) => {
    const { reason } = (payloads.find((payload) => payload.seq === seq)?.payload ?? {}) as { reason?: string };
    return [action, actorId, targetKind, targetId, targetReference, subjectUserId, reason].join(" ");
  });
  return [...new Set(kinds)].toSorted();
}

test("every command has a case, or a reason to have none, and no case is of a command that is not there", () => {
  const names = new Set(entries.map(({ command, path }) => `${command} ${path}`.trim()));
  const shown = new Set(Object.values(cases).flatMap((list) => list.map(({ entry }) => entry)));
  expect([...shown, ...Object.keys(withoutCase)].filter((name) => !names.has(name))).toEqual([]);
  expect(Object.keys(withoutCase).filter((name) => shown.has(name))).toEqual([]);
  expect([...names].filter((name) => !shown.has(name) && withoutCase[name] === undefined)).toEqual([]);
});
