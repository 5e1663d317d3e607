import { say } from "../../../kit/say.ts";
import { Prisma } from "../../../generated/sqlite/client.ts";
import type { ConsentEnd } from "../../authorization/grants/consent-end.ts";
import type { Deps } from "../../deps.ts";
import { forgetAnswers } from "../../../database/idempotency.ts";
import { toJson } from "../../../kernel/parsing.ts";
import { statusAt } from "../requests/workflows.policy.ts";
import type { CheckView } from "../requests/workflows.schema.ts";
import { tellOf } from "../requests/told.ts";

/** What a check that rested on a consent comes to when that is over. */
const endedDetail = say("workflows.ended-with-the-consent-it-rested-on");

/** The checks of a request, as they are stored. */
export function checksOf(stored: unknown): CheckView[] {
  return (stored as CheckView[] | null) ?? [];
}

/** @returns lets the stored checks that rest on a person's consent end with it, open requests and decided ones alike */
export function createCheckEnd({ events }: Deps<"events">): ConsentEnd {
  return async (tx, { userId, before }) => {
    const { db, now } = tx;
    const isOver = ({ consent_of: of, at }: CheckView): boolean => of === userId && (before === undefined || new Date(at) <= before);
    const about = { subjects: { some: { kind: "user", subjectId: userId } }, checks: { not: Prisma.DbNull } };
    const found = await db.workflowRequest.findMany({ where: about, select: { id: true, checks: true }, orderBy: { id: "asc" } });
    const ids = found.flatMap(({ id, checks }) => (checksOf(checks).some(isOver) ? [id] : []));
    for (const id of ids) await tx.lock(`workflow:${id}`);
    for (const row of await db.workflowRequest.findMany({ where: { id: { in: ids } }, include: { subjects: true } })) {
      const checks = checksOf(row.checks).map((check): CheckView => {
        if (!isOver(check)) return check;
        return { key: check.key, result: "ended", detail: endedDetail, at: now.toISOString() };
      });
      await db.workflowRequest.update({
        where: { id: row.id },
        data: { checks: toJson(checks), revision: row.revision + 1, updatedAt: now },
      });
      await forgetAnswers(tx, row.id);
      tellOf(events, tx, "workflow.updated", row, { status: statusAt(row, now), action: "end_checks" });
    }
  };
}
