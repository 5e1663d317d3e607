import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import { Prisma } from "../../src/generated/sqlite/client.ts";
import { readElsewhere } from "../support/elsewhere.ts";
import { createWorld, type World } from "../support/world.ts";
import { createEmptyCopy } from "../support/database.ts";
import { createFlow, createRandom, type Ground, type Person } from "./authorization.flows.ts";
import { seedOf, sizeOf } from "../support/size.ts";
import { freePort } from "../support/free-port.ts";

const enough = 250;
const flows = sizeOf({ quick: 20, all: 80, long: 2000 });
const seed = seedOf(1);

const pieceLength = 20;

/** Texts of at least this length that could be a secret or hold one, each with all pieces of it. */
function findAny(text: string, pieces: ReadonlySet<string>): string | undefined {
  for (const [run] of text.matchAll(/[\w-]{20,}/g))
    for (let at = 0; at + pieceLength <= run.length; at += 1) {
      const piece = run.slice(at, at + pieceLength);
      if (pieces.has(piece)) return piece;
    }
  return undefined;
}

/** Every row of every table, and on SQLite the bytes of the files. */
async function everything(world: World, url: string): Promise<string[]> {
  const { read } = world.app.database;
  const texts: string[] = [];
  for (const name of Object.keys(Prisma.ModelName)) {
    const table = (read as unknown as Record<string, { findMany(): Promise<unknown[]> }>)[name.charAt(0).toLowerCase() + name.slice(1)];
    const rows = (await table?.findMany()) ?? [];
    texts.push(JSON.stringify(rows, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value)));
  }
  if (inject("dialect") !== "sqlite") return texts;
  const folder = dirname(url.slice("file:".length));
  for (const file of await readdir(folder)) texts.push((await readElsewhere(join(folder, file))).toString("latin1"));
  return texts;
}

/** What went over the wire to Discord and back that nobody else may know. */
function gatherTokens({ world, secrets }: Ground): void {
  for (const { path, requestBody, responseBody } of world.sandbox.exchanges) {
    if (!path.endsWith("/oauth2/token")) continue;
    const { code_verifier: verifier } = (requestBody ?? {}) as Record<string, unknown>;
    if (typeof verifier === "string") secrets.add(verifier);
    for (const [token] of JSON.stringify(responseBody ?? "").matchAll(/sandbox-(?:access|refresh)-[\w-]+/g)) secrets.add(token);
  }
}

async function createGround(): Promise<Ground & { log: string[]; url: string }> {
  const log: string[] = [];
  let offset = 0;
  const database = await createEmptyCopy();
  const ends: (() => Promise<void>)[] = [];
  const world = await createWorld({
    env: { PORT: (await freePort()).toString(), DATABASE_URL: database.url, REFRESH_COOLDOWN_SECONDS: "600" },
    clock: { now: () => new Date(Date.now() + offset) },
    log: (line) => void log.push(line),
    onEnd: (end) => void ends.push(end),
  });
  afterAll(async () => {
    for (const end of ends) await end();
    await database.remove();
  });
  return {
    world,
    staff: await world.staff("owner"),
    stranger: world.sandbox.createUser("stranger"),
    forward: (seconds) => void (offset += seconds * 1000),
    secrets: new Set(),
    granted: { count: 0 },
    log,
    url: database.url,
  };
}

test(`${flows.toString()} ways through the consent of people, each as a small model says`, { timeout: 600_000 }, async () => {
  const ground = await createGround();
  const { world } = ground;
  const guild = world.sandbox.createGuild({ name: "Raid Base", withBot: false });
  const people: Person[] = [];
  const endings = new Map<string, number>();
  for (let index = 0; index < flows; index += 1) {
    const random = createRandom(seed * 1_000_003 + index);
    // Of the last ones: their grants and tokens are young.
    const known = people.at(-1 - Math.floor(random() * Math.min(people.length, 100)));
    const person: Person =
      known !== undefined && random() < 0.2 ? known : { user: world.sandbox.createUser(`person${index.toString()}`), grant: "none" };
    if (person !== known) {
      people.push(person);
      guild.addMember(person.user);
    }
    // Sessions of earlier flows of the same person are over.
    ground.forward(301);
    const body = { discord_user_id: person.user.id, ttl_minutes: 5 };
    const opened = await world.post("/authorize/sessions", body, { actor: ground.staff });
    expect(opened.status).toBe(201);
    const flow = createFlow(ground, person, opened.body.url, random);
    await flow.run().catch((error: unknown) => {
      throw new Error(`flow ${index.toString()} of seed ${seed.toString()}`, { cause: error });
    });
    world.sandbox.faults.clear();
    const { status, failure } = flow.model;
    endings.set(failure ?? status, (endings.get(failure ?? status) ?? 0) + 1);
    const stored = await world.app.database.read.authorizationSession.findUniqueOrThrow({ where: { id: opened.body.id } });
    // Whether the job has noticed yet that the time is over does not matter to anybody.
    const seen = stored.endedAt === null && status === "expired" ? "expired" : stored.status;
    expect({ index, status: seen, failure: stored.failure, trace: flow.trace }).toEqual({ index, status, failure, trace: flow.trace });
    const grant = await world.app.database.read.authorization.findUnique({ where: { userId: person.user.id } });
    expect({ index, grant: grant?.status ?? "none" }).toEqual({ index, grant: person.grant });
    if (index % 100 === 99) gatherTokens(ground);
  }
  gatherTokens(ground);

  const kinds = ["authorized", "declined", "expired", "cancelled", "wrong_account", "scope_missing", "discord_error"];
  if (flows >= enough) expect([...endings.keys()]).toEqual(expect.arrayContaining(kinds));
  const { read } = world.app.database;
  expect(await read.authorization.count()).toBe(people.filter(({ grant }) => grant !== "none").length);
  expect(await read.auditEntry.count({ where: { action: "authorization.grant" } })).toBe(ground.granted.count);
  expect(await read.userServer.count()).toBe(people.filter(({ grant }) => grant === "active").length);
  for (const person of people.filter(({ grant }) => grant === "active")) {
    const answer = await world.post(`/users/${person.user.id}/refresh`, { force: true }, { actor: ground.staff });
    expect([person.user.username, answer.status]).toEqual([person.user.username, 200]);
  }

  const pieces = new Set([...ground.secrets].map((secret) => secret.replace(/^sandbox-(access|refresh|code)-/, "").slice(0, pieceLength)));
  expect(pieces.size).toBeGreaterThan(flows * 3);
  expect(ground.log.length).toBeGreaterThan(flows);
  for (const text of [...ground.log, ...(await everything(world, ground.url))]) {
    const found = findAny(text, pieces);
    expect(found === undefined ? undefined : `${found} in ${text.slice(0, 300)}`).toBeUndefined();
  }
});
