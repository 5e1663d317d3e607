import type { Call, IdempotencyClaim } from "../kernel/call.ts";
import { addSeconds } from "../kernel/clock.ts";
import { ProblemError } from "../kernel/errors.ts";
import type { IdempotencyRecord } from "../generated/sqlite/client.ts";
import type { ReadClient, TransactionClient } from "./models.ts";
import type { Insert } from "./tx.ts";

/** An answer that an earlier request with the same key has been given. */
export interface Replay {
  found: true;
  value: unknown;
}

type AnswerReader = Pick<ReadClient, "idempotencyRecord">;

/**
 * The stored answer of a claim that has not expired.
 * @throws ProblemError idempotency_key_reused when the key belongs to another body
 */
export async function findStored(db: AnswerReader, claim: IdempotencyClaim, now: Date): Promise<Replay | undefined> {
  return replayOf(await find(db, claim), claim, now);
}

/** The same inside the transaction of the effect; an expired answer makes room for the one to come. */
export async function findOrMakeRoom(db: TransactionClient, claim: IdempotencyClaim, now: Date): Promise<Replay | undefined> {
  const row = await find(db, claim);
  if (row !== null && row.expiresAt <= now) await db.idempotencyRecord.deleteMany({ where: { scope: claim.scope } });
  return replayOf(row, claim, now);
}

type StoredAnswer = Pick<IdempotencyRecord, "fingerprint" | "body" | "expiresAt">;

function find(db: AnswerReader, { scope }: IdempotencyClaim): Promise<StoredAnswer | null> {
  return db.idempotencyRecord.findUnique({ where: { scope }, select: { fingerprint: true, body: true, expiresAt: true } });
}

function replayOf(row: StoredAnswer | null, claim: IdempotencyClaim, now: Date): Replay | undefined {
  if (row === null || row.expiresAt <= now) return undefined;
  if (row.fingerprint !== claim.fingerprint) throw new ProblemError("idempotency_key_reused");
  return { found: true, value: JSON.parse(row.body) };
}

/** The rows that keep an answer in the transaction of its effect, with every id it speaks of. */
export function keptAnswer(claim: IdempotencyClaim, result: unknown, now: Date, seconds: number): Insert[] {
  const { scope, fingerprint, status } = claim;
  const body = (JSON.stringify(result) as string | undefined) ?? "null";
  const subjects = [...idsIn(JSON.parse(body))].map((subjectId) => ({ scope, subjectId }));
  return [
    { model: "IdempotencyRecord", rows: [{ scope, fingerprint, status, body, createdAt: now, expiresAt: addSeconds(now, seconds) }] },
    { model: "IdempotencySubject", rows: subjects },
  ];
}

/** Delete the kept answers that speak of an id; a request that is repeated after that is judged anew. */
export async function forgetAnswers({ db, erases }: { db: TransactionClient; erases: () => void }, id: string): Promise<void> {
  erases();
  await db.idempotencyRecord.deleteMany({ where: { subjects: { some: { subjectId: id.toLowerCase() } } } });
}

/** Discord ids and UUIDs, alone or inside a longer text. */
const idPattern = /(?<!\d)\d{17,20}(?!\d)|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;

/** Every id in the texts and keys of a JSON value, in lower case. */
function idsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value === "string") for (const [id] of value.matchAll(idPattern)) found.add(id.toLowerCase());
  if (typeof value === "object" && value !== null)
    for (const [key, inner] of Object.entries(value)) {
      idsIn(key, found);
      idsIn(inner, found);
    }
  return found;
}

/** Only one write of a call speaks for its key; a further one must not take the first one's record for a replay. */
export function createClaims() {
  const claimed = new WeakSet<Call>();
  return {
    /** The claim this write is to keep, if it is the one. */
    take(call: Call): IdempotencyClaim | null {
      if (call.idempotency === null || claimed.has(call)) return null;
      claimed.add(call);
      return call.idempotency;
    },
    /** The write came to nothing: another one of the same call may keep the claim. */
    giveBack(call: Call): void {
      claimed.delete(call);
    },
    isTaken: (call: Call): boolean => claimed.has(call),
  };
}
