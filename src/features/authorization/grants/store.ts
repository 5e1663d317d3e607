import type { Tx } from "../../../database/database.ts";
import type { UserTokens } from "../../../discord/oauth.ts";
import type { Authorization, AuthorizationSession } from "../../../generated/sqlite/client.ts";
import { sealedIn, type Keyring } from "../../../kernel/secrets.ts";
import { textsOf } from "../../../kernel/parsing.ts";
import { consentVersion, retentionEnd } from "../authorization.policy.ts";

export interface GrantsStore {
  /** Store a fresh grant, in the place of an earlier one. */
  save(tx: Tx, session: AuthorizationSession, tokens: UserTokens): Promise<void>;
  /** Store a new pair of tokens if the grant is still the one it was made from. */
  rotate(tx: Tx, grant: Authorization, tokens: UserTokens): Promise<boolean>;
  /** End a grant that is still the one that was read, and drop its tokens. Answers whether it was. */
  end(tx: Tx, grant: Authorization, status: "expired" | "reauthorization_required" | "revoked"): Promise<boolean>;
  /** The stored tokens in clear; null once they were dropped. */
  open(grant: Authorization): { accessToken: string; refreshToken: string } | null;
}

/** The tokens of grants, which are never at rest in clear and never part of an answer. */
export function createGrantsStore(keyring: Keyring): GrantsStore {
  const seal = (userId: string, tokens: UserTokens) => ({
    accessToken: keyring.encrypt(tokens.accessToken, sealedIn.accessToken(userId)),
    refreshToken: keyring.encrypt(tokens.refreshToken, sealedIn.refreshToken(userId)),
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
        detail: session.detail,
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
        where: unchanged(grant),
        data: { ...seal(grant.userId, tokens), revision: { increment: 1 } },
      });
      return count > 0;
    },

    async end(tx, grant, status) {
      const { count } = await tx.db.authorization.updateMany({
        where: unchanged(grant),
        data: { status, accessToken: null, refreshToken: null, tokenExpiresAt: null, endedAt: tx.now, revision: { increment: 1 } },
      });
      return count > 0;
    },

    open({ userId, accessToken, refreshToken }) {
      if (accessToken === null || refreshToken === null) return null;
      return {
        accessToken: keyring.decrypt(accessToken, sealedIn.accessToken(userId)),
        refreshToken: keyring.decrypt(refreshToken, sealedIn.refreshToken(userId)),
      };
    },
  };
}

/** Held by everything that changes what a person has granted or is being asked: nobody decides by a state that is being replaced. */
export function lockGrant(tx: Tx, userId: string): Promise<void> {
  return tx.lock(`authorize:${userId}`);
}

/** Every change of a grant raises its revision; only sealing its tokens with another key does not. */
export function unchanged({ userId, status, revision }: Authorization): Pick<Authorization, "userId" | "status" | "revision"> {
  return { userId, status, revision };
}
