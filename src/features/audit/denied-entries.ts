import type { Tx } from "../../database/database.ts";
import type { DeniedAttempt } from "../../kernel/denied.ts";
import type { DeniedAttempts } from "./denied.ts";
import type { QueuedEntry } from "./record.ts";

type Target = NonNullable<QueuedEntry["target"]>;

/** Entries of refused attempts, one for each kind, and one for all that were too many to be told apart. */
export async function deniedEntries(tx: Tx, attempts: readonly DeniedAttempts[], overflow: number): Promise<QueuedEntry[]> {
  const entries: QueuedEntry[] = [];
  for (const { attempt, count, firstAt, lastAt } of attempts) {
    const { caller, action, code, subjectUserId } = attempt;
    const target = await targetOf(tx, attempt);
    entries.push({
      action,
      outcome: "denied",
      caller,
      ...(target !== undefined && { target }),
      ...(subjectUserId !== undefined && { subjectUserId }),
      ...(caller.guildId !== undefined && { guildId: caller.guildId }),
      reason: code,
      after: { count, first_at: firstAt.toISOString(), last_at: lastAt.toISOString() },
    });
  }
  if (overflow > 0) entries.push({ action: "audit.denied_overflow", outcome: "denied", after: { count: overflow } });
  return entries;
}

const reference = /^[A-Z0-9-]{1,32}-\d{1,9}$/;

/**
 * What may be hidden is named only where the refusal is about the record itself, and then by its id, so that the entry is kept from
 * those the record is kept from. Whether an entry is shown must not tell anybody that there is such a record.
 */
async function targetOf(tx: Tx, { target, isAboutRecord }: DeniedAttempt): Promise<Target | undefined> {
  if (target?.kind === "evidence") return isAboutRecord ? recordOf(tx, target.id.toLowerCase()) : undefined;
  const find = target === undefined ? undefined : mayBeHidden[target.kind];
  if (target === undefined || find === undefined) return target;
  if (!isAboutRecord) return undefined;
  const named = target.id.toUpperCase();
  // Ids are stored in small letters: only as they are stored the entry is kept from those the record is kept from.
  if (!reference.test(named)) return { ...target, id: target.id.toLowerCase() };
  const record = await find(tx, named);
  return record === null ? undefined : { ...target, id: record.id, reference: named };
}

/** Evidence is hidden with the record it belongs to: that is named in its place. */
async function recordOf({ db }: Tx, id: string): Promise<Target | undefined> {
  const piece = await db.evidenceItem.findUnique({ where: { id }, select: { recordKind: true, recordId: true, isConfidential: true } });
  return piece === null || piece.isConfidential ? undefined : { kind: piece.recordKind, id: piece.recordId };
}

/** Finds records that may be hidden by their references, under the first word of their paths. */
const mayBeHidden: Readonly<Record<string, (tx: Tx, named: string) => Promise<{ id: string } | null>>> = {
  cases: ({ db }, named) => db.case.findUnique({ where: { number: Number(/\d+$/.exec(named)?.[0]) }, select: { id: true } }),
  workflows: ({ db }, named) => db.workflowRequest.findUnique({ where: { reference: named }, select: { id: true } }),
};
