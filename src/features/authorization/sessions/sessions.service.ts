import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { webCall, requireWrite, type Call } from "../../../kernel/call.ts";
import type { Tx } from "../../../database/database.ts";
import type { AuthorizationSession } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError, validationProblem, type FieldError } from "../../../kernel/errors.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { hashToken, keyedHash } from "../../../kernel/secrets.ts";
import type { Erasures } from "../../privacy/erasures.ts";
import { authorizationPermissions, isOpen, leastDetail, maxOpenSessions } from "../authorization.policy.ts";
import { CreateSessionInput, type ServerDetail, type SessionCreatedView } from "../authorization.schema.ts";
import { endingOf, type Ending } from "../endings/endings.ts";
import { lockGrant } from "../grants/store.ts";
import { endSession } from "./end.ts";

/** What the page of an address shows: a session that waits, or how it ended; an address that was never issued has no session. */
export type Found = { session: AuthorizationSession; ending?: undefined } | { session: AuthorizationSession | null; ending: Ending };

export interface SessionsService {
  /**
   * Open a session.
   * @throws ProblemError permission_denied, validation_failed, too_many_open_sessions, invalid_transition (a person whose data was redacted)
   */
  create(call: Call, input: CreateSessionInput): Promise<SessionCreatedView>;
  /** The session of an address. Looking changes nothing: previews of links look too. */
  find(token: string): Promise<Found>;
  /** The person says no on our page. */
  decline(token: string, requestId: string): Promise<Ending>;
}

export interface SessionsDeps extends Deps<"database" | "audit" | "events" | "clock"> {
  erasures: Pick<Erasures, "redactedAt">;
  serverDetail: ServerDetail;
  returnTo: ReadonlyMap<string, string>;
  /** Origin and path prefix of the pages, without a slash at the end; known once the service listens. */
  publicUrl: () => string;
  /** Makes the tokens of addresses, so that none has to be stored. */
  pagesKey: Buffer;
}

type Parsed = ReturnType<typeof CreateSessionInput.parse> & { detail: ServerDetail };

export function createSessionsService(deps: SessionsDeps): SessionsService {
  const { database, audit, erasures, clock, publicUrl, pagesKey } = deps;
  const tokenOf = (sessionId: string): string => keyedHash(pagesKey, `session:${sessionId}`);

  async function insert(tx: Tx, input: Parsed): Promise<{ id: string; expires_at: string }> {
    await lockGrant(tx, input.discord_user_id);
    if ((await erasures.redactedAt(tx.db, input.discord_user_id)) !== null) throw redacted();
    await refuseTooMany(tx, input.discord_user_id);
    const id = uuid7(tx.now.getTime());
    const expiresAt = addSeconds(tx.now, input.ttl_minutes * 60);
    const scopes = [...new Set(["identify", ...input.scopes])];
    const { purpose, detail, request_reference = null } = input;
    await tx.db.authorizationSession.create({
      data: {
        id,
        userId: input.discord_user_id,
        purpose,
        scopes,
        detail,
        requestReference: request_reference,
        locale: input.locale ?? null,
        returnTo: input.return_to ?? null,
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
      after: { purpose, scopes, detail, request_reference, expires_at: expiresAt.toISOString() },
      permission: authorizationPermissions.create,
    });
    return { id, expires_at: expiresAt.toISOString() };
  }

  return {
    async create(call, input) {
      requireWrite(call, authorizationPermissions.create);
      const parsed = configured(deps, CreateSessionInput.parse(input));
      const { id, expires_at } = await database.write(call, (tx) => insert(tx, parsed));
      return { success: true, id, url: `${publicUrl()}/authorize/${tokenOf(id)}`, status: "pending", expires_at };
    },

    async find(token) {
      const session = await database.read.authorizationSession.findUnique({ where: { tokenHash: hashToken(token) } });
      const ending = endingOf(session, clock.now());
      return session === null || ending !== undefined ? { session, ending: ending ?? "expired" } : { session };
    },

    decline(token, requestId) {
      return database.write(webCall(requestId), async (tx) => {
        const session = await tx.db.authorizationSession.findUnique({ where: { tokenHash: hashToken(token) } });
        const ending = endingOf(session, tx.now);
        if (session === null || ending !== undefined) return ending ?? "expired";
        return (await endSession(tx, deps, session, { status: "declined" })) ? "declined" : "used";
      });
    },
  };
}

/** What only this installation's settings decide about an input. @throws ProblemError validation_failed */
function configured({ serverDetail, returnTo }: SessionsDeps, input: ReturnType<typeof CreateSessionInput.parse>): Parsed {
  const { detail = serverDetail, return_to } = input;
  const errors: FieldError[] = [];
  if (detail !== leastDetail(detail, serverDetail))
    errors.push({
      pointer: "/detail",
      in: "body",
      code: "not_offered",
      detail: say("authorization.this-installation-keeps-listed-servers-only"),
    });
  if (return_to !== undefined && !returnTo.has(return_to)) {
    const names = [...returnTo.keys()].join(", ");
    const text =
      names === ""
        ? say("authorization.no-return-addresses-are-configured-here")
        : say("authorization.the-return-addresses-here-are", { names });
    errors.push({ pointer: "/return_to", in: "body", code: "unknown_return_to", detail: text });
  }
  if (errors.length > 0) throw validationProblem(errors);
  return { ...input, detail };
}

function redacted(): ProblemError {
  return new ProblemError("invalid_transition", {
    detail: say("authorization.what-was-stored-of-this-person-was"),
    extra: { from: "redacted", action: "authorize", allowed: [] },
  });
}

async function refuseTooMany(tx: Tx, userId: string): Promise<void> {
  const waiting = await tx.db.authorizationSession.findMany({ where: { userId, status: { in: ["pending", "opened"] } } });
  const open = waiting.filter((session) => isOpen(session, tx.now));
  if (open.length < maxOpenSessions) return;
  const first = Math.min(...open.map((session) => session.expiresAt.getTime()));
  throw new ProblemError("too_many_open_sessions", {
    detail: say("authorization.the-user-has-open-sessions-the-first", { open: open.length, at: new Date(first).toISOString() }),
    extra: { open_sessions: open.length, first_expires_at: new Date(first).toISOString() },
  });
}
