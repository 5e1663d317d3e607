// @module-tag postgres
import { randomInt } from "node:crypto";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import pg from "pg";
import { expect, inject, test } from "vitest";
import { commitment, entryHash } from "../../src/features/audit/record.ts";
import { verifyOutside } from "../../src/features/audit/outside.ts";
import { sqliteFile } from "../../src/database/dialect.ts";
import type { AuditEntry } from "../../src/generated/sqlite/client.ts";
import { createChainGround, entriesOf } from "../features/audit-chain-ground.ts";
import { sizeOf } from "../support/size.ts";

const isSqlite = inject("dialect") === "sqlite";
/** How many random tamperings are tried; every one is to be found. */
const tamperings = sizeOf({ quick: isSqlite ? 60 : 20, all: isSqlite ? 200 : 60, long: 5000 });

/** What an intruder with the database in hand can do; the triggers are out of their way. */
interface Intruder {
  run(sql: string, values?: readonly (string | number | null)[]): Promise<void>;
  rows<T>(sql: string): Promise<T[]>;
}

type Row = Record<string, string | number | boolean | null> & { seq: number; hash: string };

const columns = [
  "id",
  "at",
  "action",
  "outcome",
  "actor_id",
  "client_id",
  "via",
  "target_kind",
  "target_id",
  "target_reference",
  "subject_user_id",
  "guild_id",
  "request_id",
  "permission_used",
  "break_glass",
  "payload_commitment",
  "erased",
  "prev_hash",
  "hash",
];
const pick = <T>(items: readonly T[]): T => items[randomInt(items.length)] as T;
const positionIn = (count: number): number => 1 + randomInt(count);

/** Another value than the one that is there. */
function another(column: string, old: Row[string]): string | number | null {
  if (column === "break_glass") return isSqlite ? 1 - Number(old) : String(old !== true);
  if (column === "at") return isSqlite ? "2025-05-05T05:05:05.555+00:00" : "2025-05-05 05:05:05.555";
  if (column === "hash" || column === "prev_hash")
    return randomInt(2 ** 40)
      .toString(16)
      .padStart(64, "0");
  return old !== null && randomInt(3) === 0 && !["id", "action", "outcome", "via", "request_id", "payload_commitment"].includes(column)
    ? null
    : `changed-${randomInt(2 ** 40).toString()}`;
}

const valuesOf = (row: Row) =>
  ["seq", ...columns].map((column) => (typeof row[column] === "boolean" ? String(row[column]) : (row[column] ?? null)));
const insert = (row: Row): [string, (string | number | null)[]] => {
  const names = ["seq", ...columns];
  const places = names.map((name, index) =>
    isSqlite ? "?" : name === "at" ? `$${(index + 1).toString()}::text::timestamp` : `$${(index + 1).toString()}`,
  );
  return [`INSERT INTO audit_entries (${names.join(", ")}) VALUES (${places.join(", ")})`, valuesOf(row)];
};

/** The entry of a row, as the chain hashes it. */
function entryOf(row: Row): Omit<AuditEntry, "hash"> {
  const text = (name: string) => row[name] as string;
  return {
    seq: row.seq,
    id: text("id"),
    at: new Date(isSqlite ? text("at") : `${text("at")}Z`),
    action: text("action"),
    outcome: text("outcome"),
    actorId: text("actor_id"),
    clientId: text("client_id"),
    via: text("via"),
    targetKind: text("target_kind"),
    targetId: text("target_id"),
    targetReference: text("target_reference"),
    subjectUserId: text("subject_user_id"),
    guildId: text("guild_id"),
    requestId: text("request_id"),
    permissionUsed: text("permission_used"),
    breakGlass: row["break_glass"] === true || row["break_glass"] === 1,
    payloadCommitment: text("payload_commitment"),
    erased: text("erased"),
    prevHash: text("prev_hash"),
  };
}

/** Make the chain agree with itself again from a position on. */
async function rehash({ run, rows }: Intruder, from: number): Promise<void> {
  const all = await rows<Row>(`SELECT ${selected} FROM audit_entries ORDER BY seq`);
  let last = all.find(({ seq }) => seq === from - 1)?.hash ?? "0".repeat(64);
  // Hashes are unique: the old ones make room first.
  await run(`UPDATE audit_entries SET hash = 'x' || seq WHERE seq >= ${from.toString()}`);
  for (const row of all.filter(({ seq }) => seq >= from)) {
    const hash = entryHash({ ...entryOf(row), prevHash: last });
    await run(`UPDATE audit_entries SET prev_hash = '${last}', hash = '${hash}' WHERE seq = ${row.seq.toString()}`);
    last = hash;
  }
}

const selected = isSqlite
  ? "*"
  : ["seq", ...columns].map((column) => (column === "at" ? "to_char(at, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS') AS at" : column)).join(", ");
const at = (seq: number): string => `seq = ${seq.toString()}`;
const bind = (column: string): string =>
  isSqlite ? "?" : column === "at" ? "$1::text::timestamp" : column === "break_glass" ? "$1::text::boolean" : "$1";

