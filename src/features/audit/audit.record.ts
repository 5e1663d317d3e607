import { randomBytes } from "node:crypto";
import type { Tx } from "../../database/database.ts";
import type { AuditEntry } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { cleanText, commitment, entryHash, genesis, storable } from "./audit.chain.ts";
import type { AuditInput } from "./audit.service.ts";

const insertedAtOnce = 500;

/**
 * Collects the entries of a transaction and chains them right before its commit: one read of the chain's head, then the inserts,
 * so that the lock on the head is held as short as can be.
 */
export function createRecorder(): (tx: Tx, entry: AuditInput) => void {
  const queues = new WeakMap<Tx, AuditInput[]>();
  return (tx, entry) => {
    const queue = queues.get(tx);
    if (queue !== undefined) {
      queue.push(entry);
      return;
    }
    const fresh = [entry];
    queues.set(tx, fresh);
    tx.beforeCommit(async () => {
      queues.delete(tx);
      await append(tx, fresh);
    });
  };
}

async function append(tx: Tx, inputs: readonly AuditInput[]): Promise<void> {
  await tx.lock("audit");
  const head = await tx.db.auditEntry.findFirst({ orderBy: { seq: "desc" }, select: { seq: true, hash: true } });
  let { seq, hash } = head ?? { seq: 0, hash: genesis };
  const entries: AuditEntry[] = [];
  const payloads: { seq: number; salt: string; payload: object }[] = [];
  for (const input of inputs) {
    seq += 1;
    const salt = randomBytes(16).toString("base64url");
    const payload = storable({ reason: input.reason ?? null, before: input.before ?? null, after: input.after ?? null }) as object;
    const unsigned = { ...columns(tx, input), seq, payloadCommitment: commitment(salt, payload), prevHash: hash };
    hash = entryHash(unsigned);
    entries.push({ ...unsigned, hash });
    payloads.push({ seq, salt, payload });
  }
  for (let from = 0; from < entries.length; from += insertedAtOnce) {
    await tx.db.auditEntry.createMany({ data: entries.slice(from, from + insertedAtOnce) });
    await tx.db.auditPayload.createMany({ data: payloads.slice(from, from + insertedAtOnce) });
  }
}

function columns(tx: Tx, input: AuditInput): Omit<AuditEntry, "seq" | "payloadCommitment" | "prevHash" | "hash"> {
  const { call, now } = tx;
  return {
    id: uuid7(now.getTime()),
    at: now,
    action: input.action,
    outcome: "ok",
    actorId: call.actor?.id ?? null,
    clientId: call.client?.id ?? null,
    via: call.via,
    targetKind: input.target?.kind ?? null,
    targetId: input.target === undefined ? null : cleanText(input.target.id),
    targetReference: input.target?.reference ?? null,
    subjectUserId: input.subjectUserId ?? null,
    guildId: input.guildId ?? null,
    requestId: call.requestId,
    permissionUsed: input.permission ?? null,
    breakGlass: input.breakGlass ?? false,
    erased: input.erased === undefined ? null : JSON.stringify(input.erased),
  };
}
