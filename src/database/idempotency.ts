import type { Call, IdempotencyClaim } from "../kernel/call.ts";
import { addSeconds } from "../kernel/clock.ts";
import { ProblemError } from "../kernel/errors.ts";
import type { ReadClient, TransactionClient } from "./client.ts";
import { Prisma } from "../generated/sqlite/client.ts";

/** An answer that an earlier request with the same key has been given. */
export interface Replay {
  found: true;
  value: unknown;
}

/**
 * The stored answer of a claim that has not expired.
 * @throws ProblemError idempotency_key_reused when the key belongs to another body
 */
export async function findStored(
  db: Pick<ReadClient, "idempotencyRecord">,
  claim: IdempotencyClaim,
  now: Date,
): Promise<Replay | undefined> {
  const row = await db.idempotencyRecord.findUnique({
    where: { scope: claim.scope },
    select: { fingerprint: true, body: true, expiresAt: true },
  });
  if (row === null || row.expiresAt <= now) return undefined;
  if (row.fingerprint !== claim.fingerprint) throw new ProblemError("idempotency_key_reused");
  return { found: true, value: row.body };
}

/**
 * Keep the answer in the transaction of its effect, with every id it speaks of. A record of the same scope can only be an expired
 * one; its subjects go with it.
 */
export async function store(db: TransactionClient, claim: IdempotencyClaim, result: unknown, now: Date, seconds: number): Promise<void> {
  const { scope, fingerprint, status } = claim;
  const body = toJson(result);
  await db.idempotencyRecord.deleteMany({ where: { scope } });
  await db.idempotencyRecord.create({
    data: { scope, fingerprint, status, body, createdAt: now, expiresAt: addSeconds(now, seconds) },
  });
  const subjects = [...idsIn(body)].map((subjectId) => ({ scope, subjectId }));
  if (subjects.length > 0) await db.idempotencySubject.createMany({ data: subjects });
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

function toJson(result: unknown): Prisma.InputJsonValue | typeof Prisma.JsonNull {
  const text = JSON.stringify(result) as string | undefined;
  const value = text === undefined ? null : (JSON.parse(text) as Prisma.InputJsonValue | null);
  return value ?? Prisma.JsonNull;
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
