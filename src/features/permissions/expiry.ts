import type { Logger } from "pino";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { earliestOf } from "../../database/earliest.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import { everything } from "./overrides.ts";
import { permissionsPolicy } from "./permissions.policy.ts";
import { auditOf } from "./users/users.policy.ts";
import { createUserRows } from "./user-rows.ts";

export interface ExpiryDeps extends Deps<"database" | "access" | "clock"> {
  audit: AuditService;
  events: EventsService;
  logger: Logger;
}

/** People per transaction. */
const batch = 100;

/**
 * What time does to entries and suspensions. Decisions ignore what has ended at once; this takes it off the books.
 */
export function createExpiry({ database, audit, events, access, clock, logger }: ExpiryDeps) {
  const userRows = createUserRows(access);

  /** @returns whether anything of this person had ended */
  async function expireOf(tx: Tx, userId: string): Promise<boolean> {
    const { rows } = await userRows.open(tx, userId);
    const gone = rows.filter(({ expiresAt }) => expiresAt !== null && expiresAt <= tx.now);
    if (gone.length === 0) return false;
    await userRows.save(tx, userId, { rows: rows.filter((row) => !gone.includes(row)), gone, fresh: [] });
    audit.record(tx, {
      action: "user_permissions.expire",
      user: userId,
      before: auditOf(gone),
      after: [],
      permission: permissionsPolicy.jobs,
    });
    events.emit(tx, { type: "permission.changed", data: { user_id: userId, expired: true } });
    if (gone.some(({ permission }) => permission === everything))
      events.emit(tx, { type: "staff.access_changed", data: { user_id: userId, change: "suspension_expired" } });
    return true;
  }

  const findDue = (after: { userId: string } | undefined): Promise<{ userId: string }[]> =>
    database.read.userPermission.findMany({
      where: { expiresAt: { lte: clock.now() }, ...(after !== undefined && { userId: { gt: after.userId } }) },
      select: { userId: true },
      distinct: ["userId"],
      orderBy: { userId: "asc" },
      take: batch,
    });

  const expireAll = (call: Call, due: readonly { userId: string }[]): Promise<number> =>
    database.write(call, async (tx) => {
      let people = 0;
      for (const { userId } of due) people += (await expireOf(tx, userId)) ? 1 : 0;
      return people;
    });

  return {
    /** End every entry and suspension past its end. @returns how many people it was about */
    async expireEntries(call: Call): Promise<number> {
      requirePermission(call, permissionsPolicy.jobs);
      return await sweepIsolated({
        size: batch,
        find: findDue,
        work: (due) => expireAll(call, due),
        logger,
        failure: "what somebody's permissions have lost by time could not be taken off the books; it is tried again in a minute",
        idsOf: ({ userId }) => ({ user_id: userId }),
      });
    },

    /** When the next entry or suspension ends. */
    nextDue: (): Promise<Date | null> => earliestOf(database.read, "UserPermission", "expiresAt"),
  };
}
