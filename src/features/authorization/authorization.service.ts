import type { Database } from "../../database/database.ts";
import type { DiscordOAuth } from "../../discord/oauth.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Keyring } from "../../kernel/secrets.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { MatchesService } from "../intelligence/matches.service.ts";
import type { UserServersService } from "../intelligence/user-servers.service.ts";
import { authorizationPermissions, presentAuthorization } from "./authorization.policy.ts";
import type { AuthorizationView } from "./authorization.schema.ts";
import type { FlowService } from "./flow.service.ts";
import { createFlowService } from "./flow.service.ts";
import { createGrantsStore } from "./grants.store.ts";
import type { RefreshService } from "./refresh.service.ts";
import { createRefreshService } from "./refresh.service.ts";
import type { SessionsService } from "./sessions.service.ts";
import { createSessionsService } from "./sessions.service.ts";
import type { SweepService } from "./sweep.service.ts";
import { createSweepService } from "./sweep.service.ts";

/** The verbs of the room, for its doors and jobs. */
export interface AuthorizationService extends SessionsService, FlowService, RefreshService, SweepService {
  /** What a person has granted and is being asked; answers for everybody. @throws ProblemError permission_denied */
  get(call: Call, userId: string): Promise<AuthorizationView>;
}

export interface AuthorizationDeps {
  database: Database;
  audit: Pick<AuditService, "record">;
  oauth: DiscordOAuth;
  keyring: Keyring;
  servers: Pick<UserServersService, "store">;
  matches: Pick<MatchesService, "recomputeUser">;
  clock: Clock;
  /** Origin and path prefix of the pages, without a slash at the end; asked when an address is made. */
  publicUrl: () => string;
  /** Makes the tokens of the addresses. */
  pagesKey: Buffer;
  /** Seconds between two refreshes of one person. */
  cooldownSeconds: number;
}

export function createAuthorizationService(deps: AuthorizationDeps): AuthorizationService {
  const { database, clock, cooldownSeconds } = deps;
  const { read } = database;
  const parts = { ...deps, store: createGrantsStore(deps.keyring) };

  return {
    ...createSessionsService(deps),
    ...createFlowService(parts),
    ...createRefreshService(parts),
    ...createSweepService(parts),

    async get(call, userId) {
      requirePermission(call, authorizationPermissions.read, { own: userId });
      const now = clock.now();
      const newestFirst = { createdAt: "desc" } as const;
      const [grant, open, latest, serversSeen] = await Promise.all([
        read.authorization.findUnique({ where: { userId } }),
        read.authorizationSession.findFirst({
          where: { userId, status: { in: ["pending", "opened"] }, expiresAt: { gt: now } },
          orderBy: newestFirst,
        }),
        read.authorizationSession.findFirst({ where: { userId }, orderBy: newestFirst }),
        read.userServer.count({ where: { userId, leftAt: null } }),
      ]);
      return presentAuthorization(call, { userId, grant, open, latest, serversSeen }, cooldownSeconds, now);
    },
  };
}
