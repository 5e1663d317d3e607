import { setImmediate } from "node:timers/promises";
import type { ReadClient } from "../../database/database.ts";
import type { AuditEntry, AuditPayload } from "../../generated/sqlite/client.ts";
import { commitment, entryHash, genesis } from "./audit.chain.ts";
import type { AuditVerification } from "./audit.schema.ts";

type Kind = NonNullable<AuditVerification["kind"]>;
interface Link {
  seq: number;
  hash: string;
}

const slice = 500;

/** Walk the chain in slices, letting other work through between them, and name the first entry that is wrong. */
export async function verifyChain(db: ReadClient): Promise<AuditVerification> {
  const head = await db.auditEntry.findFirst({ orderBy: { seq: "desc" }, select: { seq: true } });
  let last: Link = { seq: 0, hash: genesis };
  while (last.seq < (head?.seq ?? 0)) {
    const rows = await db.auditEntry.findMany({ where: { seq: { gt: last.seq } }, orderBy: { seq: "asc" }, take: slice });
    const payloads = await db.auditPayload.findMany({ where: { seq: { gt: last.seq, lte: rows.at(-1)?.seq ?? last.seq } } });
    const details = new Map(payloads.map((payload) => [payload.seq, payload]));
    for (const row of rows) {
      const kind = await flaw(db, last, row, details.get(row.seq));
      const bad = kind === "entry_missing" ? last.seq + 1 : row.seq;
      if (kind !== undefined) return { ok: false, entries: last.seq, checkpoints: 0, first_bad_seq: bad, kind };
      last = row;
    }
    await setImmediate();
  }
  return { ok: true, entries: last.seq, checkpoints: 0 };
}

/** An erased payload is no flaw: the chain binds it by its commitment only. */
async function flaw(db: ReadClient, last: Link, row: AuditEntry, details: AuditPayload | undefined): Promise<Kind | undefined> {
  if (row.seq !== last.seq + 1) return "entry_missing";
  if (row.prevHash !== last.hash) {
    const elsewhere = await db.auditEntry.findUnique({ where: { hash: row.prevHash }, select: { seq: true } });
    return elsewhere === null ? "entry_inserted" : "order_changed";
  }
  if (row.hash !== entryHash(withoutHash(row))) return "entry_changed";
  if (details !== undefined && commitment(details.salt, details.payload) !== row.payloadCommitment) return "payload_changed";
  return undefined;
}

function withoutHash(row: AuditEntry): Omit<AuditEntry, "hash"> {
  const { hash: _hash, ...rest } = row;
  return rest;
}
