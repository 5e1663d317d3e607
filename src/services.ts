import { join } from "node:path";
import type { Config } from "./config/config.ts";
import type { Secrets } from "./config/secrets.ts";
import { type Database, openDatabase } from "./database/database.ts";
import { createGuildState } from "./discord/create-guild-state.ts";
import { readInvite } from "./discord/invites.ts";
import { createDiscordOAuth } from "./discord/oauth.ts";
import { createCheckpoints } from "./features/audit/audit.checkpoints.ts";
import { createAuditService } from "./features/audit/audit.service.ts";
import { createSigner } from "./features/audit/audit.sign.ts";
import { createAuthorizationService } from "./features/authorization/authorization.service.ts";
import { createGrantsService } from "./features/authorization/grants.service.ts";
import { createBlacklistTransfer } from "./features/blacklist/blacklist.import.service.ts";
import { createBlacklistService } from "./features/blacklist/blacklist.service.ts";
import { createPoolsService } from "./features/callsigns/callsigns.pools.service.ts";
import { createRepairsService } from "./features/callsigns/callsigns.repair.service.ts";
import { createCallsignRegistry } from "./features/callsigns/callsigns.registry.service.ts";
import { createCallsignsService } from "./features/callsigns/callsigns.service.ts";
import { createActionsService } from "./features/cases/actions.service.ts";
import { createCasesService } from "./features/cases/cases.service.ts";
import { createChannelsService } from "./features/channels/channels.service.ts";
import { createConfirmationsService } from "./features/confirmations/confirmations.service.ts";
import { createEvidenceService } from "./features/evidence/evidence.service.ts";
import { createEventsService } from "./features/events/events.service.ts";
import { createEventStreams } from "./features/events/streams.service.ts";
import { createIntelligence } from "./features/intelligence/intelligence.service.ts";
import { createKeysService } from "./features/keys/keys.service.ts";
import { createLinkReach } from "./features/links/links.reach.ts";
import { createLinksService } from "./features/links/links.service.ts";
import { createPermissionsService } from "./features/permissions/permissions.service.ts";
import { createStanding } from "./features/permissions/standing.ts";
import { createErasures } from "./features/privacy/erasures.ts";
import { withCopy } from "./features/privacy/journal.copy.ts";
import { createJournal } from "./features/privacy/journal.ts";
import { createDataReads } from "./features/privacy/privacy.reads.ts";
import { createPrivacyService } from "./features/privacy/privacy.service.ts";
import { createSignIn } from "./features/privacy/sign-in.service.ts";
import { createRosterAudits } from "./features/roster/roster.audits.service.ts";
import { createRosterEntries } from "./features/roster/roster.entries.service.ts";
import { createRosterService } from "./features/roster/roster.service.ts";
import { createRosterSync } from "./features/roster/roster.sync.service.ts";
import { createServerFacts } from "./features/servers/servers.facts.ts";
import { createRegistryService } from "./features/servers/servers.service.ts";
import { createStaffService } from "./features/staff/staff.service.ts";
import { createTimelineService } from "./features/timeline/timeline.service.ts";
import { createDeliveries } from "./features/workflows/deliveries.ts";
import { createDraftsService } from "./features/workflows/drafts.service.ts";
import { createRequestHost } from "./features/workflows/workflows.host.ts";
import { createRequestSight } from "./features/workflows/workflows.sight.ts";
import { createWorkflowsService } from "./features/workflows/workflows.service.ts";
import { fieldErrors } from "./kernel/validation.ts";
import type { Clock } from "./kernel/clock.ts";
import { systemClock } from "./kernel/clock.ts";
import { createCursors } from "./kernel/page.ts";
import { createKeyring, deriveKey, keyedHash } from "./kernel/secrets.ts";
import { createLogger } from "./logger.ts";
import type { Logger } from "pino";

export interface Ground {
  config: Config;
  secrets: Secrets;
  logger?: Logger;
  /** The time; the machine's own unless told. */
  clock?: Clock;
  /** Looks at the database before anything else does; what it throws ends the opening. */
  settle?: (database: Database) => Promise<unknown>;
  /** For tests: a write inside a write is found out at once. */
  watchNesting?: boolean;
}

export type Services = Awaited<ReturnType<typeof openServices>>;

const idempotencySeconds = 172_800;

/**
 * Every service on the configured database, without a connection to Discord and without HTTP: what the command line works with.
 * @throws DatabaseError, ProblemError when the database cannot be opened
 */
