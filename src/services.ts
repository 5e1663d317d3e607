import type { Config } from "./config/config.ts";
import type { Secrets } from "./config/secrets.ts";
import { openDatabase } from "./database/database.ts";
import { createGuildState } from "./discord/create-guild-state.ts";
import { createDiscordOAuth } from "./discord/oauth.ts";
import { createAuditService } from "./features/audit/audit.service.ts";
import { createAuthorizationService } from "./features/authorization/authorization.service.ts";
import { createGrantsService } from "./features/authorization/grants.service.ts";
import { createBlacklistService } from "./features/blacklist/blacklist.service.ts";
import { createConfirmationsService } from "./features/confirmations/confirmations.service.ts";
import { createEventsService } from "./features/events/events.service.ts";
import { createEventStreams } from "./features/events/streams.service.ts";
import { createIntelligence } from "./features/intelligence/intelligence.service.ts";
import { createKeysService } from "./features/keys/keys.service.ts";
import { createPermissionsService } from "./features/permissions/permissions.service.ts";
import { createStanding } from "./features/permissions/standing.ts";
import { createStaffService } from "./features/staff/staff.service.ts";
import { createWorkflowsService } from "./features/workflows/workflows.service.ts";
import { systemClock } from "./kernel/clock.ts";
import { createCursors } from "./kernel/page.ts";
import { createKeyring, deriveKey } from "./kernel/secrets.ts";
import { createLogger } from "./logger.ts";
import type { Logger } from "pino";

export interface Ground {
  config: Config;
  secrets: Secrets;
  logger?: Logger;
}

export type Services = Awaited<ReturnType<typeof openServices>>;

const idempotencySeconds = 172_800;

/**
 * Every service on the configured database, without a connection to Discord and without HTTP: what the command line works with.
 * @throws DatabaseError, ProblemError when the database cannot be opened
 */
export async function openServices({ config, secrets, logger = createLogger("warn", process.stderr) }: Ground) {
  const clock = systemClock;
  const { discord } = config;
  const database = await openDatabase({
    url: config.database.url,
    synchronous: config.database.synchronous,
    idempotencySeconds,
    clock,
    logger,
  });
  const cursors = createCursors(deriveKey(secrets.secretKey, "cursors"));
  const serversKey = deriveKey(secrets.secretKey, "servers");
  const keyring = createKeyring(secrets.encryptionKeys);
  const oauth = createDiscordOAuth({
    apiBase: discord.apiBase,
    clientId: discord.clientId,
    clientSecret: secrets.discordClientSecret,
    clock,
  });
  const guildState = createGuildState({
    database,
    logger,
    guildIds: discord.guildIds,
    clock,
    staleLimitSeconds: config.rosterStaleSeconds,
  });
  const standing = createStanding({
    database,
    guildState,
    ownerIds: discord.ownerIds,
    leaveBars: config.leaveAccess === "none",
    clock,
    logger,
  });

  const audit = createAuditService({ database, cursors });
  const events = createEventsService({ database, clock });
  const confirmations = createConfirmationsService({
    database,
    audit,
    events,
    standing,
    cursors,
    clock,
    confirmInDiscord: config.confirmInDiscord,
    secondPersonForDanger: config.secondPersonForDanger,
  });
  const permissions = createPermissionsService({ database, audit, events, confirmations, guildState, standing, cursors, clock });
  const eventStreams = createEventStreams({ database, events, permissions, standing, clock, logger });
  const pepper = deriveKey(secrets.secretKey, "api-keys");
  const keys = createKeysService({ database, audit, events, confirmations, permissions, cursors, pepper, clock, logger });
  const staff = createStaffService({ database, audit, events, confirmations, standing, guildState, permissions, cursors, clock, logger });
  const grants = createGrantsService({ read: database.read, clock });
  const isStaff = (userId: string): boolean => standing.of(userId).isStaff;
  const { servers, matches } = createIntelligence({ database, guildState, grants, keyring, cursors, clock, serversKey, isStaff });
  const publicUrl = { current: config.http.publicUrl };
  const authorization = createAuthorizationService({
    database,
    audit,
    oauth,
    keyring,
    servers,
    matches,
    clock,
    publicUrl: () => publicUrl.current,
    pagesKey: deriveKey(secrets.secretKey, "pages"),
    cooldownSeconds: config.refreshCooldownSeconds,
  });
  const blacklist = createBlacklistService({ database, audit, matches, standing, cursors, clock, serversKey });
  const workflows = createWorkflowsService({
    database,
    audit,
    blacklist,
    guildState,
    standing,
    cursors,
    clock,
    referencePrefix: config.referencePrefix,
  });

  audit.withhold(workflows.hiddenFrom);

  return {
    clock,
    database,
    oauth,
    guildState,
    standing,
    pepper,
    publicUrl,
    audit,
    events,
    eventStreams,
    confirmations,
    permissions,
    keys,
    staff,
    servers,
    matches,
    authorization,
    blacklist,
    workflows,
    async close(): Promise<void> {
      await eventStreams.close();
      standing.close();
      await database.close();
    },
  };
}
