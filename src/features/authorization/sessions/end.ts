import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { AuthorizationSession } from "../../../generated/sqlite/client.ts";
import type { EventInput } from "../../events/events.service.ts";
import type { SessionFailure } from "../authorization.schema.ts";

/** What is told of the end of a session. */
export type SessionEndDeps = Deps<"audit" | "events">;

export type SessionEnd = { status: "declined" | "expired" | "cancelled" } | { status: "failed"; failure: SessionFailure };

/** What an end is called in the audit, and what those who follow along are told; of one that was called off nothing is told. */
const ends = {
  declined: { action: "decline", type: "authorization.declined" },
  expired: { action: "expire", type: "authorization.expired" },
  failed: { action: "fail", type: "authorization.failed" },
  cancelled: { action: "cancel", type: undefined },
} as const satisfies Record<SessionEnd["status"], { action: string; type: EventInput["type"] | undefined }>;

/** End a session that still waits, with its audit entry and event. Answers false when somebody else ended it first. */
export async function endSession(
  tx: Tx,
  { audit, events }: SessionEndDeps,
  session: AuthorizationSession,
  end: SessionEnd,
): Promise<boolean> {
  const { id, userId } = session;
  const { count } = await tx.db.authorizationSession.updateMany({
    where: { id, status: { in: ["pending", "opened"] } },
    // An address was over when its time was, whenever that is noticed.
    data: { ...end, endedAt: end.status === "expired" ? session.expiresAt : tx.now, verifier: null },
  });
  if (count === 0) return false;
  const { action, type } = ends[end.status];
  const target = { kind: "authorization_session", id };
  const outcome = end.status === "failed" ? ({ outcome: "failed" } as const) : {};
  audit.record(tx, { action: `authorization_session.${action}`, target, subjectUserId: userId, after: end, ...outcome });
  if (type !== undefined)
    events.emit(tx, { type, data: { user_id: userId, session_id: id, ...(end.status === "failed" && { failure: end.failure }) } });
  return true;
}
