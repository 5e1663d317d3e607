import type { Tx } from "../../../database/database.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { blacklistReference } from "../../../kernel/parsing.ts";
import type { AppealTarget } from "../effects/appeal-target.ts";
import { policyOf } from "../policies/policies.ts";
import { coolDown } from "../requests/filing.ts";
import { statusAt } from "../requests/workflows.policy.ts";
import { openStatuses } from "../state/table.ts";

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
export async function namesOf(
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
