import type { Deps } from "../deps.ts";
import { createHold, lockAsked, type Apply, type Confirmable } from "./hold.ts";
import type { Tx } from "../../database/database.ts";
import { earliestOf } from "../../database/earliest.ts";
import type { ApiKey } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { createDecisions, type RunOperation } from "./decide.ts";
import { confirmationsPermission, presentConfirmation } from "./confirmations.policy.ts";
import { createConfirmationRecords, type ConfirmationRecords } from "./records.ts";
import { canSee, concerns } from "./rights.ts";
import { keyOf, withoutInput } from "./rows.ts";
import type { ConfirmationView, ListConfirmationsQuery } from "./confirmations.schema.ts";

export type ConfirmationsService = ReturnType<typeof createConfirmationsService>;

export interface ConfirmationsDeps extends Deps<"database" | "cursors" | "reach" | "logger"> {
  audit: AuditService;
  events: EventsService;
  access: Pick<AccessDirectory, "actorOf" | "of" | "allHold">;
  clock?: Clock;
  /** What needs a confirmation in Discord by the acting person. */
  confirmInDiscord: readonly Confirmable["group"][];
  /** Whether granting a dangerous permission needs a second person. */
  secondPersonForDanger: boolean;
  /** Whether a change can be shown whole to whoever confirms it; every one can unless told. */
  fits?: (summary: string) => boolean;
}

/** Changes that wait for a word in Discord, for a second person, or for both. */
export function createConfirmationsService(deps: ConfirmationsDeps) {
  const { database, access, reach, cursors, clock = systemClock, logger } = deps;
  const actions = new Map<string, Apply>();
  const operations = new Map<string, RunOperation>();
  const records = createConfirmationRecords(deps);

  return {
    /** Name the way a held change of this action is carried out; once, at start. */
    register(action: string, apply: Apply): void {
      if (actions.has(action)) throw new Error(`${action} is registered already`);
      actions.set(action, apply);
    },

    /** Name the way held calls of these operations are carried out; once, at start. */
    registerOperations(names: readonly string[], run: RunOperation): void {
      for (const name of names) operations.set(name, run);
    },

    /**
     * Ask, inside the service method's transaction and after all its checks, whether a change has to wait. If so it is kept, and what is
     * returned is the service method's answer; if not, undefined, and the service method goes on.
     * @throws ProblemError acting_user_required when nobody could confirm it, validation_failed when it cannot be shown whole, rate_limited when too much waits for this person,
     * invalid_transition when it is being carried out and would do more than what was confirmed
     */
    hold: createHold({ ...deps, isKnown: (action) => actions.has(action) || operations.has(action) }),
    ...createDecisions({ database, clock, records, access, reach, actions, operations }),
    ...createSweep({ database, records, clock, logger }),

    /** @throws ProblemError record_not_found when it does not exist or is not the caller's business */
    async get(call: Call, key: string): Promise<ConfirmationView> {
      requirePermission(call, confirmationsPermission);
      const where = keyOf(key);
      const row = where === undefined ? null : await database.read.confirmation.findFirst({ where, omit: withoutInput });
      if (row === null || !canSee(call, row)) throw recordNotFound();
      return presentConfirmation(call, row, clock.now());
    },

    /** What waits for the caller's word and what they have asked for, newest first. */
    async list(call: Call, query: ListConfirmationsQuery): Promise<Page<ConfirmationView>> {
      requirePermission(call, confirmationsPermission);
      const { limit, cursor } = query;
      const now = clock.now();
      // Few wait at a time, for each person asks for few: who may confirm them is not in the words of the database.
      const where = { status: "pending", expiresAt: { gt: now } };
      const pending = await database.read.confirmation.findMany({ where, orderBy: { id: "desc" }, omit: withoutInput });
      const mine = pending.filter((row) => concerns(call, row));
      const before = cursor === undefined ? undefined : cursors.decode("confirmations", {}, cursor)[1];
      const page = toPage(
        mine.filter((row) => before === undefined || row.id < before),
        limit,
        (row) => presentConfirmation(call, row, now),
        (last) => cursors.encode("confirmations", {}, [last.id, last.id]),
      );
      return withTotal(page, query, () => mine.length);
    },
  };
}

const batch = 100;

export interface SweepDeps extends Deps<"database" | "logger"> {
  records: ConfirmationRecords;
  clock: Clock;
}

/** What time does to held changes. */
export function createSweep({ database, records, clock, logger }: SweepDeps) {
  const findDue = (after: { id: string } | undefined): Promise<{ id: string }[]> =>
    database.read.confirmation.findMany({
      where: { status: "pending", expiresAt: { lte: clock.now() }, ...(after !== undefined && { id: { gt: after.id } }) },
      select: { id: true },
      orderBy: { id: "asc" },
      take: batch,
    });

  const expireAll = (call: Call, ids: readonly { id: string }[]): Promise<number> =>
    database.write(call, async (tx) => {
      let expired = 0;
      for (const { id } of ids) {
        const row = await records.read(tx, id);
        if (row.status !== "pending") continue;
        await records.change(tx, row, { verb: "expire", status: "expired" });
        expired += 1;
      }
      return expired;
    });

  return {
    /** Hold every change that waits until the end, before anything that one of them may change. */
    lock: records.lock,

    /**
     * Let what was asked with a key end with it: at once when it is revoked, but for the change being carried out, and else no later than
     * the key. The caller holds {@link lock}.
     */
    async endWithKey(tx: Tx, { id, revokedAt, expiresAt }: Pick<ApiKey, "id" | "revokedAt" | "expiresAt">): Promise<void> {
      await lockAsked(tx);
      const asked = { clientId: id, status: "pending", expiresAt: { gt: tx.now }, NOT: { id: tx.call.confirmation ?? "" } };
      const pending = await tx.db.confirmation.findMany({ where: asked, omit: withoutInput, orderBy: { id: "asc" } });
      for (const row of pending) {
        if (revokedAt !== null) await records.change(tx, row, { verb: "fail", status: "failed", failure: "credential_revoked" });
        else if (row.expiresAt > expiresAt) await tx.db.confirmation.update({ where: { id: row.id }, data: { expiresAt } });
      }
    },

    /** Let every change that waits and is about a person come to nothing, but the one being carried out. */
    async endAbout(tx: Tx, userId: string): Promise<void> {
      const where = { subjectUserId: userId, status: "pending", NOT: { id: tx.call.confirmation ?? "" } };
      const pending = await tx.db.confirmation.findMany({ where, select: { id: true }, orderBy: { id: "asc" } });
      for (const { id } of pending) {
        const row = await records.read(tx, id);
        if (row.status === "pending") await records.change(tx, row, { verb: "expire", status: "expired" });
      }
    },

    /** End held changes that nobody confirmed in time; returns how many. For the job that runs each minute. */
    async expireDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return await sweepIsolated({
        size: batch,
        find: findDue,
        work: (ids) => expireAll(call, ids),
        logger,
        failure: "a change nobody confirmed in time could not be ended; it is tried again in a minute",
        idsOf: ({ id }) => ({ confirmation: id }),
      });
    },

    /** When the next held change expires. */
    nextDue: (): Promise<Date | null> => earliestOf(database.read, "Confirmation", "expiresAt", [{ status: "pending" }]),
  };
}
