import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { earliestOf } from "../../database/earliest.ts";
import type { ListExemption } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { fieldError, recordNotFound } from "../../kernel/errors.ts";
import { parseDuration, type ListQuery } from "../../kernel/fields.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { ListChecks } from "./checks.ts";
import type { Conflicts } from "../links/conflicts.ts";
import { listsPolicy, presentExemption, requireServed } from "./lists.policy.ts";
import { AddExemptionInput, type ExemptionView } from "./lists.schema.ts";

export interface ExemptionsDeps extends Deps<"database" | "audit" | "cursors" | "clock" | "servedGuilds" | "logger"> {
  checks: Pick<ListChecks, "ask">;
  conflicts: Pick<Conflicts, "requireMayDecideAboutPerson">;
}

const list = "list_exemptions";
const sweptAtOnce = 100;

const lockOf = (guildId: string, userId: string): string => `exemption:${guildId}:${userId}`;

/** Whom a guild leaves alone, whatever lists say. */
export function createExemptionsService({ database, audit, cursors, clock, servedGuilds, checks, conflicts, logger }: ExemptionsDeps) {
  function note(tx: Tx, row: ListExemption, verb: "add" | "remove" | "expire"): void {
    audit.record(tx, {
      action: `list_exemption.${verb}`,
      target: { kind: "user", id: row.userId },
      subjectUserId: row.userId,
      guildId: row.guildId,
      ...(verb === "add" && { reason: row.reason, after: { until: row.until?.toISOString() ?? null } }),
      permission: verb === "expire" ? "system.act" : listsPolicy.exempt,
    });
    checks.ask(tx, [row.userId]);
  }

  const findDue = (after: ListExemption | undefined): Promise<ListExemption[]> => {
    const behind = after && { OR: [{ userId: { gt: after.userId } }, { userId: after.userId, guildId: { gt: after.guildId } }] };
    const where = { until: { lte: clock.now() }, ...behind };
    return database.read.listExemption.findMany({ where, orderBy: [{ userId: "asc" }, { guildId: "asc" }], take: sweptAtOnce });
  };

  const expireAll = (call: Call, found: readonly ListExemption[]): Promise<number> =>
    database.write(call, async (tx) => {
      for (const row of found) {
        const { guildId, userId, until } = row;
        const { count } = await tx.db.listExemption.deleteMany({ where: { guildId, userId, until } });
        if (count > 0) note(tx, row, "expire");
      }
      return found.length;
    });

  return {
    /** The exemptions of a guild that have not ended, by account. @throws ProblemError permission_denied, record_not_found, invalid_cursor */
    async list(call: Call, guildId: string, query: ListQuery): Promise<Page<ExemptionView>> {
      requirePermission(call, listsPolicy.read);
      requireServed(servedGuilds, guildId);
      const { limit, cursor, count } = query;
      const after = cursor === undefined ? "" : cursors.decode(list, { guildId }, cursor)[1];
      const lasting = { guildId, OR: [{ until: null }, { until: { gt: clock.now() } }] };
      const rows = await database.read.listExemption.findMany({
        where: { ...lasting, userId: { gt: after } },
        orderBy: { userId: "asc" },
        take: limit + 1,
      });
      const page = toPage(rows, limit, presentExemption, ({ userId }) => cursors.encode(list, { guildId }, [userId, userId]));
      return await withTotal(page, { count }, () => database.read.listExemption.count({ where: lasting }));
    },

    /**
     * Leave somebody alone; what the bot did to them here because of lists is taken back. An earlier exemption is replaced.
     * @throws ZodError, ProblemError permission_denied, record_not_found for a guild that is not served, conflict_of_interest,
     * hierarchy_violation
     */
    async add(call: Call, guildId: string, input: AddExemptionInput): Promise<ExemptionView> {
      requireWrite(call, listsPolicy.exempt);
      const { user_id: userId, reason, until } = AddExemptionInput.parse(input);
      requireServed(servedGuilds, guildId);
      return await database.write(call, async (tx) => {
        await tx.lock(lockOf(guildId, userId));
        await conflicts.requireMayDecideAboutPerson(tx, userId);
        const end = endOf(until, tx.now);
        const fields = { reason, until: end, createdBy: tx.call.actor?.id ?? null, createdAt: tx.now };
        const row = await tx.db.listExemption.upsert({
          where: { guildId_userId: { guildId, userId } },
          create: { guildId, userId, ...fields },
          update: { ...fields, revision: { increment: 1 } },
        });
        note(tx, row, "add");
        return presentExemption(row);
      });
    },

    /**
     * End an exemption; answers it as it was.
     * @throws ProblemError permission_denied, record_not_found, precondition_failed, conflict_of_interest, hierarchy_violation
     */
    async remove(call: Call, guildId: string, userId: string, ifMatch?: number): Promise<ExemptionView> {
      requireWrite(call, listsPolicy.exempt);
      requireServed(servedGuilds, guildId);
      return await database.write(call, async (tx) => {
        await tx.lock(lockOf(guildId, userId));
        const where = { guildId_userId: { guildId, userId } };
        const row = await tx.db.listExemption.findUnique({ where });
        if (row === null) throw recordNotFound();
        requireRevision(ifMatch, row.revision);
        await conflicts.requireMayDecideAboutPerson(tx, userId);
        await tx.db.listExemption.delete({ where });
        note(tx, row, "remove");
        return presentExemption(row);
      });
    },

    /** End exemptions by their date. For the job that runs each minute; answers how many. */
    async expireDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return await sweepIsolated({
        size: sweptAtOnce,
        find: findDue,
        work: (found) => expireAll(call, found),
        logger,
        failure: "an exemption that is over could not be ended; it is tried again in a minute",
        idsOf: ({ guildId, userId }) => ({ guild_id: guildId, user_id: userId }),
      });
    },

    /** When the next exemption ends. */
    nextDue: (): Promise<Date | null> => earliestOf(database.read, "ListExemption", "until"),
  };
}

/** @throws ProblemError validation_failed for an end that has passed */
function endOf(until: string | null, now: Date): Date | null {
  if (until === null) return null;
  const seconds = parseDuration(until);
  const end = seconds === undefined ? new Date(until) : addSeconds(now, seconds);
  if (end <= now) throw fieldError("/until", "invalid_value", say("lists.the-exemption-would-have-ended-already"));
  return end;
}
