import { randomBytes } from "node:crypto";
import type { User, World } from "./model.ts";

/** What a user (or, with client credentials, the application itself) allowed. Times in milliseconds since 1970. */
export type Grant = {
  user: User;
  scopes: readonly string[];
  accessToken: string;
  /** null for client credentials, which cannot be refreshed */
  refreshToken: string | null;
  expiresAt: number;
};

export type CodeRequest = {
  user: User;
  scopes: readonly string[];
  redirectUri: string;
  challenge: string | null;
};

const codeLifetimeMs = 600_000;
export const accessLifetimeSeconds = 604_800;

const token = (prefix: string) => `sandbox-${prefix}-${randomBytes(24).toString("base64url")}`;

export type Grants = ReturnType<typeof createGrants>;

/** Authorization codes and tokens of the one application. */
export function createGrants(world: World) {
  const codes = new Map<string, CodeRequest & { expiresAt: number }>();
  const byAccess = new Map<string, Grant>();
  const byRefresh = new Map<string, Grant>();
  const revokedTokens: string[] = [];

  function issue(grant: Grant): Grant {
    byAccess.set(grant.accessToken, grant);
    if (grant.refreshToken !== null) byRefresh.set(grant.refreshToken, grant);
    return grant;
  }

  function forget(grant: Grant): void {
    byAccess.delete(grant.accessToken);
    if (grant.refreshToken !== null) byRefresh.delete(grant.refreshToken);
  }

  function newGrant(user: User, scopes: readonly string[], refreshable: boolean): Grant {
    return issue({
      user,
      scopes,
      accessToken: token("access"),
      refreshToken: refreshable ? token("refresh") : null,
      expiresAt: world.now() + accessLifetimeSeconds * 1000,
    });
  }

  /** Ends everything the user allowed the application, whatever token was named. */
  function endAuthorization(user: User): void {
    for (const grant of byAccess.values()) if (grant.user === user) forget(grant);
  }

  return {
    revokedTokens,
    newGrant,
    endAuthorization,
    openCode(request: CodeRequest): string {
      const code = token("code");
      codes.set(code, { ...request, expiresAt: world.now() + codeLifetimeMs });
      return code;
    },
    /** The request behind a code, which works once: also a failed exchange uses it up. */
    takeCode(code: string): CodeRequest | undefined {
      const found = codes.get(code);
      codes.delete(code);
      return found && found.expiresAt > world.now() ? found : undefined;
    },
    /** New tokens for a refresh token; both old ones stop working. */
    rotate(refreshToken: string): Grant | undefined {
      const old = byRefresh.get(refreshToken);
      if (!old) return undefined;
      forget(old);
      return newGrant(old.user, old.scopes, true);
    },
    findByAccessToken(accessToken: string): Grant | undefined {
      const grant = byAccess.get(accessToken);
      return grant && grant.expiresAt > world.now() ? grant : undefined;
    },
    /** Revokes the authorization a token belongs to; an unknown token changes nothing. */
    revoke(named: string): void {
      const grant = byAccess.get(named) ?? byRefresh.get(named);
      if (!grant) return;
      revokedTokens.push(named);
      endAuthorization(grant.user);
    },
    /** Lets time run out for a user's access tokens; refresh tokens stay good. */
    expireAccess(user: User): void {
      for (const grant of byAccess.values()) if (grant.user === user) grant.expiresAt = 0;
    },
  };
}
