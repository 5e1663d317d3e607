import { setTimeout as delay } from "node:timers/promises";
import type { DestinationStream, Logger } from "pino";
import { described, documentContact } from "./app/document.ts";
import { createLeading } from "./app/leading.ts";
import { refuseHalfRestored } from "./backup/marker.ts";
import type { Secrets } from "./config/secrets.ts";
import { configWarnings } from "./config/warnings.ts";
import type { CoreOptions } from "./core.ts";
import { acquireDataLock } from "./database/data-lock.ts";
import type { DatabaseError } from "./database/errors.ts";
import { networkWarning } from "./database/network-file-system.ts";
import { acquireServerLock } from "./database/server-lock.ts";
import { createSettingsCheck } from "./discord/guild/settings-check.ts";
import { commandTable, features, openServices, routesOf } from "./features.ts";
import { createHttpApp } from "./http/http-app.ts";
import { listen, type RunningServer } from "./http/listen.ts";
import { checkInstallation, closeToOthers } from "./installation.ts";
import { type AroundVerbs, createInteractions } from "./interactions.ts";
import { createJobs, type JobState } from "./jobs.ts";
import { checkKeys } from "./key-marks.ts";
import { httpAddress } from "./kernel/addresses.ts";
import { endWithin } from "./kernel/ends.ts";
import { createLogger } from "./logger.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { groundReadings } from "./metrics/readings.ts";
import { withAnswerCheck } from "./operations/answer-check.ts";
import { docsPages } from "./pages/docs-pages.ts";
import { homePages } from "./pages/home-pages.ts";
import { requireSecretKey } from "./secret-key.ts";

/** What measures and its package are loaded only where somebody collects it. */
async function openMetrics({ metricsToken: token }: Secrets, logger: Logger): Promise<(Metrics & { token: string }) | undefined> {
  return token === null ? undefined : { token, ...(await import("./metrics/metrics.ts")).createMetrics(logger) };
}

/** What a process keeps while one app takes the place of another. */
export interface Kept {
  locks: { release(): unknown }[];
  server: RunningServer | undefined;
}

interface AppOptions extends Omit<
  CoreOptions,
  "logger" | "checkInstallation" | "publicUrl" | "stopping" | "onTransaction" | "joinsCluster"
> {
  /** For tests: every answer is checked against its schema. */
  validateAnswers?: boolean;
  /** For tests: sees what slash commands do, or stands in for it. */
  aroundVerbs?: AroundVerbs;
  /** For tests: whether jobs run every minute, as usual, or only when they are asked to. */
  isScheduled?: boolean;
  /** Whether a database that does not belong to the data folder is accepted. */
  acceptsOtherDatabase?: boolean;
  /** Whether another `SECRET_KEY` than the database was used with is accepted. */
  acceptsNewKey?: boolean;
  /** Where log lines go. */
  logTo: DestinationStream;
  /** Another server has taken the database, and this one has to stop. */
  onLost?: (error: DatabaseError) => void;
  /** Another process may lead from now on: this app does only what every process does, until another one takes its place. */
  onDeposed?: () => void;
  /** Of the app whose place this one takes. */
  kept?: Kept;
}

/** How long the hand-over may take. If the database does not answer, the lock ends with this process. */
const handOverMs = 2000;
/** How long a process that is about to end says so to those who ask whether it is ready, and still answers everybody. */
const noticeMs = 3000;

export type App = Awaited<ReturnType<typeof createApp>>;

