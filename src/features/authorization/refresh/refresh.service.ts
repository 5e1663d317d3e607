import type { Tx } from "../../../database/database.ts";
import type { Authorization } from "../../../generated/sqlite/client.ts";
import { requireWrite, type Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { textsOf } from "../../../kernel/parsing.ts";
import type { SeenServer } from "../../intelligence/user-servers/user-servers.service.ts";
import { authorizationPermissions, isInForce, leastDetail, nextRefreshAt, retentionEnd } from "../authorization.policy.ts";
import { RefreshInput, type RefreshView } from "../authorization.schema.ts";
import { authorizationRequired } from "../grants/grants.service.ts";
import { lockGrant, unchanged } from "../grants/store.ts";
import { endedMeanwhile, readAgain, type RefreshDeps } from "./tokens.ts";

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
