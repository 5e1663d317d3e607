import type { Tx } from "../../../database/database.ts";
import type { Authorization } from "../../../generated/sqlite/client.ts";
import { requireWrite, type Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { textsOf } from "../../../kernel/parsing.ts";
import type { SeenServer, UserServersService } from "../../intelligence/user-servers/user-servers.service.ts";
import { authorizationPermissions, isInForce, leastDetail, nextRefreshAt, retentionEnd } from "../authorization.policy.ts";
import { RefreshInput, type RefreshView, type ServerDetail } from "../authorization.schema.ts";
import { authorizationRequired } from "../grants/grants.service.ts";
import { lockGrant, unchanged, type GrantsStore } from "../grants/store.ts";
import { say } from "../../../kit/say.ts";
import type { Claims } from "../../../cluster/claims.ts";
import type { Deps } from "../../deps.ts";
import { OAuthRefusal, type DiscordOAuth } from "../../../discord/oauth.ts";
import type { MatchesService } from "../../intelligence/matches/matches.service.ts";
import { readAccount, readServers } from "../discord-answers.ts";
import type { Revocations } from "../revocations.ts";

interface RefreshDeps extends Deps<"database" | "audit" | "events" | "clock"> {
  revocations: Revocations;
  oauth: DiscordOAuth;
  store: GrantsStore;
  servers: Pick<UserServersService, "store">;
  matches: Pick<MatchesService, "recomputeUser">;
  serverDetail: ServerDetail;
  cooldownSeconds: number;
  /** Where other processes refresh, too. */
  claims?: Claims | undefined;
}

/** A token this close to its end is rotated before it is used. */
const tokenMarginSeconds = 60;

/** A grant and its access token in clear. */
interface Usable {
  grant: Authorization;
  accessToken: string;
}

/** What a person's servers were read with, and which they are. */
interface Reading {
  grant: Authorization;
  seen: SeenServer[];
}

/**
 * Ask Discord for a person's servers, rotating the tokens first where the access token is about to end or Discord does not take it.
 * Only a refused refresh token ends the grant.
 * @throws ProblemError authorization_required when the grant is over, discord_error, discord_unavailable, storage_busy
 */
async function readAgain(deps: RefreshDeps, call: Call, grant: Authorization): Promise<Reading> {
  const tokens = deps.store.open(grant);
  if (tokens === null) throw authorizationRequired(grant.userId);
  try {
    const reading = await readByStored(deps, { grant, accessToken: tokens.accessToken });
    return reading ?? (await readServersOf(deps, await rotate(deps, call, grant, tokens.refreshToken)));
  } catch (error) {
    if (!(error instanceof OAuthRefusal)) throw error;
    if (error.code !== "invalid_grant") throw new ProblemError("discord_error", { cause: error });
    throw (await loseGrant(deps, call, grant)) ? authorizationRequired(grant.userId) : changedMeanwhile();
  }
}

/** Null when the stored access token is about to end, or Discord does not take it. */
async function readByStored(deps: RefreshDeps, stored: Usable): Promise<Reading | null> {
  const { tokenExpiresAt } = stored.grant;
  if (tokenExpiresAt === null || tokenExpiresAt <= addSeconds(deps.clock.now(), tokenMarginSeconds)) return null;
  try {
    return await readServersOf(deps, stored);
  } catch (error) {
    if (error instanceof OAuthRefusal && error.code === "token_rejected") return null;
    throw error;
  }
}

async function readServersOf({ oauth }: RefreshDeps, { grant, accessToken }: Usable): Promise<Reading> {
  const scopes = textsOf(grant.scopes);
  if (!scopes.includes("guilds")) await readAccount(oauth, accessToken);
  return { grant, seen: await readServers(oauth, { accessToken, scopes }) };
}

async function rotate(deps: RefreshDeps, call: Call, grant: Authorization, refreshToken: string): Promise<Usable> {
  // A refresh token works once, so nothing is spent while the storage could not keep what comes back.
  await deps.database.check();
  const rotated = await deps.oauth.refresh(refreshToken);
  // Committed before anything else can fail, and without the caller's idempotency key: this is not the answer to keep for it.
  const isCurrent = await deps.database.write({ ...call, idempotency: null }, async (tx) => {
    await lockGrant(tx, grant.userId);
    return deps.store.rotate(tx, grant, rotated);
  });
  const stored = await deps.database.read.authorization.findUnique({ where: { userId: grant.userId } });
  if (!isCurrent || stored === null) {
    // Somebody ended the grant meanwhile, and Discord was told of the old tokens only.
    await deps.revocations.end(call, grant.userId, rotated.refreshToken);
    throw endedMeanwhile(grant.userId, stored);
  }
  return { grant: stored, accessToken: rotated.accessToken };
}

/** The answer of a refresh that lost against another change of the grant. */
function endedMeanwhile(userId: string, found: Pick<Authorization, "status"> | null): ProblemError {
  return found?.status === "active" ? changedMeanwhile() : authorizationRequired(userId);
}

function changedMeanwhile(): ProblemError {
  return new ProblemError("storage_busy", { retryAfter: 1, detail: say("authorization.the-grant-changed-meanwhile") });
}

/** The grant is over at Discord. A pair stored meanwhile is not the one that was refused: it stays, and the answer is false. */
async function loseGrant({ database, audit, events, store }: RefreshDeps, call: Call, grant: Authorization): Promise<boolean> {
  const status = "reauthorization_required";
  return database.write({ ...call, idempotency: null }, async (tx) => {
    await lockGrant(tx, grant.userId);
    if (!(await store.end(tx, grant, status))) return false;
    audit.record(tx, {
      action: "authorization.lose",
      target: { kind: "authorization", id: grant.userId },
      subjectUserId: grant.userId,
      before: { status: "active" },
      after: { status },
    });
    events.emit(tx, { type: "authorization.expired", data: { user_id: grant.userId, status } });
    return true;
  });
}

export interface RefreshService {
  /**
   * Read a person's servers again and match them. However many ask at once, Discord is asked once.
   * @throws ProblemError permission_denied, authorization_required, refresh_cooldown, discord_unavailable, discord_error
   */
  refresh(call: Call, userId: string, input: RefreshInput): Promise<RefreshView>;
}

export function createRefreshService(deps: RefreshDeps): RefreshService {
  const { database, clock, cooldownSeconds, claims } = deps;
  const running = new Map<string, Promise<RefreshView>>();

  async function findGrant(userId: string): Promise<Authorization> {
    const grant = await database.read.authorization.findUnique({ where: { userId } });
    if (grant === null || !isInForce(grant, clock.now())) throw authorizationRequired(userId);
    return grant;
  }

  function requireCool(grant: Authorization): void {
    const next = nextRefreshAt(grant, cooldownSeconds);
    const seconds = Math.ceil((next.getTime() - clock.now().getTime()) / 1000);
    if (seconds <= 0) return;
    throw new ProblemError("refresh_cooldown", { retryAfter: seconds, extra: { next_refresh_at: next.toISOString() } });
  }

  async function run(call: Call, userId: string, { reason, force }: ReturnType<typeof RefreshInput.parse>): Promise<RefreshView> {
    const grant = await findGrant(userId);
    if (!force) requireCool(grant);
    const { grant: used, seen } = await readAgain(deps, call, grant);
    return database.write(call, (tx) => storeAgain(tx, deps, used, seen, reason));
  }

  /** What somebody else's refresh has answered is kept for this call's idempotency key, too. */
  const kept = async (call: Call, view: RefreshView): Promise<RefreshView> =>
    call.idempotency === null ? view : database.write(call, () => Promise.resolve(view));

  /** A refresh token works once, whichever process spends it. */
  function alone(userId: string, work: () => Promise<RefreshView>): Promise<RefreshView> {
    return claims === undefined ? work() : claims.once(`refresh ${userId}`, work);
  }

  return {
    async refresh(call, userId, input) {
      requireWrite(call, authorizationPermissions.refresh);
      const parsed = RefreshInput.parse(input);
      if (parsed.force) requireWrite(call, authorizationPermissions.force);
      const replay = await database.findReplay(call);
      if (replay !== undefined) return replay.value as RefreshView;
      const joined = running.get(userId);
      if (joined !== undefined) return kept(call, await joined);
      let isOwn = false;
      const work = (): Promise<RefreshView> => {
        isOwn = true;
        return run(call, userId, parsed);
      };
      const leading = alone(userId, work).finally(() => running.delete(userId));
      running.set(userId, leading);
      const view = await leading;
      return isOwn ? view : kept(call, view);
    },
  };
}

async function storeAgain(
  tx: Tx,
  deps: RefreshDeps,
  grant: Authorization,
  seen: readonly SeenServer[],
  reason: string | undefined,
): Promise<RefreshView> {
  const { userId } = grant;
  await lockGrant(tx, userId);
  const { count } = await tx.db.authorization.updateMany({
    where: unchanged(grant),
    data: { refreshedAt: tx.now, expiresAt: retentionEnd(tx.now), revision: { increment: 1 } },
  });
  if (count === 0) throw endedMeanwhile(userId, await tx.db.authorization.findUnique({ where: { userId } }));
  const detail = leastDetail(grant.detail, deps.serverDetail);
  const servers = await deps.servers.store(tx, userId, textsOf(grant.scopes).includes("guilds") ? seen : null, detail);
  const { added, removed } = await deps.matches.recomputeUser(tx, userId);
  const matches = { opened: added, closed: removed };
  deps.audit.record(tx, {
    action: "authorization.refresh",
    target: { kind: "authorization", id: userId },
    subjectUserId: userId,
    ...(reason !== undefined && { reason }),
    after: { servers, matches },
    permission: authorizationPermissions.refresh,
  });
  return {
    status: "active",
    refreshed_at: tx.now.toISOString(),
    servers,
    matches,
    next_refresh_at: addSeconds(tx.now, deps.cooldownSeconds).toISOString(),
  };
}
