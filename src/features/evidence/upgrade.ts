import type { Database, Tx } from "../../database/database.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { systemCall } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { AuditService } from "../audit/audit.service.ts";
import { committed, whole } from "./rows.ts";

/** Set by the migration of a database in which hashes of contents were stored. */
const key = "evidence_commitments";
/** Pieces of one transaction. */
const batch = 200;

/**
 * Gives pieces that were stored with a plain hash their commitment, and erases the details of the audit entries that hold such a hash:
 * contents can be guessed by them, also those that were redacted since. Done once, before anything is served.
 */
export async function upgradeHashes(database: Database, audit: Pick<AuditService, "record" | "erase">): Promise<void> {
  const call = systemCall("job", uuid7());
  if ((await database.read.$select("Setting", Prisma.sql`WHERE t.key = ${key}`)).length === 0) return;
  while ((await database.write(call, (tx) => commitSome(tx, audit))) === batch);
  await database.write(call, async (tx) => {
    const permission = "system.act";
    for (const prefix of ["evidence.add", "evidence.redact"])
      await audit.erase(tx, { actionPrefixes: [prefix] }, { action: "evidence.forget_hashes", after: { entries: prefix }, permission });
    await tx.db.setting.delete({ where: { key } });
  });
}

/** The entry binds the commitments into the chain, as that of a new piece does. */
async function commitSome(tx: Tx, audit: Pick<AuditService, "record">): Promise<number> {
  const where = { commitment: null, redactedAt: null };
  const pieces = await tx.db.evidenceItem.findMany({ where, include: whole, orderBy: { id: "asc" }, take: batch });
  const made: object[] = [];
  for (const piece of pieces) {
    const data = committed(piece);
    await tx.db.evidenceItem.update({ where: { id: piece.id }, data });
    made.push({ evidence_id: piece.id, kind: piece.kind, commitment: data.commitment });
  }
  if (made.length > 0) audit.record(tx, { action: "evidence.commit", after: { pieces: made }, permission: "system.act" });
  return pieces.length;
}
