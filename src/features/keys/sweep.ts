import type { Database, Logger, Tx } from "../../database/database.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { addSeconds, type Clock } from "../../kernel/clock.ts";
import { keysPolicy, secondsPerDay, type KeyRow } from "./keys.policy.ts";
import type { KeyRecords } from "./records.ts";

/** How many days before its end a key is spoken of, each once. */
const notices = [1, 7, 30] as const;
const batch = 100;

interface SweepDeps {
  database: Database;
  records: KeyRecords;
  clock: Clock;
  logger: Pick<Logger, "warn"> | undefined;
}

/** What time does to keys: the notice that one ends soon. */
export function createKeySweep({ database, records, clock, logger }: SweepDeps) {
  /** @returns whether the notice was due still */
  async function tell(tx: Tx, id: string): Promise<boolean> {
    const row = await records.lock(tx, id);
    const noticeDays = dueNotice(row, tx.now);
    if (noticeDays === undefined) return false;
    await tx.db.apiKey.update({ where: { id }, data: { noticeDays } });
    const daysLeft = Math.ceil((row.expiresAt.getTime() - tx.now.getTime()) / (secondsPerDay * 1000));
    const about = { action: "api_key.expiring", event: "api_key.expiring", permission: keysPolicy.sweep } as const;
    const told = { days_left: daysLeft, expires_at: row.expiresAt.toISOString() };
    records.note(tx, row, { ...about, data: told }, { after: told });
    tx.afterCommit(() => logger?.warn({ key_id: row.keyId, name: row.name, days_left: daysLeft }, "an API key ends soon"));
    return true;
  }

  async function tellSome(call: Call): Promise<{ seen: number; told: number }> {
    const now = clock.now();
    const due = notices.map((days) => ({
      expiresAt: { gt: now, lte: addSeconds(now, days * secondsPerDay) },
      OR: [{ noticeDays: null }, { noticeDays: { gt: days } }],
    }));
    const where = { revokedAt: null, OR: due };
    const rows = await database.read.apiKey.findMany({ where, select: { id: true }, orderBy: { id: "asc" }, take: batch });
    if (rows.length === 0) return { seen: 0, told: 0 };
    const told = await database.write(call, async (tx) => {
      let count = 0;
      for (const { id } of rows) if (await tell(tx, id)) count += 1;
      return count;
    });
    return { seen: rows.length, told };
  }

  /**
   * Tell of every key that ends within 30, 7 or 1 days, once each. For the job that runs each minute.
   * @returns how many notices were given
   */
  return async (call: Call): Promise<number> => {
    requirePermission(call, keysPolicy.sweep);
    let total = 0;
    for (;;) {
      const { seen, told } = await tellSome(call);
      total += told;
      if (seen < batch || told === 0) return total;
    }
  };
}

/** The notice to be given now, in days. */
function dueNotice({ revokedAt, expiresAt, noticeDays }: KeyRow, now: Date): number | undefined {
  if (revokedAt !== null || expiresAt <= now) return undefined;
  const days = notices.find((count) => expiresAt <= addSeconds(now, count * secondsPerDay));
  return days !== undefined && (noticeDays === null || noticeDays > days) ? days : undefined;
}
