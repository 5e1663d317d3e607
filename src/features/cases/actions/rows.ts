import type { Tx } from "../../../database/database.ts";
import type { CaseAction, Prisma } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { fieldError } from "../../../kernel/errors.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import type { Position } from "../../../kernel/page.ts";
import type { RecordActionInput } from "./actions.schema.ts";

type Recorded = ReturnType<typeof RecordActionInput.parse>;

/** The row of what a caller records. @throws ProblemError when it would be over already */
export function rowOf({ call, now }: Tx, caseId: string, userId: string, input: Recorded): Prisma.CaseActionUncheckedCreateInput {
  return {
    id: uuid7(now.getTime()),
    caseId,
    kind: input.kind,
    userId,
    points: input.points ?? (input.kind === "strike" ? 1 : 0),
    reason: input.reason,
    at: now,
    byId: call.actor?.id ?? null,
    expiresAt: endOf(input, now),
    effectRef: input.effect_ref ?? null,
  };
}

function endOf({ duration, expires_at: at }: Recorded, now: Date): Date | null {
  if (typeof duration === "string") return addSeconds(now, parseDuration(duration) ?? 0);
  if (typeof at !== "string") return null;
  const end = new Date(at);
  if (end <= now) throw fieldError("/expires_at", "invalid_value", "The end lies in the past.");
  return end;
}

export function positionOf({ at, id }: Pick<CaseAction, "at" | "id">): Position {
  return [at.toISOString(), id];
}

/** What stands after a position of a list, newest first. */
export function olderThan([time, id]: Position): Prisma.CaseActionWhereInput {
  const at = new Date(time);
  return { OR: [{ at: { lt: at } }, { at, id: { lt: id } }] };
}
