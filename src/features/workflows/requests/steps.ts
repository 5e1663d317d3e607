import type { Tx } from "../../../database/database.ts";
import type { Prisma } from "../../../generated/sqlite/client.ts";

/** What was done to a request. */
interface Step {
  action: string;
  /** Who did it; the acting user unless told otherwise. */
  actorId?: string | null;
  /** The status it leads to. */
  to: string;
  notePublic?: string | null;
  noteInternal?: string | null;
  data?: Prisma.InputJsonObject;
}

/** The request as it was before: what is being filed has no revision and no status yet. */
interface Before {
  id: string;
  revision: number;
  status: string | null;
}

/** The row of history that leads to a request's next revision. */
export function stepOf({ call, now }: Tx, { id: requestId, revision, status: from }: Before, step: Step) {
  const by = { actorId: call.actor?.id ?? null, clientId: call.client?.id ?? null, via: call.via, at: now };
  return { requestId, revision: revision + 1, from, notePublic: null, noteInternal: null, data: {}, ...by, ...step };
}
