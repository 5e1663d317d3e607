import type { ReadClient, TransactionClient } from "../../database/database.ts";
import type { AuthorizationSession } from "../../generated/sqlite/client.ts";
import type { AuthorizationState } from "./authorization.policy.ts";

/** Everything a person's status is made of, as it is now. */
export async function readState(db: ReadClient | TransactionClient, userId: string, now: Date): Promise<AuthorizationState> {
  const waiting = { status: { in: ["pending", "opened"] } };
  const newestFirst = { createdAt: "desc" } as const;
  const [grant, open, latest, ended, lapsed, serversSeen] = await Promise.all([
    db.authorization.findUnique({ where: { userId } }),
    db.authorizationSession.findFirst({ where: { userId, ...waiting, expiresAt: { gt: now } }, orderBy: newestFirst }),
    db.authorizationSession.findFirst({ where: { userId }, orderBy: newestFirst }),
    db.authorizationSession.findFirst({ where: { userId, endedAt: { not: null } }, orderBy: { endedAt: "desc" } }),
    db.authorizationSession.findFirst({ where: { userId, ...waiting, expiresAt: { lte: now } }, orderBy: { expiresAt: "desc" } }),
    db.userServer.count({ where: { userId, leftAt: null } }),
  ]);
  return { userId, grant, open, latest, ended: later(ended, lapsed), serversSeen };
}

function later(ended: AuthorizationSession | null, lapsed: AuthorizationSession | null): AuthorizationSession | null {
  if (ended === null || lapsed === null) return ended ?? lapsed;
  return (ended.endedAt ?? ended.expiresAt) >= lapsed.expiresAt ? ended : lapsed;
}
