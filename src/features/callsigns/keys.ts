import type { ReadClient, TransactionClient } from "../../database/database.ts";
import type { CallsignSlot } from "../../generated/sqlite/client.ts";

export type CallsignReader = Pick<ReadClient | TransactionClient, "callsignPool" | "callsignSlot">;

/** What no two slots of a number have at once while it counts. */
export const liveKeyOf = (pool: string, number: number): string => `${pool}:${number.toString()}`;

/** What no two slots of a person have at once while they hold one. */
export const holderKeyOf = (pool: string, userId: string): string => `${pool}:${userId}`;

/** The database's words for slots whose time is not over. */
export const lasting = (now: Date) => ({ OR: [{ until: null }, { until: { gt: now } }] });

/** Whether the time of a reservation or rest is over, swept or not. */
export function isOver({ until }: Pick<CallsignSlot, "until">, now: Date): boolean {
  return until !== null && until <= now;
}
