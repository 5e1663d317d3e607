import type { Tx } from "../../database/database.ts";
import type { UserTokens } from "../../discord/oauth.ts";
import type { Authorization, AuthorizationSession } from "../../generated/sqlite/client.ts";
import type { Keyring } from "../../kernel/secrets.ts";
import { consentVersion, retentionEnd, textsOf } from "./authorization.policy.ts";

export interface GrantsStore {
  /** Store a fresh grant, in the place of an earlier one. */
  save(tx: Tx, session: AuthorizationSession, tokens: UserTokens): Promise<void>;
  /** Store a new pair of tokens if the pair it was made from is still the stored one. */
  rotate(tx: Tx, grant: Authorization, tokens: UserTokens): Promise<boolean>;
  /** The stored tokens in clear; null once they were dropped. */
  open(grant: Authorization): { accessToken: string; refreshToken: string } | null;
}

/** The tokens of grants, which are never at rest in clear and never part of an answer. */
export function createGrantsStore(keyring: Keyring): GrantsStore {
  const context = (userId: string, column: string): string => `authorization:${userId}:${column}`;
  const seal = (userId: string, tokens: UserTokens) => ({
    accessToken: keyring.encrypt(tokens.accessToken, context(userId, "access_token")),
    refreshToken: keyring.encrypt(tokens.refreshToken, context(userId, "refresh_token")),
    tokenExpiresAt: tokens.expiresAt,
    scopes: [...tokens.scopes],
  });

  return {
    async save(tx, session, tokens) {
      const { userId } = session;
      const earlier = await tx.db.authorization.findUnique({ where: { userId }, select: { purposes: true } });
      const data = {
        ...seal(userId, tokens),
        status: "active",
        purposes: [...new Set([...textsOf(earlier?.purposes), session.purpose])],
        consentVersion,
        grantedAt: tx.now,
        refreshedAt: tx.now,
        expiresAt: retentionEnd(tx.now),
        endedAt: null,
      };
      await tx.db.authorization.upsert({ where: { userId }, create: { userId, ...data }, update: { ...data, revision: { increment: 1 } } });
    },

    async rotate(tx, grant, tokens) {
      const { count } = await tx.db.authorization.updateMany({
        where: { userId: grant.userId, refreshToken: grant.refreshToken },
        data: { ...seal(grant.userId, tokens), revision: { increment: 1 } },
      });
      return count > 0;
    },

    open({ userId, accessToken, refreshToken }) {
      if (accessToken === null || refreshToken === null) return null;
      return {
        accessToken: keyring.decrypt(accessToken, context(userId, "access_token")),
        refreshToken: keyring.decrypt(refreshToken, context(userId, "refresh_token")),
      };
    },
  };
}
