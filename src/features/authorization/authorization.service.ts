import type { Logger } from "pino";
import type { Claims } from "../../cluster/claims.ts";
import type { Deps } from "../deps.ts";
import type { DiscordOAuth } from "../../discord/oauth.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import type { Tasks } from "../../kit/task.ts";
import type { MatchesService } from "../intelligence/matches/matches.service.ts";
import type { UserServersService } from "../intelligence/user-servers/user-servers.service.ts";
import type { Erasures } from "../privacy/erasures.ts";
import type { DataReads } from "../privacy/reads.ts";
import { authorizationPermissions } from "./authorization.policy.ts";
import { presentAuthorization, readState } from "./presenter.ts";
import type { AuthorizationView, ServerDetail } from "./authorization.schema.ts";
import { createFlowService, type FlowService } from "./flow/flow.service.ts";
import type { ConsentEnds } from "./grants/consent-end.ts";
import { createGrantsStore } from "./grants/store.ts";
import { createReencryption, type Reencryption } from "./reencrypt.ts";
import { createRefreshDue, createSweepService, type RefreshDueService, type SweepService } from "./sweep.service.ts";
import { createRefreshService, type RefreshService } from "./refresh/refresh.service.ts";
import { createRevocations } from "./revocations.ts";
import { createRevokeService, type RevokeService } from "./revoke.service.ts";
import { createSessionsService, type SessionsService } from "./sessions/sessions.service.ts";

/** The service methods of the feature, for its transports and jobs. */
export interface AuthorizationService
  extends SessionsService, FlowService, RefreshService, RefreshDueService, RevokeService, SweepService, Reencryption {
  /** What a person has granted and is being asked; answers for everybody. @throws ProblemError permission_denied */
  get(call: Call, userId: string): Promise<AuthorizationView>;
  /** Discord is told by itself that grants are over, until it has heard it. */
  revocations: Pick<Tasks, "start" | "stop">;
}

export interface AuthorizationDeps extends Deps<"database" | "audit" | "keyring" | "events" | "clock"> {
  /** Keyed hash of a server id. */
  hashOf: (serverId: string) => string;
  oauth: DiscordOAuth;
  servers: Pick<UserServersService, "store">;
  matches: Pick<MatchesService, "recomputeUser">;
  erasures: Erasures;
  consentEnds: Pick<ConsentEnds, "end">;
  reads: DataReads;
  /** The most that a session may ask to be kept readable. */
  serverDetail: ServerDetail;
  /** Where the last page can lead back to, by name. */
  returnTo: ReadonlyMap<string, string>;
  /** Origin and path prefix of the pages, without a slash at the end; asked when an address is made. */
  publicUrl: () => string;
  /** Makes the tokens of the addresses. */
  pagesKey: Buffer;
  /** Seconds between two refreshes of one person. */
  cooldownSeconds: number;
  /** Where other processes refresh, too. */
  claims?: Claims | undefined;
  logger: Logger;
}

export function createAuthorizationService(deps: AuthorizationDeps): AuthorizationService {
  const { database, clock, cooldownSeconds } = deps;
  const parts = { ...deps, store: createGrantsStore(deps.keyring), revocations: createRevocations(deps) };
  const refreshing = createRefreshService(parts);
  const due = createRefreshDue({ database, clock, logger: deps.logger, ...refreshing });

  return {
    revocations: parts.revocations.tasks,
    ...createSessionsService(deps),
    ...createFlowService(parts),
    ...createRevokeService(parts),
    ...refreshing,
    ...due,
    ...createSweepService({ ...parts, ...due }),
    ...createReencryption(deps),

    async get(call, userId) {
      requirePermission(call, authorizationPermissions.read, { own: userId });
      const now = clock.now();
      const view = presentAuthorization(call, await readState(database.read, userId, now), cooldownSeconds, now);
      deps.reads.note(call, userId, "authorization");
      return view;
    },
  };
}