async function rowAt({ rows }: Intruder, seq: number): Promise<Row> {
  const [row] = await rows<Row>(`SELECT ${selected} FROM audit_entries WHERE ${at(seq)}`);
  if (row === undefined) throw new Error(`there is no entry ${seq.toString()}`);
  return row;
}

async function edit(intruder: Intruder, count: number, only: readonly string[] = columns): Promise<number> {
  const [row, column] = [await rowAt(intruder, positionIn(count)), pick(only)];
  await intruder.run(`UPDATE audit_entries SET ${column} = ${bind(column)} WHERE ${at(row.seq)}`, [another(column, row[column] ?? null)]);
  return row.seq;
}

async function swap({ run }: Intruder, first: number, second: number): Promise<void> {
  for (const [from, to] of [
    [first, 100_000],
    [second, first],
    [100_000, second],
  ] as const)
    await run(`UPDATE audit_entries SET seq = ${to.toString()} WHERE ${at(from)}`);
}

async function withDetails({ rows }: Intruder): Promise<number> {
  return pick(await rows<{ seq: number }>("SELECT seq FROM audit_payloads")).seq;
}

/** Each returns when the chain is another than it was. */
const tricks: Readonly<Record<string, (intruder: Intruder, count: number) => Promise<unknown>>> = {
  "an edited column": (intruder, count) => edit(intruder, count),
  "an edited payload": async (intruder) =>
    intruder.run(
      `UPDATE audit_payloads SET payload = '{"reason":"another","before":null,"after":${randomInt(1e9).toString()}}' WHERE ${at(await withDetails(intruder))}`,
    ),
  "an edited salt": async (intruder) =>
    intruder.run(`UPDATE audit_payloads SET salt = '${randomInt(1e12).toString(36)}' WHERE ${at(await withDetails(intruder))}`),
  "payload and salt, so that they fit each other": async (intruder) => {
    const payload = { reason: "forged", before: null, after: randomInt(1e9) };
    expect(commitment("c2FsdA", payload)).toMatch(/^[0-9a-f]{64}$/);
    await intruder.run(
      `UPDATE audit_payloads SET salt = 'c2FsdA', payload = '${JSON.stringify(payload)}' WHERE ${at(await withDetails(intruder))}`,
    );
  },
  "a deleted entry": (intruder, count) => intruder.run(`DELETE FROM audit_entries WHERE ${at(positionIn(count))}`),
  "deleted details": async (intruder) => intruder.run(`DELETE FROM audit_payloads WHERE ${at(await withDetails(intruder))}`),
  "details moved to another entry": async (intruder) => {
    const [seq, other] = [await withDetails(intruder), await withDetails(intruder)];
    await intruder.run(`DELETE FROM audit_payloads WHERE seq = ${other.toString()} AND seq <> ${seq.toString()}`);
    await intruder.run(`UPDATE audit_payloads SET seq = ${(seq === other ? 100_000 : other).toString()} WHERE ${at(seq)}`);
  },
  "a deletion closed up": async (intruder, count) => {
    const seq = positionIn(count);
    await intruder.run(`DELETE FROM audit_entries WHERE ${at(seq)}`);
    await intruder.run(`DELETE FROM audit_payloads WHERE ${at(seq)}`);
    for (const table of ["audit_entries", "audit_payloads"])
      for (let next = seq + 1; next <= count; next += 1)
        await intruder.run(`UPDATE ${table} SET seq = ${(next - 1).toString()} WHERE ${at(next)}`);
  },
  "an inserted entry with the right hash": async (intruder, count) => {
    const row = await rowAt(intruder, positionIn(count));
    for (let next = count; next > row.seq; next -= 1)
      await intruder.run(`UPDATE audit_entries SET seq = ${(next + 1).toString()} WHERE ${at(next)}`);
    const forged = { ...row, seq: row.seq + 1, id: "forged", action: "forged.entry", prev_hash: row.hash };
    await intruder.run(...insert({ ...forged, hash: entryHash(entryOf(forged)) }));
  },
  "an entry before the first": async (intruder, count) => {
    const row = { ...(await rowAt(intruder, positionIn(count))), seq: -randomInt(5), id: "forged", hash: "f".repeat(64) };
    await intruder.run(...insert(row));
  },
  "two that changed places": async (intruder, count) => {
    const first = positionIn(count - 1);
    await swap(intruder, first, first + 1 + randomInt(count - first));
  },
  "a rotated run": async (intruder, count) => {
    const first = positionIn(count - 3);
    await swap(intruder, first, first + 1);
    await swap(intruder, first + 1, first + 3);
  },
  "a cut tail": async (intruder, count) => {
    const last = count - 1 - randomInt(count - 1);
    for (const table of ["audit_entries", "audit_payloads"]) await intruder.run(`DELETE FROM ${table} WHERE seq > ${last.toString()}`);
  },
  "an edit with everything after it hashed anew": async (intruder, count) =>
    rehash(
      intruder,
      await edit(
        intruder,
        count,
        columns.filter((column) => column !== "hash" && column !== "prev_hash"),
      ),
    ),
  "details and their commitment dropped, everything after it hashed anew": async (intruder) => {
    const seq = await withDetails(intruder);
    await intruder.run(`DELETE FROM audit_payloads WHERE ${at(seq)}`);
    await intruder.run(`UPDATE audit_entries SET payload_commitment = '' WHERE ${at(seq)}`);
    await rehash(intruder, seq);
  },
  "deleted details, and an entry that claims they were erased": async (intruder, count) => {
    const seq = await withDetails(intruder);
    await intruder.run(`DELETE FROM audit_payloads WHERE ${at(seq)}`);
    await intruder.run(`UPDATE audit_entries SET erased = '[[1,${count.toString()}]]' WHERE ${at(count)}`);
    await rehash(intruder, count);
  },
  "a tail of the intruder's own": async (intruder, count) => {
    const seq = count - randomInt(5);
    await intruder.run(`UPDATE audit_entries SET action = 'own.' || seq WHERE seq >= ${seq.toString()}`);
    await rehash(intruder, seq);
  },
};

