import { isIPv6 } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { DestinationStream } from "pino";
import { defaultRateLimits } from "./config/values.ts";
import type { Capability } from "./config/values.ts";
import { acquireDataLock } from "./database/data-lock.ts";
import { createDiscord, type DiscordOptions } from "./discord/client.ts";
import { auditRoutes } from "./features/audit/audit.routes.ts";
import { authorizationPages } from "./features/authorization/authorization.pages.ts";
import { webCall } from "./features/authorization/authorization.policy.ts";
import { authorizationRoutes } from "./features/authorization/authorization.routes.ts";
import { createConsentNames } from "./features/authorization/consent-names.ts";
import { blacklistTransferRoutes } from "./features/blacklist/blacklist.import.routes.ts";
import { blacklistRoutes } from "./features/blacklist/blacklist.routes.ts";
import { actionsRoutes } from "./features/cases/actions.routes.ts";
import { casesRoutes } from "./features/cases/cases.routes.ts";
import { poolsRoutes } from "./features/callsigns/callsigns.pools.routes.ts";
import { repairRoutes } from "./features/callsigns/callsigns.repair.routes.ts";
import { callsignsRoutes } from "./features/callsigns/callsigns.routes.ts";
import { channelsRoutes } from "./features/channels/channels.routes.ts";
import { confirmationsRoutes } from "./features/confirmations/confirmations.routes.ts";
import { evidenceRoutes } from "./features/evidence/evidence.routes.ts";
import { eventsRoutes } from "./features/events/events.routes.ts";
import { healthRoutes } from "./features/health/health.routes.ts";
import { createHealthService } from "./features/health/health.service.ts";
import { intelligenceRoutes } from "./features/intelligence/intelligence.routes.ts";
import { createAssertions } from "./features/keys/keys.assertion.ts";
import { createAuthenticate } from "./features/keys/keys.authenticate.ts";
import { keysRoutes } from "./features/keys/keys.routes.ts";
import { createKeyStore } from "./features/keys/keys.store.ts";
import { knownPermissions } from "./features/permissions/catalog.ts";
import { permissionsRoutes } from "./features/permissions/permissions.routes.ts";
import { linksRoutes } from "./features/links/links.routes.ts";
import { privacyPages } from "./features/privacy/privacy.pages.ts";
import { privacyRoutes } from "./features/privacy/privacy.routes.ts";
import { rosterAuditsRoutes } from "./features/roster/roster.audits.routes.ts";
import { rosterHistoryRoutes } from "./features/roster/roster.history.routes.ts";
import { rosterRoutes } from "./features/roster/roster.routes.ts";
import { rosterSyncRoutes } from "./features/roster/roster.sync.routes.ts";
import { serversRoutes } from "./features/servers/servers.routes.ts";
import { staffRoutes } from "./features/staff/staff.routes.ts";
import { timelineRoutes } from "./features/timeline/timeline.routes.ts";
import { createCards, type CardPauses } from "./features/workflows/cards.ts";
import type { ShownQueue, ShownRequest } from "./features/workflows/cards.shown.ts";
import { amendRoutes } from "./features/workflows/amend.routes.ts";
import { bulkRoutes } from "./features/workflows/bulk.routes.ts";
import { commentsRoutes } from "./features/workflows/comments.routes.ts";
import { deliveriesRoutes } from "./features/workflows/deliveries.routes.ts";
import { draftsRoutes } from "./features/workflows/drafts.routes.ts";
import { historyRoutes } from "./features/workflows/history.routes.ts";
import { policiesRoutes } from "./features/workflows/policies.routes.ts";
import { statsRoutes } from "./features/workflows/stats.routes.ts";
import { typesRoutes } from "./features/workflows/types.routes.ts";
import { workflowsRoutes } from "./features/workflows/workflows.routes.ts";
import { createHttpApp } from "./http/app.ts";
import { listen, type RunningServer } from "./http/server.ts";
import { homePages } from "./pages/home-pages.ts";
import type { HealthService } from "./features/health/health.service.ts";
import { withAnswerCheck } from "./operations/answer-check.ts";
import type { Route } from "./operations/route.ts";
import { systemClock } from "./kernel/clock.ts";
import { ProblemError } from "./kernel/errors.ts";
import { createDoing } from "./commands/doing.ts";
import { createFiles } from "./commands/files.ts";
import { createKept } from "./commands/kept.ts";
import { sayIn } from "./commands/texts.ts";
import { queueBoard } from "./commands/board.ts";
import { sharedCard } from "./commands/review-card.ts";
import { createReviewControls } from "./commands/review-controls.ts";
import { createVerbs } from "./commands/verbs.ts";
import type { Verbs } from "./commands/verbs.ts";
import { createCardMessages } from "./discord/cards.ts";
import { createJobs } from "./jobs.ts";
import type { Jobs } from "./jobs.ts";
import { workflowKinds } from "./kernel/workflow-kinds.ts";
import { createLogger } from "./logger.ts";
import { createChecks } from "./checks.ts";
import type { Database } from "./database/database.ts";
import { settleInstallation } from "./installation.ts";
import { openServices } from "./services.ts";
import type { Ground, Services } from "./services.ts";
import { version } from "./version.ts";

