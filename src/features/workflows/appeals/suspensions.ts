import { say } from "../../../kit/say.ts";
import type { Logger } from "pino";
import type { Tx } from "../../../database/database.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { fieldError } from "../../../kernel/errors.ts";
import { forEachIsolated, requireNoneFailed, type FailedItem } from "../../../kernel/isolated.ts";
import { blacklistReference, jsonObject } from "../../../kernel/parsing.ts";
import { workflowKinds, type WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { BlacklistService } from "../../blacklist/blacklist.service.ts";
import type { Deps } from "../../deps.ts";
import { findTarget } from "../effects/appeal-target.ts";
import { kinds } from "../kinds/kinds.ts";
import { statusAt } from "../requests/workflows.policy.ts";
import { isOpenStatus, openStatuses } from "../state/table.ts";
import { namesOf } from "./only-appeal.ts";

export type Suspensions = ReturnType<typeof createSuspensions>;

export interface SuspensionDeps extends Deps<"database"> {
  logger: Logger;
  blacklist: Pick<BlacklistService, "suspendInTx" | "resumeInTx">;
}

/** A request as far as it says what does not count meanwhile. */
interface Suspending {
  type: string;
  isOpen: boolean;
  payload: unknown;
}

const permission = "blacklist.revoke";
const begun = { reason: say("workflows.an-appeal-about-it-is-open"), permission } as const;
const over = { reason: say("workflows.no-open-appeal-suspends-it-any-more"), permission: "system.act" } as const;
const suspendingKinds = workflowKinds.filter((type) => kinds[type].suspends !== undefined);
const batch = 100;

/** What a request has not count, by a name of it; undefined: nothing, or it is over. */
function suspendedBy({ type, isOpen, payload }: Suspending): string | undefined {
  return isOpen ? kinds[type as WorkflowKind].suspends?.(jsonObject(payload)) : undefined;
}

/** Records on the blacklist that do not count while requests that ask for it are open. */
export function createSuspensions({ database, blacklist, logger }: SuspensionDeps) {
  /** The record that a name means, also where it names the request that made it. */
  async function recordOf(tx: Tx, named: string): Promise<string | undefined> {
    const target = await findTarget(tx.db, named);
    if (target?.kind === "blacklist") return target.id;
    if (target?.kind !== "request") return undefined;
    const where = { originReference: target.reference, status: { in: ["active", "scheduled", "suspended"] } };
    const made = await tx.db.blacklistRecord.findFirst({ where, select: { id: true }, orderBy: { createdAt: "desc" } });
    return made?.id;
  }

  async function isSuspended(tx: Tx, id: string): Promise<boolean> {
    const { number } = await tx.db.blacklistRecord.findUniqueOrThrow({ where: { id }, select: { number: true } });
    const names = await namesOf(tx, { kind: "blacklist", id, reference: blacklistReference(number) });
    const open = await tx.db.workflowRequest.findMany({
      where: {
        type: { in: suspendingKinds },
        status: { in: [...openStatuses] },
        subjects: { some: { kind: "record", subjectId: { in: names } } },
      },
      select: { type: true, status: true, expiresAt: true, payload: true },
    });
    return open.some((one) => suspendedBy({ ...one, isOpen: isOpenStatus(statusAt(one, tx.now)) }) !== undefined);
  }

  async function resume(tx: Tx, id: string): Promise<void> {
    if (!(await isSuspended(tx, id))) await blacklist.resumeInTx(tx, id, over);
  }

  return {
    /**
     * Suspend what a request that is new, or that is another one now, has not count, and end what it has no more. The request is stored as
     * it is now, unless it is new.
     * @throws ProblemError permission_denied, validation_failed, conflict_of_interest, hierarchy_violation
     */
    async followInTx(tx: Tx, before: Suspending | null, after: Suspending): Promise<void> {
      const [was, is] = [before === null ? undefined : suspendedBy(before), suspendedBy(after)];
      if (was === is) return;
      if (is !== undefined) {
        requirePermission(tx.call, permission);
        const id = await recordOf(tx, is);
        if (id === undefined || !(await blacklist.suspendInTx(tx, id, begun)))
          throw fieldError("/suspend", "not_offered", say("workflows.only-a-record-on-the-blacklist-that"));
      }
      const left = was === undefined ? undefined : await recordOf(tx, was);
      if (left !== undefined) await resume(tx, left);
    },

    /** For the job that runs each minute: what was suspended by a request that expired or was erased counts again. @returns how many were looked at */
    async resumeDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      let [after, looked] = ["", 0];
      const failed: FailedItem<unknown>[] = [];
      const idsOf = ({ id }: { id: string }) => ({ blacklist_record: id });
      const isolation = { logger, failure: "a suspended record could not be looked at; it is tried again in a minute", idsOf };
      for (;;) {
        const where = { status: "suspended", id: { gt: after } };
        const some = await database.read.blacklistRecord.findMany({ where, select: { id: true }, orderBy: { id: "asc" }, take: batch });
        // Each for itself: anyone who changes a record waits for its matches, which the change before it would hold.
        failed.push(...(await forEachIsolated(some, ({ id }) => database.write(call, (tx) => resume(tx, id)), isolation)));
        looked += some.length;
        if (some.length < batch) {
          requireNoneFailed(failed);
          return looked;
        }
        after = some.at(-1)?.id ?? "";
      }
    },
  };
}
