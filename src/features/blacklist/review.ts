import type { Database, Tx } from "../../database/database.ts";
import type { BlacklistRecord, Prisma } from "../../generated/sqlite/client.ts";
import { inBatches } from "../../kernel/pause.ts";
import type { Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import { isLive, referenceOf } from "./blacklist.policy.ts";

export interface ReviewDeps {
  database: Database;
  audit: Pick<AuditService, "record">;
  events: Pick<EventsService, "emit">;
  clock: Clock;
}

const batch = 100;

/** Records that count and whose review is due, and nobody was told of it: another review date takes back that they were. */
function due(now: Date): Prisma.BlacklistRecordWhereInput {
  const lasting = { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  return { status: { in: ["active", "scheduled"] }, reviewAt: { lte: now }, reviewToldFor: null, ...lasting };
}

function isDue(row: BlacklistRecord, now: Date): boolean {
  return isLive(row, now) && row.reviewAt !== null && row.reviewAt <= now && row.reviewToldFor === null;
}

/** @returns tells that the reviews of records are due, once for each date; answers of how many */
export function createReviewSweep({ database, audit, events, clock }: ReviewDeps): (call: Call) => Promise<number> {
  async function tell(tx: Tx, id: string): Promise<void> {
    await tx.lock(`blacklist:${id}`);
    const row = await tx.db.blacklistRecord.findUnique({ where: { id } });
    if (row === null || !isDue(row, tx.now)) return;
    await tx.db.blacklistRecord.update({ where: { id }, data: { reviewToldFor: row.reviewAt } });
    const told = { review_at: row.reviewAt?.toISOString() ?? null };
    audit.record(tx, {
      action: "blacklist.review_due",
      target: { kind: "blacklist", id, reference: referenceOf(row) },
      ...(row.kind === "user" && { subjectUserId: row.subjectId }),
      after: told,
      permission: "system.act",
    });
    events.emit(tx, { type: "blacklist.review_due", data: { id, number: referenceOf(row), kind: row.kind, ...told } });
  }

  async function tellSome(call: Call): Promise<number> {
    const rows = await database.read.blacklistRecord.findMany({
      where: due(clock.now()),
      select: { id: true },
      orderBy: { id: "asc" },
      take: batch,
    });
    if (rows.length === 0) return 0;
    await database.write(call, async (tx) => {
      for (const { id } of rows) await tell(tx, id);
    });
    return rows.length;
  }

  return (call) => inBatches(batch, () => tellSome(call));
}