export { openServices };

export type App = Awaited<ReturnType<typeof createApp>>;

/** What the document and the boot check are made from. */
function documented(routes: Route[], switchedOff: ReadonlySet<string> = new Set()) {
  return {
    routes,
    info: documentInfo,
    known: { permissions: knownPermissions, expansions: { type: workflowKinds } },
    switchedOff: (capability: string) => (switchedOff.has(capability) ? "It is switched off here." : undefined),
  };
}

/** Every route, to read what stands in its description: none leads anywhere. */
export function routeTable(): Route[] {
  const nowhere: Services & HealthService = new Proxy({} as Services & HealthService, { get: () => nowhere });
  return [...healthRoutes(nowhere), ...routesOf(nowhere)];
}

/** The OpenAPI document. Its doors lead nowhere, so it needs no environment and no database. */
export function openApiDocument(): object {
  const routes = routeTable();
  const closed = {
    pages: [],
    authenticate: () => {
      throw new ProblemError("invalid_credentials");
    },
    limits: defaultRateLimits,
    logger: createLogger("silent", process.stderr),
    clock: systemClock,
    unsupportedStatus: 501,
    isShuttingDown: () => true,
    requireIfMatch: false,
  } as const;
  return createHttpApp({ ...documented(routes), ...closed }).document();
}

/** The doors of every room. */
function routesOf(services: Services) {
  return [
    ...authorizationRoutes(services.authorization),
    ...intelligenceRoutes(services),
    ...serversRoutes(services.registry),
    ...linksRoutes(services.links),
    ...timelineRoutes(services.timeline),
    ...privacyRoutes(services.privacy),
    ...staffRoutes(services.staff),
    ...permissionsRoutes(services.permissions),
    ...keysRoutes(services.keys),
    ...channelsRoutes(services.channels),
    ...confirmationsRoutes(services.confirmations),
    ...blacklistRoutes(services.blacklist),
    ...blacklistTransferRoutes(services.blacklistTransfer),
    ...casesRoutes(services.cases),
    ...actionsRoutes(services.actions),
    ...evidenceRoutes(services.evidence),
    ...workflowsRoutes(services.workflows),
    ...amendRoutes(services.workflows),
    ...commentsRoutes(services.workflows),
    ...historyRoutes(services.workflows),
    ...bulkRoutes(services.workflows),
    ...policiesRoutes(services.workflows),
    ...statsRoutes(services.workflows),
    ...typesRoutes(services.workflows),
    ...deliveriesRoutes(services.deliveries),
    ...draftsRoutes(services.drafts),
    ...auditRoutes(services.audit),
    ...eventsRoutes(services.eventStreams),
    ...callsignsRoutes(services.callsignRegistry),
    ...poolsRoutes(services.callsignPools),
    ...repairRoutes(services.callsignRepairs),
    ...rosterHistoryRoutes(services.rosterEntries),
    ...rosterSyncRoutes(services.rosterSync),
    ...rosterAuditsRoutes(services.rosterAudits),
    // Last: the other addresses would be taken for that of an entry.
    ...rosterRoutes(services.rosterEntries),
  ];
}

