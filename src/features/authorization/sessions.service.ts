import type { Database, Tx } from "../../database/database.ts";
import type { AuthorizationSession } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { requireWrite } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { hashToken, keyedHash } from "../../kernel/secrets.ts";
import type { AuditService } from "../audit/audit.service.ts";
import { authorizationPermissions, isOpen, maxOpenSessions, webCall } from "./authorization.policy.ts";
import type { SessionCreatedView, SessionFailure } from "./authorization.schema.ts";
import { CreateSessionInput } from "./authorization.schema.ts";
import type { Ending } from "./endings.ts";
import { endingOf } from "./endings.ts";

/** What the page of an address shows: a session that waits, or how it ended. */
export type Found = { session: AuthorizationSession } | { ending: Ending };

export interface SessionsService {
  /** Open a session. @throws ProblemError permission_denied, too_many_open_sessions, validation_failed */
  create(call: Call, input: CreateSessionInput): Promise<SessionCreatedView>;
  /** The session of an address. Looking changes nothing: previews of links look too. */
  find(token: string): Promise<Found>;
  /** The person says no on our page. */
  decline(token: string, requestId: string): Promise<Ending>;
}

export interface SessionsDeps {
  database: Database;
  audit: Pick<AuditService, "record">;
  clock: Clock;
  /** Origin and path prefix of the pages, without a slash at the end; known once the service listens. */
  publicUrl: () => string;
  /** Makes the tokens of addresses, so that none has to be stored. */
  pagesKey: Buffer;
}

export function createSessionsService({ database, audit, clock, publicUrl, pagesKey }: SessionsDeps): SessionsService {
  const tokenOf = (sessionId: string): string => keyedHash(pagesKey, `session:${sessionId}`);

  async function insert(tx: Tx, input: ReturnType<typeof CreateSessionInput.parse>): Promise<{ id: string; expires_at: string }> {
    await tx.lock(`authorize:${input.discord_user_id}`);
    await refuseTooMany(tx, input.discord_user_id);
    const id = uuid7(tx.now.getTime());
    const expiresAt = addSeconds(tx.now, input.ttl_minutes * 60);
    const scopes = [...new Set(["identify", ...input.scopes])];
    await tx.db.authorizationSession.create({
      data: {
        id,
        userId: input.discord_user_id,
        purpose: input.purpose,
        scopes,
        requestReference: input.request_reference ?? null,
        locale: input.locale ?? null,
        requestedByClient: tx.call.client?.id ?? null,
        requestedByUser: tx.call.actor?.id ?? null,
        tokenHash: hashToken(tokenOf(id)),
        status: "pending",
        createdAt: tx.now,
        expiresAt,
      },
    });
    audit.record(tx, {
      action: "authorization_session.create",
      target: { kind: "authorization_session", id },
      subjectUserId: input.discord_user_id,
      after: { purpose: input.purpose, scopes, request_reference: input.request_reference ?? null, expires_at: expiresAt.toISOString() },
      permission: authorizationPermissions.create,
    });
    return { id, expires_at: expiresAt.toISOString() };
  }

  return {
    async create(call, input) {
      requireWrite(call, authorizationPermissions.create);
      const parsed = CreateSessionInput.parse(input);
      const { id, expires_at } = await database.write(call, (tx) => insert(tx, parsed));
      return { success: true, id, url: `${publicUrl()}/authorize/${tokenOf(id)}`, status: "pending", expires_at };
    },

    async find(token) {
      const session = await database.read.authorizationSession.findUnique({ where: { tokenHash: hashToken(token) } });
      const ending = endingOf(session, clock.now());
      return session === null || ending !== undefined ? { ending: ending ?? "expired" } : { session };
    },

    decline(token, requestId) {
      return database.write(webCall(requestId), async (tx) => {
        const session = await tx.db.authorizationSession.findUnique({ where: { tokenHash: hashToken(token) } });
        const ending = endingOf(session, tx.now);
        if (session === null || ending !== undefined) return ending ?? "expired";
        return (await endSession(tx, audit, session, { status: "declined" })) ? "declined" : "used";
      });
    },
  };
}

async function refuseTooMany(tx: Tx, userId: string): Promise<void> {
  const waiting = await tx.db.authorizationSession.findMany({ where: { userId, status: { in: ["pending", "opened"] } } });
  const open = waiting.filter((session) => isOpen(session, tx.now));
  if (open.length < maxOpenSessions) return;
  const first = Math.min(...open.map((session) => session.expiresAt.getTime()));
  throw new ProblemError("too_many_open_sessions", {
    detail: `The user has ${open.length} open sessions; the first ends at ${new Date(first).toISOString()}.`,
    extra: { open_sessions: open.length, first_expires_at: new Date(first).toISOString() },
  });
}

export type SessionEnd = { status: "declined" | "expired" } | { status: "failed"; failure: SessionFailure };

const actions = { declined: "decline", expired: "expire", failed: "fail" } as const;

/** End a session that still waits, with its audit entry. Answers false when somebody else ended it first. */
export async function endSession(
  tx: Tx,
  audit: Pick<AuditService, "record">,
  session: AuthorizationSession,
  end: SessionEnd,
): Promise<boolean> {
  const { count } = await tx.db.authorizationSession.updateMany({
    where: { id: session.id, status: { in: ["pending", "opened"] } },
    data: { ...end, endedAt: tx.now, verifier: null },
  });
  if (count === 0) return false;
  audit.record(tx, {
    action: `authorization_session.${actions[end.status]}`,
    target: { kind: "authorization_session", id: session.id },
    subjectUserId: session.userId,
    after: end,
  });
  return true;
}
