import type { Tx } from "../../database/database.ts";

/**
 * Whose data goes. With `before` only what is older: a deletion that is caught up with must not take what was given since.
 */
export interface WipeTarget {
  userId: string;
  before?: Date;
}

/**
 * Forget the answers that are kept for repeated requests and that speak of a person: they hold names, and what their servers led
 * to. A request that is repeated after that is judged anew.
 */
export async function dropKeptAnswers({ db }: Tx, { userId }: WipeTarget): Promise<void> {
  const named = `%${userId}%`;
  await db.$executeRaw`DELETE FROM "idempotency_records" WHERE CAST("body" AS TEXT) LIKE ${named}`;
}

/** What ended changes about a person were to be carried out with, reasons among it; that they were asked for stays. */
export async function dropHeldInputs({ db }: Tx, { userId, before }: WipeTarget): Promise<void> {
  const createdAt = before === undefined ? {} : { lte: before };
  await db.confirmation.updateMany({ where: { subjectUserId: userId, status: { not: "pending" }, createdAt }, data: { input: {} } });
}