export async function openServices({
  config,
  secrets,
  logger = createLogger("warn", process.stderr),
  clock = systemClock,
  settle = () => Promise.resolve(),
  watchNesting = false,
}: Ground) {
  const { discord } = config;
  const database = await openDatabase({
    url: config.database.url,
    synchronous: config.database.synchronous,
    idempotencySeconds,
    clock,
    logger,
    watchNesting,
  });
  await settle(database).catch(async (error: unknown) => {
    await database.close();
    throw error;
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

  const origin = (): Promise<string> => database.instance.id();
  const keeper = createCheckpoints({
    path: config.auditCheckpoints,
    signer: createSigner(deriveKey(secrets.secretKey, "audit-checkpoints")),
    minutes: config.auditCheckpointMinutes,
    origin,
    head: () =>
      database.read.auditEntry.findFirst({ orderBy: { seq: "desc" }, select: { seq: true, hash: true } }).then((head) => head ?? undefined),
    hashAt: (seq) => database.read.auditEntry.findUnique({ where: { seq }, select: { hash: true } }).then((entry) => entry?.hash),
    clock,
    logger,
  });
  const audit = createAuditService({
    database,
    cursors,
    clock,
    logger,
    detailsDays: config.auditDetailsDays,
    checkpoints: { keeper, path: config.auditCheckpoints },
    origin,
  });
  const events = createEventsService({ database, clock });
  const channels = createChannelsService({ database, audit, guildState, cursors });
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
  const staff = createStaffService({
    database,
    audit,
    events,
    confirmations,
    standing,
    guildState,
    permissions,
    roster: { leaveWithin: (...given) => roster.leaveWithin(...given) },
    cursors,
    clock,
    logger,
  });
  const grants = createGrantsService({ read: database.read, clock });
  const isStaff = (userId: string): boolean => standing.of(userId).isStaff;
  const facts = createServerFacts();
  const reach = createLinkReach();
  const people = deriveKey(secrets.secretKey, "people");
  const hashOfPerson = (userId: string): string => keyedHash(people, userId);
  const alone = createJournal(config.erasureJournal);
  const { erasureJournalCopy } = config;
  const journal = erasureJournalCopy === null ? alone : withCopy(alone, createJournal(erasureJournalCopy), logger);
  const erasures = createErasures({ hashOf: hashOfPerson, journal });
  const reads = createDataReads({ database, erasures, clock, logger });
  const hashOf = (serverId: string): string => keyedHash(serversKey, serverId);
  const { servers, matches } = createIntelligence({
    database,
    audit,
    events,
    guildState,
    standing,
    permissions,
    grants,
    keyring,
    facts,
    reach,
    reads,
    cursors,
    clock,
    hashOf,
    ownServerIds: () => guildState.guilds().map((guild) => guild.id),
    isStaff,
  });
  const registry = createRegistryService({
    database,
    audit,
    events,
    matches,
    cursors,
    clock,
    hashOf,
    readInvite: readInvite(discord.apiBase),
  });
  const links = createLinksService({ database, audit, events, matches, reach, standing, permissions, cursors, clock });
  const publicUrl = { current: config.http.publicUrl };
  const authorization = createAuthorizationService({
    database,
    audit,
    oauth,
    keyring,
    servers,
    matches,
    events,
    erasures,
    reads,
    clock,
    serverDetail: config.serverDetail,
    returnTo: config.returnTo,
    publicUrl: () => publicUrl.current,
    pagesKey: deriveKey(secrets.secretKey, "pages"),
    cooldownSeconds: config.refreshCooldownSeconds,
  });
  const blacklist = createBlacklistService({
    database,
    audit,
    events,
    confirmations,
    matches,
    standing,
    reach,
    facts,
    cursors,
    clock,
    serversKey,
    dropEvidence: (tx, recordId) => evidence.dropOf(tx, "blacklist", recordId),
  });
  const blacklistTransfer = createBlacklistTransfer({
    database,
    audit,
    events,
    matches,
    standing,
    clock,
    serversKey,
    fieldErrors: (issues) => fieldErrors(issues, "body"),
  });
  const roster = createRosterService({ database, audit, events, clock });
  const rosterEntries = createRosterEntries({
    database,
    audit,
    standing,
    permissions,
    roster,
    callsigns: { holdAllWithin: (...given) => callsigns.holdAllWithin(...given) },
    hiddenRequests: (call) => hiddenRequests(call),
    hiddenCases: (call) => cases.hiddenFrom(call),
    cursors,
    clock,
  });
  const callsigns = createCallsignsService({ database, audit, events, lines: roster.lines, clock });
  const callsignRegistry = createCallsignRegistry({ database, standing, permissions, callsigns, cursors, clock });
  const callsignPools = createPoolsService({ database, audit, standing, permissions, cursors, clock });
  const callsignRepairs = createRepairsService({
    database,
    audit,
    events,
    guildState,
    standing,
    roster,
    callsigns,
    performing: () => rosterSync.performing.current,
    isKnown: () => rosterSync.isKnown(),
    cursors,
    clock,
  });
  const rosterSync = createRosterSync({
    database,
    audit,
    events,
    guildState,
    standing,
    permissions,
    roster,
    isFollowing: config.roster.followsDiscord && !config.switchedOff.has("roster.entries"),
    clock,
    logger,
  });
  const rosterAudits = createRosterAudits({
    database,
    audit,
    events,
    standing,
    permissions,
    reach,
    roster,
    callsigns,
    staff,
    rosterSync,
    hour: config.switchedOff.has("roster.audit") ? null : config.roster.auditHour,
    inactiveDays: config.roster.inactiveDays,
    cursors,
    clock,
    logger,
  });
  const { hiddenFrom: hiddenRequests } = createRequestSight({ database, reach });
  const drafts = createDraftsService({
    database,
    audit,
    events,
    workflows: { fileWithin: (...filed) => workflows.fileWithin(...filed) },
    cursors,
  });
  const cases = createCasesService({
    database,
    audit,
    events,
    guildState,
    standing,
    reach,
    hiddenRequests,
    requests: { list: (...asked) => workflows.list(...asked) },
    drafts,
    dropEvidence: (tx, caseId) => evidence.dropOf(tx, "case", caseId),
    cursors,
    clock,
  });
  const actions = createActionsService({
    database,
    audit,
    events,
    cases,
    drafts,
    standing,
    reach,
    thresholds: config.strikeThresholds,
    cursors,
    clock,
  });
  const evidence = createEvidenceService({
    database,
    audit,
    events,
    confirmations,
    hosts: { blacklist: blacklist.evidenceHost, case: cases.evidenceHost, request: createRequestHost({ database, standing, reach }) },
    folder: join(config.dataDir, "evidence"),
    maxBytes: config.evidenceMaxBytes,
    cursors,
    clock,
    logger,
  });
  const workflows = createWorkflowsService({
    database,
    audit,
    events,
    blacklist,
    cases,
    actions,
    drafts,
    evidence,
    registry,
    links,
    roster,
    callsigns,
    staff,
    grants,
    guildState,
    standing,
    reach,
    matches,
    cursors,
    clock,
    referencePrefix: config.referencePrefix,
    fieldErrors: (issues) => fieldErrors(issues, "body"),
  });
  const deliveries = createDeliveries({ database, audit, events, effects: workflows.effects, reach, clock, logger });

  const timeline = createTimelineService({
    database,
    reach,
    reads,
    cursors,
    clock,
    hiddenRequests,
    visibleCases: cases.visibleTo,
  });
  const privacy = createPrivacyService({
    database,
    audit,
    blacklist,
    events,
    confirmations,
    authorization,
    servers,
    matches,
    permissions,
    guildState,
    reach,
    roster,
    callsigns,
    standing,
    erasures,
    reads,
    journal,
    hashOf: hashOfPerson,
    hiddenRequests,
    clock,
    logger,
  });
  const signIn = createSignIn({ database, oauth, keyring, clock, publicUrl: () => publicUrl.current });

  drafts.withhold(actions.causes);
  eventStreams.withhold(workflows.comments.hiddenFrom);
  for (const source of [hiddenRequests, cases.hiddenFrom, drafts.hiddenFrom]) {
    audit.withhold(source);
    eventStreams.withhold(source);
  }

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
    channels,
    confirmations,
    permissions,
    keys,
    staff,
    servers,
    matches,
    registry,
    links,
    roster,
    rosterEntries,
    rosterSync,
    rosterAudits,
    callsigns,
    callsignRegistry,
    callsignPools,
    callsignRepairs,
    timeline,
    privacy,
    signIn,
    authorization,
    blacklist,
    blacklistTransfer,
    workflows,
    deliveries,
    drafts,
    cases,
    actions,
    evidence,
    async close(): Promise<void> {
      await eventStreams.close();
      await evidence.settled();
      await privacy.close();
      await reads.close();
      standing.close();
      await audit.close();
      await database.close();
    },
  };
}