interface AppOptions extends Omit<Ground, "logger"> {
  /** For tests: every answer is checked against its schema. */
  validateAnswers?: boolean;
  /** For tests: sees what slash commands do, or stands in for it. */
  aroundVerbs?: (verbs: Verbs) => Verbs;
  /** For tests: shorter waits than are right for Discord. */
  pauses?: Pauses;
  /** For tests: whether jobs run by the clock, as usual, or only when they are asked to. */
  isScheduled?: boolean;
  /** Whether a database that does not belong to the data folder is taken all the same. */
  acceptsOtherDatabase?: boolean;
  /** Where log lines go. */
  logTo: DestinationStream;
}

/** What may be waited for otherwise than usual; what is not told is as usual. */
export interface Pauses {
  discord?: Pick<DiscordOptions, "retryMs" | "reconnectMs" | "buildThrottler" | "lookUpRestMs" | "repeatMs">;
  cards?: Partial<CardPauses>;
  /** How long a card waits after a failure of Discord that names no time. */
  cardRetryMs?: number;
}

const documentInfo = {
  title: "Provost",
  version,
  description:
    "Moderation backend for Discord communities: authorization, server intelligence, staff, permissions, blacklist, workflow requests and audit.",
};

/** The whole service. Nothing listens and nothing connects before `start`. */
export async function createApp(options: AppOptions) {
  const {
    validateAnswers = false,
    aroundVerbs = (verbs) => verbs,
    pauses = {},
    isScheduled = true,
    acceptsOtherDatabase = false,
    logTo,
    ...ground
  } = options;
  const { config, secrets } = ground;
  const logger = createLogger(config.logLevel, logTo);
  const lock = await acquireDataLock(config.dataDir);
  const settle = (database: Database): Promise<string> => settleInstallation({ database, config, acceptsOtherDatabase });
  const services = await openServices({ ...ground, logger, settle, watchNesting: validateAnswers }).catch((error: unknown) => {
    lock.release();
    throw error;
  });
  const { clock, database, guildState, standing } = services;
  try {
    await guildState.load();
    await standing.load();
    await services.channels.load();
    await services.matches.load();
    await services.blacklist.prepare();
    await services.privacy.catchUp();
    await services.evidence.prepare();
  } catch (error) {
    await services.close();
    lock.release();
    throw error;
  }

  const routes = validateAnswers ? routesOf(services).map(withAnswerCheck) : routesOf(services);
  const say = sayIn("en-GB");
  const looks = {
    request: (shown: ShownRequest) => sharedCard(shown, say),
    queue: (shown: ShownQueue) => queueBoard(shown, say),
  };
  const cards = createCards({ ...services, pauses: pauses.cards, looks, logger });
  const verbs = aroundVerbs(
    createVerbs({
      requests: { kindOf: services.workflows.kindOfKey, cardOf: cards.linkOf },
      ...documented(routes, config.switchedOff),
      knownPermissions,
      ...createFiles(() => services.evidence.capturing.current?.attachments),
    }),
  );
  const doing = createDoing(verbs, createKept(), () => services.publicUrl.current);
  const discord = createDiscord({
    ...config.discord,
    ...pauses.discord,
    token: secrets.discordToken,
    logger,
    clock,
    commands: doing.commands,
    controls: [...doing.controls, ...createReviewControls(verbs, cards.refresh)],
    wordsIn: sayIn,
    actorOf: standing.actorOf,
    noteDenied: services.audit.noteDenied,
    denialOf: verbs.denialOf,
    guildState,
  });
  services.evidence.capturing.current = discord;
  services.deliveries.delivering.current = discord;
  cards.posting.current = {
    messages: createCardMessages(discord.rest, pauses.cardRetryMs),
    isReady: () => discord.status().state === "ready",
  };
  services.rosterSync.performing.current = discord;
  const keyStore = createKeyStore({ ...services, logger });
  const instanceId = await database.instance.id();
  let isStopping = false;
  const isOn = (capability: Capability): boolean => !config.switchedOff.has(capability);
  const health = createHealthService({
    clock,
    service: { name: "provost", version, instanceId },
    checks: createChecks({ database, audit: services.audit, discord, cards, guildState, guildIds: config.discord.guildIds }),
    capabilities: () => ({
      callsigns: {
        next: isOn("callsigns.next"),
        lookup: isOn("callsigns.lookup"),
        repair: isOn("callsigns.repair"),
        registry: isOn("callsigns.registry"),
      },
      roster: {
        entries: isOn("roster.entries"),
        history: isOn("roster.history"),
        sync_member: isOn("roster.sync_member"),
        audit: isOn("roster.audit"),
      },
      workflows: [...workflowKinds],
      webhooks: false,
      events: true,
    }),
    routes: () => http.registry(),
    isShuttingDown: () => isStopping,
  });
  const site = { publicUrl: () => services.publicUrl.current, discordOrigin: services.oauth.origin };
  const http = createHttpApp({
    ...documented([...healthRoutes(health), ...routes], config.switchedOff),
    pages: [
      ...homePages(site),
      ...authorizationPages({
        authorization: services.authorization,
        signIn: services.signIn,
        names: createConsentNames({ read: database.read, guildState }),
        returnTo: config.returnTo,
        ...site,
      }),
      ...privacyPages({
        privacy: services.privacy,
        authorization: services.authorization,
        signIn: services.signIn,
        callOf: webCall,
        ...site,
      }),
    ],
    authenticate: createAuthenticate({
      store: keyStore,
      standing,
      verifyAssertion: createAssertions({ audience: instanceId, clock }),
      clock,
    }),
    noteDenied: services.audit.noteDenied,
    limits: config.http.limits,
    logger,
    ...(logger.isLevelEnabled("info") && { accessLog: logTo }),
    clock,
    trustedProxies: config.http.trustedProxies,
    unsupportedStatus: config.http.unsupportedStatus,
    isShuttingDown: () => isStopping,
    requireIfMatch: config.http.requireIfMatch,
    publicUrl: config.http.publicUrl,
    documentedUrl: site.publicUrl,
  });
  let server: RunningServer | undefined;
  const jobs = createJobs(jobsOf(services), logger);

  return {
    ...services,
    http,
    discord,
    cards,
    /** Do now what is done once a minute. */
    runJobs: jobs.runAll,
    /** Listen first, then connect: the service answers before and without Discord. */
    async start(): Promise<void> {
      server = await listen(http, { ...config.http, logger });
      services.publicUrl.current = services.publicUrl.current.replace(/:0$/, `:${server.port.toString()}`);
      discord.start();
      services.deliveries.start();
      cards.start();
      services.rosterSync.start();
      if (isScheduled) jobs.start();
    },
    /** The address the server listens at. */
    address: (): string =>
      `http://${isIPv6(config.http.host) ? `[${config.http.host}]` : config.http.host}:${(server?.port ?? config.http.port).toString()}`,
    /**
     * Stop accepting, finish what runs, leave Discord, close the database.
     * @param drainMs how long new connections are still answered that the service is going, so that none is cut off unheard
     */
    async stop(drainMs = 0): Promise<void> {
      isStopping = true;
      await delay(drainMs);
      await services.eventStreams.close();
      await server?.close();
      await jobs.stop();
      await services.rosterSync.stop();
      await cards.stop();
      await services.deliveries.stop();
      await discord.stop();
      await keyStore.close();
      await services.close();
      lock.release();
    },
  };
}

function jobsOf(services: Services): Jobs {
  const { authorization, permissions, confirmations, keys, blacklist, events, staff, workflows, database } = services;
  return {
    authorization: authorization.sweep,
    matches: services.matches.sweep,
    registry: services.registry.sweep,
    links: services.links.expireDue,
    privacy: services.privacy.sweep,
    signIn: services.signIn.sweep,
    permissions: permissions.expireDue,
    confirmations: confirmations.expireDue,
    keys: keys.sweep,
    blacklist: blacklist.expireDue,
    workflows: workflows.expireDue,
    reminders: workflows.remind,
    cases: services.cases.sweep,
    strikes: services.actions.sweep,
    roster: services.roster.sweep,
    rosterSync: services.rosterSync.catchUp,
    rosterAudits: services.rosterAudits.sweep,
    callsigns: services.callsigns.sweep,
    callsignRepairs: services.callsignRepairs.sweep,
    evidence: services.evidence.sweep,
    staff: staff.expireDue,
    events: events.sweep,
    audit: services.audit.sweep,
    database: database.sweep,
  };
}
