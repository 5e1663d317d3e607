import type { Tx } from "../../database/database.ts";

/**
 * Whose data goes. With `before` only what is older: a deletion that is caught up with must not take what was given since.
 */
export interface WipeTarget {
  userId: string;
  before?: Date;
}

/** What ended changes about a person were to be carried out with, reasons among it; that they were asked for stays. */
export async function dropHeldInputs({ db }: Tx, { userId, before }: WipeTarget): Promise<void> {
  const createdAt = before === undefined ? {} : { lte: before };
  await db.confirmation.updateMany({ where: { subjectUserId: userId, status: { not: "pending" }, createdAt }, data: { input: {} } });
}
