import { say } from "../../../kit/say.ts";
import type { Logger } from "pino";
import type { Tx } from "../../../database/database.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { fieldError, ProblemError } from "../../../kernel/errors.ts";
import { forEachIsolated, requireNoneFailed, type FailedItem } from "../../../kernel/isolated.ts";
import { blacklistReference, jsonObject } from "../../../kernel/parsing.ts";
import { workflowKinds, type WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { BlacklistService } from "../../blacklist/blacklist.service.ts";
import type { Deps } from "../../deps.ts";
import { findTarget, type AppealTarget } from "../effects/appeal-target.ts";
import { kinds } from "../kinds/kinds.ts";
import { statusAt } from "../requests/workflows.policy.ts";
import { isOpenStatus, openStatuses } from "../state/table.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { policyOf } from "../policies/policies.ts";
import { coolDown } from "../requests/filing.ts";

/**
 * Let a person have one open appeal for each decision, whatever it is called by and with whichever account, and none within the time
 * that a denial keeps them from it.
 * @param accounts every account of the person
 * @throws ProblemError duplicate_open, cooldown
 */
export async function requireOnlyAppeal(tx: Tx, target: AppealTarget, accounts: ReadonlySet<string>): Promise<void> {
  const names = await namesOf(tx, target);
  await tx.lock(`appeal:${names[0] ?? target.reference}`);
  const { cool_down_seconds: seconds } = await policyOf(tx.db, "appeal");
  const people = { in: [...accounts] };
  const earlier = await tx.db.workflowRequest.findMany({
    where: {
      type: "appeal",
      subjects: { some: { kind: "record", subjectId: { in: names } } },
      AND: [
        { OR: [{ requesterId: people }, { subjects: { some: { kind: "user", subjectId: people } } }] },
        { OR: [{ status: { in: [...openStatuses] } }, { status: "denied", decidedAt: { gt: addSeconds(tx.now, -seconds) } }] },
      ],
    },
    select: { reference: true, status: true, expiresAt: true, decidedAt: true },
    orderBy: { createdAt: "desc" },
  });
  const open = earlier.find((one) => one.status !== "denied" && statusAt(one, tx.now) !== "expired");
  if (open !== undefined) throw new ProblemError("duplicate_open", { extra: { reference: open.reference } });
  const denied = earlier.find(({ status }) => status === "denied");
  if (denied?.decidedAt) throw coolDown(denied.decidedAt, seconds, tx.now);
}

/**
 * Every name of a decision, as appeals spell them: of a request, also those of the record and the actions it made. The first is the same
 * for all of them.
 */
async function namesOf(
  { db }: Pick<Tx, "db">,
  { kind, id, reference }: Pick<AppealTarget, "kind" | "id" | "reference">,
): Promise<string[]> {
  const origin =
    kind === "blacklist"
      ? (await db.blacklistRecord.findUnique({ where: { id }, select: { originReference: true } }))?.originReference
      : kind === "strike"
        ? (await db.caseAction.findUnique({ where: { id }, select: { originReference: true } }))?.originReference
        : kind === "request"
          ? reference
          : undefined;
  const own = kind === "strike" ? [id] : [reference, id];
  if (origin === null || origin === undefined) return own.map((one) => one.toUpperCase());
  const where = { originReference: origin };
  const request = await db.workflowRequest.findUnique({ where: { reference: origin }, select: { id: true } });
  const records = await db.blacklistRecord.findMany({ where, select: { id: true, number: true } });
  const actions = await db.caseAction.findMany({ where, select: { id: true } });
  return [
    origin,
    ...(request === null ? [] : [request.id]),
    ...records.flatMap((one) => [blacklistReference(one.number), one.id]),
    ...actions.map((one) => one.id),
  ].map((one) => one.toUpperCase());
}

export interface Suspensions {
  /**
   * Suspend what a request that is new, or that is another one now, has not count, and end what it has no more. The request is stored as
   * it is now, unless it is new.
   * @throws ProblemError permission_denied, validation_failed, conflict_of_interest, hierarchy_violation
   */
  followInTx(tx: Tx, before: Suspending | null, after: Suspending): Promise<void>;
  /** For the job that runs each minute: what was suspended by a request that expired or was erased counts again. @returns how many were looked at */
  resumeDue(call: Call): Promise<number>;
}

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
export function createSuspensions({ database, blacklist, logger }: SuspensionDeps): Suspensions {
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