/** The whole service. Nothing listens and nothing connects before `start`. */
export async function createApp(options: AppOptions) {
  const {
    config,
    validateAnswers = false,
    aroundVerbs,
    isScheduled = true,
    acceptsOtherDatabase = false,
    acceptsNewKey = false,
    logTo,
    onLost = () => {},
    onDeposed = () => {},
    kept: { locks, server: keptServer } = { locks: [], server: undefined },
  } = options;
  const logger = createLogger(config.logLevel, logTo);
  for (const text of configWarnings(config)) logger.warn(text);
  await closeToOthers(config, logger);
  const networked = await networkWarning(config.database.url);
  if (networked !== undefined) logger.warn(networked);
  if (options.kept === undefined) locks.push(await acquireDataLock(config.dataDir));
  const unlock = async (): Promise<void> => {
    for (const lock of locks.toReversed()) await lock.release();
  };
  let isLeaving = false;
  const stopping = new AbortController();
  const metrics = await openMetrics(options.secrets, logger);
  let { publicUrl } = config.http;
  let server: RunningServer | undefined;
  const isShared = config.cluster;
  const opened = {
    ...options,
    logger,
    stopping: stopping.signal,
    isLeaving: () => isLeaving || stopping.signal.aborted,
    joinsCluster: isShared,
    publicUrl: () => publicUrl,
    watchNesting: validateAnswers,
    onTransaction: metrics?.noteTransaction,
  };
  const open = async () => {
    await refuseHalfRestored(config.dataDir);
    if (options.kept === undefined && options.cluster?.isOn !== true)
      locks.push(await acquireServerLock({ url: config.database.url, dataDir: config.dataDir, isShared, logger, onLost }));
    return openServices({
      ...opened,
      async checkInstallation(database) {
        const id = await checkInstallation({ database, config, acceptsOtherDatabase });
        await requireSecretKey({ database, secretKey: options.secrets.secretKey, acceptsNewKey });
        checkKeys({ dataDir: config.dataDir, secrets: options.secrets }, logger);
        return id;
      },
      routeRegistry: () => http.registry(),
      jobStates: () => jobStates(),
    });
  };
  const services = await open().catch(async (error: unknown) => {
    if (options.kept === undefined) await unlock();
    throw error;
  });
  const { member } = services;
  const load = async (): Promise<void> => {
    await member?.join();
    await features.load(services);
  };
  await load().catch(async (error: unknown) => {
    await member?.stop(true);
    await services.close();
    if (options.kept === undefined) await unlock();
    throw error;
  });

  const routes = routesOf(services).map((route) => (validateAnswers ? withAnswerCheck(route) : route));
  const switchedOff = (capability: string) => (config.switchedOff.has(capability) ? "It is switched off here." : undefined);
  // The protocol and its package are loaded only where somebody uses them.
  const mcp = config.mcp
    ? (await import("./mcp/mcp.ts")).createMcp(services, { ...config.http, ...described, routes, switchedOff })
    : undefined;
  const http = createHttpApp({
    ...config.http,
    ...described,
    mcp,
    info: { ...described.info, ...documentContact(config.operator) },
    operator: config.operator,
    limiters: services.limiters,
    claims: services.claims,
    routes,
    switchedOff,
    pages: [...homePages(services), ...docsPages(services), ...features.pages(services)],
    authenticate: services.authenticate,
    noteDenied: services.audit.noteDenied,
    logger,
    ...(logger.isLevelEnabled("info") && { accessLog: logTo }),
    clock: services.clock,
    isShuttingDown: () => stopping.signal.aborted,
    documentedUrl: services.publicUrl,
    fingerprintKey: services.keyFor("fingerprints"),
    metrics,
    onAnswer: metrics?.noteRequest,
  });
  /** Commands and listeners, once the server listens: no answer over HTTP needs their table, which takes time to make. */
  const serveDiscord = (): void => {
    const interactions = createInteractions(services, {
      ...described,
      routes,
      switchedOff,
      aroundVerbs,
      table: commandTable(),
      controlsOf: (verbs, kept) => features.controls(services, verbs, kept),
    });
    const settingsCheck = createSettingsCheck({ clientId: config.discord.clientId, served: services.servedGuilds, logger });
    services.discord.serve({
      ...interactions,
      guildState: services.guildState,
      listeners: [settingsCheck, ...features.listeners(services)],
    });
  };
  const leading = createLeading({ services, logger, isScheduled, onDeposed });
  const jobsEach = createJobs(features.jobsEach(services), logger, services.clock);
  const jobStates = (): JobState[] => [...jobsEach.state(), ...(services.cluster.isLeader() ? leading.jobs.state() : [])];
  metrics?.read({
    ...groundReadings({ ...services, jobs: { state: jobStates }, nightly: leading.nightly }),
    ...features.metrics(services),
  });
  const close = async (isLeaving: boolean): Promise<void> => {
    await leading.end();
    await jobsEach.stop();
    await member?.stop(isLeaving);
    await services.discord.stop();
    await services.close();
  };

  return {
    ...services,
    http,
    /** Do now what is done once a minute. */
    async runJobs(): Promise<void> {
      await jobsEach.runAll();
      await leading.jobs.runAll();
    },
    /** Listen first, then connect: the service answers before and without Discord. */
    async start(): Promise<void> {
      server = keptServer ?? (await listen(http, { ...config.http, logger }));
      keptServer?.serve(http);
      publicUrl = publicUrl.replace(/:0$/, `:${server.port.toString()}`);
      serveDiscord();
      features.startEach(services);
      if (isScheduled) jobsEach.start();
      await leading.start();
    },
    /** The address the server listens at. */
    address: (): string => httpAddress(config.http.host, server?.port ?? config.http.port),
    /**
     * Stop accepting, finish what runs, leave Discord, close the database.
     * @param drainMs how long new connections are still answered with 503, so that none is cut off without an answer
     */
    async stop(drainMs = 0): Promise<void> {
      if (member !== undefined) {
        isLeaving = true;
        // The next one leads while this one still answers.
        await leading.end();
        await endWithin(handOverMs, { leadership: member.handOver }, logger);
        if (member.liveNodes() > 1) await delay(noticeMs);
      }
      stopping.abort();
      await delay(drainMs);
      await features.endStreams(services);
      await server?.close();
      await close(true);
      await unlock();
    },
    /** What the app that takes the place of this one goes on with. */
    kept: (): Kept => ({ locks, server }),
    /** End after another app has taken its place. */
    async retire(): Promise<void> {
      stopping.abort();
      await features.endStreams(services);
      await close(false);
    },
  };
}