/** A chain with details, erased ones and signed positions, up to its head. */
async function createOriginal() {
  const ground = await createChainGround();
  for (let round = 0; round < 6; round += 1) {
    await ground.record(...entriesOf(60 + round));
    if (round === 2) await ground.database.write(ground.call, (tx) => ground.audit.erase(tx, { targetId: "3" }, { action: "thing.purge" }));
    if (round === 4)
      await ground.database.write(ground.call, (tx) =>
        ground.audit.erase(tx, { subjectUserId: "80351110224678902" }, { action: "person.erase" }),
      );
    await ground.audit.signHead(ground.call);
  }
  const count = await ground.database.read.auditEntry.count();
  await ground.database.close();
  return { ground, count };
}

type Original = Awaited<ReturnType<typeof createOriginal>>;

/** Runs work on a copy of the chain, and then verifies that copy. */
async function onCopy({ ground }: Original, index: number, work: (intruder: Intruder) => Promise<unknown>) {
  return isSqlite ? onFile(ground, join(ground.folder, `${index.toString()}.db`), work) : onServer(ground, `${ground.url}`, work);
}

type Ground = Original["ground"];
const check = (ground: Ground, database: string) => verifyOutside({ from: { database }, checkpoints: ground.path, keys: [ground.signer] });

async function onFile(ground: Ground, file: string, work: (intruder: Intruder) => Promise<unknown>) {
  await copyFile(sqliteFile(ground.url), file);
  const db = new BetterSqlite3(file);
  db.pragma("synchronous = OFF");
  for (const name of db
    .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name LIKE 'audit%'")
    .pluck()
    .all())
    db.exec(`DROP TRIGGER ${name}`);
  db.exec("BEGIN");
  await work({
    run: async (sql, values = []) => void db.prepare(sql).run(...values),
    rows: async <T>(sql: string) => db.prepare<[], T>(sql).all(),
  });
  db.exec("COMMIT");
  db.close();
  return check(ground, `file:${file}`);
}

/** On a server the copy is a schema's worth of tables put back afterwards. */
async function onServer(ground: Ground, url: string, work: (intruder: Intruder) => Promise<unknown>) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const table of ["audit_entries", "audit_payloads"]) {
      await client.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
      await client.query(`CREATE TABLE IF NOT EXISTS kept_${table} AS SELECT * FROM ${table}`);
    }
    await client.query("BEGIN");
    await work({
      run: async (sql, values = []) => void (await client.query(sql, [...values])),
      rows: async <T>(sql: string) => (await client.query(sql)).rows as T[],
    });
    await client.query("COMMIT");
    return await check(ground, url);
  } finally {
    await client.query("ROLLBACK");
    for (const table of ["audit_entries", "audit_payloads"]) {
      await client.query(`DELETE FROM ${table}`);
      await client.query(`INSERT INTO ${table} SELECT * FROM kept_${table}`);
    }
    await client.end();
  }
}

test(`of ${tamperings.toString()} random tamperings every one is found, and untouched copies are whole`, async () => {
  const original = await createOriginal();
  const names = Object.keys(tricks);
  const kinds = new Map<string, number>();
  for (let index = 0; index < tamperings; index += 1) {
    const name = names[index % names.length] ?? "";
    const answer = await onCopy(original, index % 4, (intruder) => (tricks[name] as (typeof tricks)[string])(intruder, original.count));
    expect({ name, index, ...answer }).toMatchObject({
      name,
      index,
      ok: false,
      kind: expect.any(String),
      first_bad_seq: expect.any(Number),
    });
    kinds.set(answer.kind ?? "", (kinds.get(answer.kind ?? "") ?? 0) + 1);
    if (index % 10 === 0)
      expect(await onCopy(original, 4, () => Promise.resolve())).toEqual({ ok: true, entries: original.count, checkpoints: 6 });
  }
  console.info(Object.fromEntries(kinds));
  // What a trick is found as depends on where it hits: only many of them are sure to show every kind.
  const usual = ["entry_changed", "payload_changed", "details_missing", "checkpoint_mismatch", "tail_missing"];
  if (tamperings >= 1000) expect([...kinds.keys()]).toEqual(expect.arrayContaining(usual));
});
