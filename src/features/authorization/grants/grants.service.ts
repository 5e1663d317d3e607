import { say } from "../../../kit/say.ts";
import type { ReadClient } from "../../../database/database.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { textsOf } from "../../../kernel/parsing.ts";
import { isInForce } from "../authorization.policy.ts";

/** Answers whether a person's data may be shown. */
export interface GrantsService {
  /**
   * Pass when the person has a grant in force, with a scope where one is named.
   * @throws ProblemError authorization_required; the same for an unknown person and for one who never granted
   */
  requireGrant(userId: string, scope?: string): Promise<void>;
}

export function createGrantsService({ read, clock }: { read: ReadClient; clock: Clock }): GrantsService {
  return {
    async requireGrant(userId, scope) {
      const grant = await read.authorization.findUnique({
        where: { userId },
        select: { status: true, scopes: true, expiresAt: true },
      });
      const covers = scope === undefined || textsOf(grant?.scopes).includes(scope);
      if (grant === null || !isInForce(grant, clock.now()) || !covers) throw authorizationRequired(userId);
    },
  };
}

/** The refusal of everything that needs a grant, with the call that starts getting one. */
export function authorizationRequired(userId: string): ProblemError {
  return new ProblemError("authorization_required", {
    detail: say("authorization.the-user-has-not-granted-access-or"),
    extra: { session_hint: { method: "POST", path: "/authorize/sessions", body: { discord_user_id: userId } } },
  });
}
