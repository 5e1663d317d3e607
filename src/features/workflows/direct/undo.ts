import { say } from "../../../kit/say.ts";
import type { TransactionClient } from "../../../database/database.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import { subjectsOf, type Request } from "../requests/workflows.policy.ts";
import type { WorkflowDecision } from "../requests/workflows.schema.ts";
import { undoableActions, type DirectAction, type UndoableAction, type UndoRefusal } from "./direct.schema.ts";

/** How long moderators take their own act back alone. */
const undoSeconds = 15 * 60;
/** What is kept as the reason of an act that its author takes back without giving one. */
export const undoReason = say("workflows.taken-back-by-the-moderator-who-issued");

const refusals = {
  not_direct: say("workflows.only-what-one-person-did-alone-is"),
  not_own: say("workflows.somebody-else-did-this"),
  action: say("workflows.only-a-warning-a-note-or-a"),
  late: say("workflows.the-15-minutes-in-which-you-take"),
  built_on: say("workflows.others-have-acted-on-it-since"),
} as const satisfies Partial<Record<UndoRefusal["code"], string>>;

const isUndoable = (action: unknown): action is UndoableAction => undoableActions.some((one) => one === action);

/** Until when its author takes an act back alone; null: nobody does. */
export function undoEnd(action: DirectAction, decidedAt: Date): Date | null {
  return isUndoable(action) ? addSeconds(decidedAt, undoSeconds) : null;
}

/** Why a decision is not the actor's own to take back alone, as far as the request itself says; null: it is. */
export function undoRefusal(request: Request, actorId: string, now: Date): UndoRefusal | null {
  const { action } = jsonObject(request.payload);
  const because = (code: keyof typeof refusals): UndoRefusal => ({ code, detail: refusals[code] });
  if (!request.isDirect) return because("not_direct");
  if ((request.decision as WorkflowDecision | null)?.by !== actorId) return because("not_own");
  if (!isUndoable(action)) return because("action");
  if (request.decidedAt === null || now >= addSeconds(request.decidedAt, undoSeconds)) return because("late");
  return null;
}

/** As {@link undoRefusal}, where somebody else appealed against the act or filed what its points suggested. */
export async function refusedAsBuiltOn(
  db: Pick<TransactionClient, "workflowSubject" | "requestDraft">,
  request: Request,
  actorId: string,
): Promise<UndoRefusal | null> {
  const names = [request.id, request.reference];
  const appeal = await db.workflowSubject.findFirst({ where: { kind: "record", subjectId: { in: names } }, select: { requestId: true } });
  const since = request.decidedAt ?? request.createdAt;
  const users = subjectsOf(request).flatMap(({ kind, id }) => (kind === "user" ? [id] : []));
  const filed = await db.requestDraft.findFirst({
    where: {
      status: "filed",
      subjectKind: "user",
      subjectId: { in: users },
      createdAt: { gte: since },
      OR: [{ endedBy: null }, { endedBy: { not: actorId } }],
    },
    select: { id: true },
  });
  return appeal === null && filed === null ? null : { code: "built_on", detail: refusals.built_on };
}
