import { type AuditInput, commitment, entryHash, genesis } from "../../src/features/audit/record.ts";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { createCheckpoints } from "../../src/features/audit/checkpoints.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createSigner } from "../../src/features/audit/sign.ts";
import { systemCall, type Call } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { Prisma, type AuditEntry } from "../../src/generated/sqlite/client.ts";
import { createTestDatabase } from "../support/database.ts";

export type ChainGround = Awaited<ReturnType<typeof createChainGround>>;

/** The audit alone on a fresh database, with a time and a file of signed positions of its own. */
export async function createChainGround(options: { seed?: Buffer; entries?: number; detailsDays?: number } = {}) {
  const time = { now: Date.parse("2026-01-01T00:00:00.000Z") };
  const clock = { now: () => new Date(time.now) };
  const folder = await mkdtemp(join(tmpdir(), "provost-audit-"));
  const { database, url, drop } = await createTestDatabase({ clock });
  const path = join(folder, "checkpoints.log");
  const lines: string[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const origin = () => Promise.resolve("here");
  await database.write(systemCall("cli", uuid7()), ({ db }) => db.setting.create({ data: { key: "instance_id", value: "here" } }));
  const open = (seed = options.seed ?? randomBytes(32), file = path) => {
    const signer = createSigner(seed);
    const keeper = createCheckpoints({
      path: file,
      signer,
      minutes: 10,
      ...(options.entries !== undefined && { entries: options.entries }),
      origin,
      head: async () => (await database.read.auditEntry.findFirst({ orderBy: { seq: "desc" } })) ?? undefined,
      hashAt: async (seq) => (await database.read.auditEntry.findUnique({ where: { seq } }))?.hash,
      clock,
      logger,
    });
    const audit = createAuditService({
      database,
      cursors: createCursors(Buffer.alloc(32, 7)),
      clock,
      logger,
      detailsDays: options.detailsDays ?? 0,
      checkpoints: { keeper, path: file },
      origin,
    });
    return { audit, keeper, signer };
  };
  const opened = open();
  onTestFinished(async () => {
    await drop();
    await rm(folder, { recursive: true, force: true });
  });
  const call: Call = systemCall("cli", uuid7());
  return {
    ...opened,
    open,
    database,
    url,
    folder,
    path,
    time,
    lines,
    call,
    /** Entries of one transaction. */
    record: (...entries: AuditInput[]) =>
      database.write(call, async (tx) => {
        for (const entry of entries) opened.audit.record(tx, entry);
      }),
    verify: () => opened.audit.verify(call),
  };
}

/** Some entries about a few people and things. */
export function entriesOf(count: number): AuditInput[] {
  return Array.from({ length: count }, (_, made) => ({
    action: made % 3 === 0 ? "thing.create" : "thing.update",
    target: { kind: "thing", id: (made % 7).toString(), reference: `T-${made.toString()}` },
    subjectUserId: `8035111022467890${(made % 5).toString()}`,
    reason: `reason ${made.toString()}`,
    before: { made },
    after: { made: made + 1, note: "changed" },
  }));
}

const stored = [
  "seq",
  "id",
  "at",
  "action",
  "outcome",
  "actor_id",
  "via",
  "target_kind",
  "target_id",
  "subject_user_id",
  "request_id",
  "break_glass",
  "payload_commitment",
  "prev_hash",
  "hash",
];

/** Append many entries as the recorder would, but faster. @param of what an entry says, by its position */
export async function growChain(database: Database, count: number, of: (seq: number) => Partial<AuditEntry> = () => ({})): Promise<void> {
  const head = await database.read.auditEntry.findFirst({ orderBy: { seq: "desc" } });
  const start = head?.seq ?? 0;
  let prevHash = head?.hash ?? genesis;
  for (let done = 0; done < count; done += 5000) {
    const entries: object[] = [];
    const payloads: object[] = [];
    for (let seq = start + done + 1; seq <= start + Math.min(count, done + 5000); seq += 1) {
      const payload = { reason: `reason ${seq.toString()}`, before: { made: seq }, after: { made: seq + 1, note: "x".repeat(80) } };
      const more = {
        actorId: "80351110224678912",
        clientId: null,
        targetKind: "thing",
        targetId: (seq % 97).toString(),
        subjectUserId: null,
      };
      const entry = {
        seq,
        id: uuid7(),
        at: new Date(1_767_225_600_000 + seq * 1000),
        action: "thing.update",
        outcome: "ok",
        via: "rest",
        targetReference: null,
        guildId: null,
        requestId: uuid7(),
        permissionUsed: null,
        breakGlass: false,
        payloadCommitment: commitment("c2FsdA", payload),
        erased: null,
        prevHash,
        ...more,
        ...of(seq),
      };
      prevHash = entryHash(entry);
      const isSqlite = database.dialect === "sqlite";
      entries.push({
        seq,
        id: entry.id,
        at: isSqlite ? entry.at.toISOString().replace("Z", "+00:00") : entry.at,
        action: entry.action,
        outcome: entry.outcome,
        actor_id: entry.actorId,
        via: entry.via,
        target_kind: entry.targetKind,
        target_id: entry.targetId,
        subject_user_id: entry.subjectUserId,
        request_id: entry.requestId,
        break_glass: isSqlite ? 0 : false,
        payload_commitment: entry.payloadCommitment,
        prev_hash: entry.prevHash,
        hash: prevHash,
      });
      payloads.push({ seq, salt: "c2FsdA", payload });
    }
    await insertJson(database, "audit_entries", stored, entries);
    await insertJson(database, "audit_payloads", ["seq", "salt", "payload"], payloads);
  }
  const end = { value: start + count, head: prevHash };
  await database.write(systemCall("cli", uuid7()), ({ db }) =>
    db.counter.upsert({ where: { name: "audit" }, create: { name: "audit", ...end }, update: end }),
  );
}

async function insertJson(database: Database, table: string, columns: readonly string[], rows: readonly object[]): Promise<void> {
  const names = columns.join(", ");
  const text = JSON.stringify(rows);
  const source =
    database.dialect === "sqlite"
      ? Prisma.sql`${Prisma.raw(columns.map((name) => `value ->> '${name}'`).join(", "))} FROM json_each(${text})`
      : Prisma.sql`${Prisma.raw(names)} FROM jsonb_populate_recordset(NULL::${Prisma.raw(table)}, ${text}::jsonb)`;
  await database.write(
    systemCall("cli", uuid7()),
    ({ db }) => db.$executeRaw`INSERT INTO ${Prisma.raw(`${table} (${names})`)} SELECT ${source}`,
  );
}
