// @module-tag postgres
// @module-tag slow
import { randomBytes } from "node:crypto";
import { appendFile, copyFile, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import pg from "pg";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { sqliteFile } from "../../src/database/dialect.ts";
import { createErasures } from "../../src/features/privacy/erasures.ts";
import { createJournal, erasureKinds, type JournalLine } from "../../src/features/privacy/journal/journal.ts";
import { withCopy } from "../../src/features/privacy/feature.ts";
import { createLinkReach } from "../../src/features/links/reach.ts";
import { createPrivacyService } from "../../src/features/privacy/privacy.service.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { deriveKey, keyedHash } from "../../src/kernel/secrets.ts";
import { authorize } from "../contract/world.ts";
import { createEmptyCopy } from "../support/database.ts";
import { createWorld, type World } from "../support/world.ts";
import { asPerson, cli, plant, words, write } from "./privacy-ground.ts";
import { runsOf } from "../support/size.ts";

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "provost-journal-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const createPath = async (): Promise<string> => join(await createFolder(), "deeper", "erasures.jsonl");
const lineAt = (at: Date): JournalLine => ({ id: uuid7(), kind: "deletion", subjectHash: "hash", at });

describe("the journal", () => {
  test("gives back what was written, in order, whatever it is and however many write at once", async () => {
    const line = fc.record({
      id: fc.uuid(),
      kind: fc.constantFrom(...erasureKinds),
      subjectHash: fc.stringMatching(/^[\w-]{1,43}$/),
      at: fc.date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(line, { maxLength: 4 }), { maxLength: 6 }), async (groups) => {
        const journal = createJournal(await createPath());
        await Promise.all(groups.map((group) => journal.append(group)));
        expect(await journal.read()).toEqual({ lines: groups.flat(), isCut: false });
      }),
      { numRuns: runsOf(40) },
    );
  });

  test("is readable by its owner alone, and is empty before its first line", async () => {
    const path = await createPath();
    const journal = createJournal(path);
    expect(await journal.read()).toEqual({ lines: [], isCut: false });
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
    await journal.append([lineAt(new Date())]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("takes the beginning of a line that was cut off away, so that the next line stands alone", async () => {
    const path = await createPath();
    const journal = createJournal(path);
    const [first, second] = [lineAt(new Date(1)), lineAt(new Date(2))];
    await journal.append([first]);
    const whole = await readFile(path, "utf8");
    for (const length of [1, 20, whole.length - 1]) {
      await writeFile(path, whole + whole.slice(0, length));
      expect(await journal.read()).toEqual({ lines: [first], isCut: true });
      expect(await readFile(path, "utf8")).toBe(whole);
    }
    await journal.append([second]);
    expect((await journal.read()).lines).toEqual([first, second]);
  });

  test.each(["{}", "nonsense", '{"v":2,"id":"a","kind":"deletion","subject":"b","at":"2026-01-01T00:00:00.000Z"}'])(
    "with a line that is none of ours says which, in plain words: %s",
    async (text) => {
      const path = await createPath();
      const journal = createJournal(path);
      await journal.append([lineAt(new Date())]);
      await appendFile(path, `${text}\n`);
      await expect(journal.read()).rejects.toThrow(/^The journal of deletions is damaged \(ERASURE_JOURNAL\): line 2 of /);
    },
  );

  test("that cannot be read says so instead of counting as empty", async () => {
    const folder = await createFolder();
    await expect(createJournal(folder).read()).rejects.toThrow(/^`ERASURE_JOURNAL`: .+ is a folder\. Name a file\.$/);
    await expect(createJournal(folder).append([lineAt(new Date())])).rejects.toThrow();
  });
});

describe("the copy of the journal", () => {
  const quiet = (warnings: object[] = []) => ({
    info: () => undefined,
    error: () => undefined,
    warn: (what: object) => void warnings.push(what),
  });

  test("gives back what the journal has lost, and the other way round", async () => {
    const [main, other] = [await createPath(), await createPath()];
    const journal = withCopy(createJournal(main), createJournal(other), quiet());
    const lines = [1, 2, 3].map((at) => lineAt(new Date(at)));
    await journal.append(lines);
    for (const lost of [main, other]) {
      await rm(lost);
      expect(await journal.read()).toEqual({ lines, isCut: false });
      expect((await createJournal(lost).read()).lines).toEqual(lines);
    }
    const before = await readFile(main, "utf8");
    await journal.read();
    expect(await readFile(main, "utf8")).toBe(before);
  });

  test("that cannot be kept is told once, and keeps nobody from deleting", async () => {
    const [main, folder, warnings] = [await createPath(), await createFolder(), [] as object[]];
    const journal = withCopy(createJournal(main), createJournal(folder), quiet(warnings));
    const lines = [lineAt(new Date(1)), lineAt(new Date(2))];
    for (const line of lines) await journal.append([line]);
    expect(await journal.read()).toEqual({ lines, isCut: false });
    expect(warnings).toHaveLength(1);
  });
});

/** A world whose database and journal a test can exchange. */
async function createGround(env: Record<string, string> = {}) {
  const folder = await createFolder();
  const { url, remove } = await createEmptyCopy();
  onTestFinished(remove);
  const path = join(folder, "erasures.jsonl");
  const secret = randomBytes(32).toString("base64");
  const lines: string[] = [];
  const world = await createWorld({
    env: { DATABASE_URL: url, DATA_DIR: join(folder, "data"), ERASURE_JOURNAL: path, SECRET_KEY: secret, ...env },
    log: (line) => void lines.push(line),
  });
  const people = deriveKey(Buffer.from(secret, "base64"), "people");
  const hashOf = (userId: string): string => keyedHash(people, userId);
  return { world, folder, url, path, hashOf, lines, ...(await plant(world)) };
}

/** Run a statement that needs a database other than the one it is about. */
async function administer(...statements: string[]): Promise<void> {
  const address = new URL(inject("template"));
  address.pathname = "/postgres";
  const client = new pg.Client({ connectionString: address.href });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** Keep a copy of the database of a stopped service. @returns puts it back, as a restored backup */
async function backUp(url: string): Promise<() => Promise<void>> {
  if (inject("dialect") === "postgres") {
    const name = new URL(url).pathname.slice(1);
    const drop = (what: string): string => `DROP DATABASE IF EXISTS ${what} WITH (FORCE)`;
    await administer(`CREATE DATABASE ${name}_backup TEMPLATE ${name} STRATEGY file_copy`);
    onTestFinished(() => administer(drop(`${name}_backup`)));
    return () => administer(drop(name), `CREATE DATABASE ${name} TEMPLATE ${name}_backup STRATEGY file_copy`);
  }
  const file = sqliteFile(url);
  await copyFile(file, `${file}.backup`);
  return async () => {
    for (const part of ["-wal", "-shm"]) await rm(`${file}${part}`, { force: true });
    await copyFile(`${file}.backup`, file);
  };
}

const rowsOf = async ({ app }: World, userId: string) => {
  const { read } = app.database;
  const where = { userId };
  const [authorization, sessions, servers, matches] = await Promise.all([
    read.authorization.count({ where }),
    read.authorizationSession.count({ where }),
    read.userServer.count({ where }),
    read.match.count({ where }),
  ]);
  return { authorization, sessions, servers, matches };
};
const none = { authorization: 0, sessions: 0, servers: 0, matches: 0 };
const all = { authorization: 1, sessions: 2, servers: 2, matches: 2 };
const again = async (world: World) => (await world.get("/audit?action=user.erase_again")).body.data;

describe("a restored backup that is older than a deletion", () => {
  test("has it applied again also where the whole data folder was put back, the journal with it", async () => {
    const { world, folder, url, person } = await createGround({ ERASURE_JOURNAL: "" });
    const path = join(folder, "data", "erasures.jsonl");
    await world.app.stop();
    const restore = await backUp(url);
    await world.restart();
    await world.app.privacy.erase(asPerson(person.id), person.id);
    const written = await readFile(path, "utf8");
    expect(await rowsOf(world, person.id)).toEqual(none);
    await world.app.stop();
    await restore();
    await rm(path);
    await world.restart();
    expect(await rowsOf(world, person.id)).toEqual(none);
    expect(await again(world)).toHaveLength(1);
    expect(await readFile(path, "utf8")).toBe(written);
  });

  test("has the deletion applied again at the next start, and the redaction of somebody else, too", async () => {
    const { world, url, path, lines, person, other } = await createGround();
    await world.app.stop();
    const restore = await backUp(url);
    await world.restart();
    await world.app.privacy.erase(asPerson(person.id), person.id);
    await world.app.privacy.redact(cli(), other.id, { reason: "Asked for by the person by mail." });
    expect(await rowsOf(world, person.id)).toEqual(none);
    await world.app.stop();
    await restore();
    lines.length = 0;
    await world.restart();

    expect(await rowsOf(world, person.id)).toEqual(none);
    expect(await rowsOf(world, other.id)).toEqual(none);
    const { read } = world.app.database;
    expect(await read.blacklistRecord.count({ where: { subjectId: person.id } })).toBe(1);
    expect(await read.staffProfile.count({ where: { userId: person.id } })).toBe(1);
    const entries = await again(world);
    expect(entries).toHaveLength(2);
    expect(new Map(entries.map((entry: any) => [entry.subject_user_id, `${entry.via} ${entry.after.kind}`]))).toEqual(
      new Map([
        [person.id, "job deletion"],
        [other.id, "job redaction"],
      ]),
    );
    expect(await read.outboxEvent.count({ where: { type: "user.erased" } })).toBe(2);
    const verify = async () => (await world.get("/audit/verify")).body.data;
    expect(await verify()).toMatchObject({ ok: false });
    await world.app.audit.acceptRestore(cli(), { reason: "The backup was put back." });
    expect(await verify()).toMatchObject({ ok: true });
    const asked = await world.post("/authorize/sessions", { discord_user_id: other.id }, { actor: await world.staff("moderator") });
    expect(asked.body).toMatchObject({ status: 409, from: "redacted" });
    const said = lines.filter((line) => line.includes("carried out again"));
    expect(said).toHaveLength(1);
    expect(JSON.parse(said[0] ?? "")).toMatchObject({ deletions: 3, people: 2 });
    expect(said[0]).not.toContain(person.id);
    const written = (await readFile(path, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).id as string);
    expect((await read.erasure.findMany()).map(({ id }) => id).toSorted()).toEqual(written.toSorted());

    await world.restart();
    expect(await again(world)).toHaveLength(2);
  });

  test("keeps what a person has granted since they took it back", async () => {
    const { world, path, hashOf, person } = await createGround();
    const { grantedAt } = await world.app.database.read.authorization.findUniqueOrThrow({ where: { userId: person.id } });
    const before = { id: uuid7(), kind: "revocation" as const, subjectHash: hashOf(person.id), at: new Date(grantedAt.getTime() - 1) };
    await createJournal(path).append([before, { ...before, id: uuid7(), kind: "deletion" }]);
    await world.restart();
    expect(await rowsOf(world, person.id)).toMatchObject({ authorization: 1, servers: 2, matches: 2 });
    expect(await world.app.database.read.erasure.count()).toBe(2);

    await createJournal(path).append([{ ...before, id: uuid7(), at: grantedAt }]);
    await world.restart();
    const { read } = world.app.database;
    expect(await read.authorization.findUnique({ where: { userId: person.id } })).toMatchObject({ status: "revoked", accessToken: null });
    expect(await read.userServer.count({ where: { userId: person.id } })).toBe(0);
  });

  test("notes a line about somebody it never knew, and changes nothing else", async () => {
    const { world, path, hashOf, person } = await createGround();
    const line: JournalLine = { id: uuid7(), kind: "redaction", subjectHash: hashOf("80351110224678912"), at: new Date() };
    await createJournal(path).append([line]);
    await world.restart();
    expect(await world.app.database.read.erasure.findMany()).toMatchObject([{ id: line.id, subjectHash: line.subjectHash }]);
    expect(await again(world)).toEqual([]);
    expect(await rowsOf(world, person.id)).toEqual(all);
  });
});

test("a lost journal is written again from the database at the next start", async () => {
  const { world, path, person } = await createGround();
  await world.app.privacy.erase(asPerson(person.id), person.id);
  const whole = await readFile(path, "utf8");
  await rm(path);
  await world.restart();
  expect(await readFile(path, "utf8")).toBe(whole);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await again(world)).toEqual([]);
});

/** The privacy room of a world, with a database and a journal of its own. */
function roomOf({ app }: World, path: string, hashOf: (userId: string) => string, database: Database = app.database) {
  const journal = createJournal(path);
  return createPrivacyService({
    ...app,
    database,
    journal,
    hashOf,
    reach: createLinkReach(),
    erasures: createErasures({ hashOf, journal }),
    reads: { note: () => undefined, forget: () => undefined, flush: () => Promise.resolve(), close: () => Promise.resolve() },
    confirmations: {
      hold: () => Promise.resolve(undefined),
      register: () => undefined,
      endAbout: () => Promise.resolve(),
      lock: () => Promise.resolve(),
    },
    hiddenRequests: () => Promise.resolve([]),
    logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
}

describe("a deletion that is cut short", () => {
  test("between its line and its commit is carried out at the next start", async () => {
    const { world, path, hashOf, person } = await createGround();
    const failing: Database = {
      ...world.app.database,
      write: (call, work) =>
        world.app.database.write(call, async (tx) => {
          const value = await work(tx);
          tx.beforeCommit(async () => tx.beforeCommit(() => Promise.reject(new Error("the power went"))));
          return value;
        }),
    };
    await expect(roomOf(world, path, hashOf, failing).erase(asPerson(person.id), person.id)).rejects.toThrow("the power went");
    expect((await readFile(path, "utf8")).trim().split("\n")).toHaveLength(1);
    expect(await rowsOf(world, person.id)).toEqual(all);
    expect(await world.app.database.read.erasure.count()).toBe(0);
    await world.restart();
    expect(await rowsOf(world, person.id)).toEqual(none);
    expect(await world.app.database.read.erasure.count()).toBe(1);
    expect(await again(world)).toHaveLength(1);
  });

  test("between two of its lines leaves neither: what belongs to one change is written in one go", async () => {
    const { world, hashOf, person } = await createGround();
    const written: string[] = [];
    const journal = {
      append: (lines: readonly JournalLine[]) => {
        if (written.length > 0) return Promise.reject(new Error("the disk is full"));
        written.push(...lines.map(({ kind }) => kind));
        return Promise.resolve();
      },
    };
    const erasures = createErasures({ hashOf, journal });
    await write(world, async (tx) => {
      await erasures.note(tx, "redaction", person.id);
      await erasures.note(tx, "suppression", person.id);
    });
    expect(written).toEqual(["redaction", "suppression"]);
    expect(await world.app.database.read.erasure.count()).toBe(2);
  });

  test("takes nothing at the next start that is younger than its line", async () => {
    const { world, path, hashOf, person, other, moderator } = await createGround();
    const line = { id: uuid7(), kind: "redaction" as const, subjectHash: hashOf(person.id), at: new Date() };
    await createJournal(path).append([line]);
    const since = new Date(line.at.getTime() + 1);
    await write(world, async ({ db }) => {
      const entry = { userId: person.id, permission: "*", effect: "deny", reason: "since", createdBy: moderator.id, createdAt: since };
      await db.userPermission.create({ data: entry });
      await db.staffProfile.update({ where: { userId: person.id }, data: { department: "Pier", updatedAt: since } });
      await db.guildMember.updateMany({ where: { userId: person.id }, data: { nick: "since", updatedAt: since } });
      const [userA = "", userB = ""] = [person.id, other.id].toSorted();
      const link = { userA, userB, activeKey: `${userA}:${userB}`, confidence: "confirmed", kind: "declared_alt", basis: [] };
      await db.accountLink.create({ data: { ...link, propagates: false, status: "active", createdAt: since, updatedAt: since } });
      await db.workflowRequest.updateMany({ where: { requesterId: person.id }, data: { createdAt: since } });
    });
    const address = (await world.post("/authorize/sessions", { discord_user_id: person.id }, { actor: moderator })).body.url as string;
    await world.restart();

    const where = { userId: person.id };
    const { read } = world.app.database;
    expect(await read.erasure.count()).toBe(1);
    expect(await read.userPermission.findMany({ where, select: { permission: true } })).toEqual([{ permission: "*" }]);
    expect(
      world.app.access
        .of(person.id)
        .decide("staff.read")
        .reasons.map(({ code }) => code),
    ).toContain("suspension");
    expect(await read.staffProfile.findUnique({ where })).toMatchObject({ department: "Pier" });
    expect(await read.guildMember.findMany({ where, select: { nick: true } })).toContainEqual({ nick: "since" });
    const links = await read.accountLink.findMany({ where: { OR: [{ userA: person.id }, { userB: person.id }] } });
    expect(links.map(({ kind }) => kind)).toEqual(["declared_alt"]);
    expect(await read.workflowRequest.findFirst({ where: { requesterId: person.id } })).toMatchObject({ requesterName: words.name });
    // What is as old as the line is gone.
    expect(await rowsOf(world, person.id)).toMatchObject({ authorization: 0, servers: 0, matches: 0, sessions: 1 });
    expect(await read.blacklistRecord.findFirst({ where: { subjectId: person.id } })).toMatchObject({ subjectName: null });
    expect((await fetch(world.url + new URL(address).pathname)).status).toBe(200);
  });

  test("because the journal cannot be written changes nothing", async () => {
    const { world, hashOf, person } = await createGround();
    const folder = await createFolder();
    await expect(roomOf(world, folder, hashOf).erase(asPerson(person.id), person.id)).rejects.toThrow();
    expect(await rowsOf(world, person.id)).toEqual(all);
    expect(await world.app.database.read.erasure.count()).toBe(0);
    expect((await world.get("/audit?action=user.erase")).body.data).toEqual([]);
  });

  test("a damaged journal keeps the service from starting, in plain words", async () => {
    const { world, path, hashOf } = await createGround();
    await writeFile(path, "nonsense\n");
    await expect(roomOf(world, path, hashOf).catchUp()).rejects.toThrow(/damaged \(ERASURE_JOURNAL\): line 1 of/);
  });
});

test("granting again after a deletion is not undone at the next start", async () => {
  const { world, person, moderator } = await createGround();
  await world.app.privacy.erase(asPerson(person.id), person.id);
  await authorize(world, person, { by: moderator });
  await world.restart();
  expect(await rowsOf(world, person.id)).toMatchObject({ authorization: 1, servers: 2 });
});
