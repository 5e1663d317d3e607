import type { Logger } from "pino";
import { type AuthFailures, createAuthFailures } from "./cluster/auth-failures.ts";
import { type Claims, createClaims } from "./cluster/claims.ts";
import { type Cluster, singleProcess } from "./cluster/cluster.ts";
import { createLeader, type SharedLeader } from "./cluster/leader.ts";
import type { Config, Operator } from "./config/config.ts";
import type { S3Keys, Secrets } from "./config/secrets.ts";
import { type Database, type DatabaseOptions, openDatabase } from "./database/database.ts";
import { createDiscord, type Discord, type DiscordOptions } from "./discord/client.ts";
import { createGuildState, type GuildFeed } from "./discord/guild/create-guild-state.ts";
import type { GuildState } from "./discord/guild-state.ts";
import { createJudge, type Judge } from "./discord-actions/judge.ts";
import { createDiscordOAuth, type DiscordOAuth } from "./discord/oauth.ts";
import { systemClock, type Clock } from "./kernel/clock.ts";
import { createCursors, type Cursors } from "./kernel/page.ts";
import { createKeyring, deriveKey, type KeyPurpose, type Keyring } from "./kernel/secrets.ts";
import { createLogger } from "./logger.ts";
import { createChanges, type Changes } from "./cluster/changes.ts";
import { createMemory } from "./cluster/memory.ts";
import type { ClusterMember } from "./cluster/open.ts";
import { createRateLimiters, type RateLimiters } from "./operations/rate-limit.ts";
import type { Pace } from "./features/events/stream.ts";
import type { CardPauses } from "./features/workflows/cards/cards.ts";

/** What every feature may ask for. */
export interface Core {
  config: Config;
  clock: Clock;
  logger: Logger;
  database: Database;
  /** What one process may do alone; undefined where there is only this one. */
  claims: Claims | undefined;
  /** The limit of failed attempts to identify, where other processes count them, too. */
  authFailures: AuthFailures | undefined;
  /** What the process that is connected to Discord answers for all. */
  leader: SharedLeader;
  /** Tells this installation from every other one. */
  instanceId: string;
  cursors: Cursors;
  keyring: Keyring;
  /** A key for one purpose, derived from the secret key: the same at every start. */
  keyFor: (purpose: KeyPurpose) => Buffer;
  /** Who hears of which changes, of this process and of others. */
  changes: Changes;
  /** The processes that serve this installation. */
  cluster: Cluster;
  /** This process among several; undefined where it is the only one. */
  member: ClusterMember | undefined;
  /** The keys of a bucket for the files of evidence; null where there are none. */
  evidenceKeys: S3Keys | null;
  /** The guilds of this community, whether or not the bot is in them yet. */
  servedGuilds: ReadonlySet<string>;
  guildState: GuildState & { feed: GuildFeed };
  /** The link to Discord; it connects only in the server, and only after everything is created. */
  discord: Discord;
  /** Tells before something is done whether Discord would let the bot do it. */
  judge: Judge;
  oauth: DiscordOAuth;
  /** How browsers reach the service, without a slash at the end. */
  publicUrl: () => string;
  /** Whom the pages name. */
  operator: Operator;
  /** Where Discord's own pages are. */
  discordOrigin: string;
  /** Aborted when the service begins to stop. */
  stopping: AbortSignal;
  /** Whether it is about to stop: who can ask another process is to do so. */
  isLeaving: () => boolean;
  /** How often what may be asked, over every transport together. */
  limiters: RateLimiters;
  pauses: Pauses;
}

/** How long something waits; what is left out is as usual. */
export interface Pauses {
  discord?: Pick<DiscordOptions, "retryMs" | "reconnectMs" | "buildThrottler" | "lookUpRestMs" | "repeatMs">;
  cards?: Partial<CardPauses>;
  streams?: Partial<Pace>;
  /** How much longer web-hooks wait after a failure than usual; below 1: shorter. */
  webhookRetry?: number;
  /** How long a card waits after a failure of Discord that names no time. */
  cardRetryMs?: number;
}

export interface CoreOptions {
  config: Config;
  secrets: Secrets;
  logger?: Logger;
  /** The machine's own by default. */
  clock?: Clock;
  /** The other processes that answer for the database; none by default. */
  cluster?: Cluster;
  /** Checks the database before anything else uses it; answers the id of the installation. What it throws closes the database. */
  checkInstallation?: (database: Database) => Promise<string>;
  /** For tests: a write inside a write is reported at once. */
  watchNesting?: boolean;
  /** For tests: shorter waits than are right for Discord. */
  pauses?: Pauses;
  onTransaction?: DatabaseOptions["onTransaction"];
  /** Whether this process is one of several, where the configuration allows for it; the command line is none. */
  joinsCluster?: boolean;
  publicUrl?: () => string;
  stopping?: AbortSignal;
  isLeaving?: () => boolean;
}

const idempotencySeconds = 172_800;

/**
 * The database, and everything features stand on. Nothing connects to Discord yet.
 * @throws DatabaseError, ProblemError when the database cannot be opened
 */
export async function openCore({
  config,
  secrets,
  logger = createLogger("warn", process.stderr),
  clock = systemClock,
  cluster: given,
  checkInstallation = (database) => database.instance.id(),
  watchNesting = false,
  pauses = {},
  onTransaction,
  joinsCluster = false,
  publicUrl = () => config.http.publicUrl,
  stopping = new AbortController().signal,
  isLeaving = () => stopping.aborted,
}: CoreOptions): Promise<Core> {
  const { url, synchronous } = config.database;
  let member: ClusterMember | undefined;
  const epoch = config.cluster && joinsCluster ? () => member?.epoch() : undefined;
  const changes = createChanges(logger);
  const memory = createMemory({ changes, logger, stopping });
  const database = await openDatabase({ url, synchronous, idempotencySeconds, clock, logger, watchNesting, onTransaction, epoch, memory });
  const instanceId = await checkInstallation(database).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const keyFor = (purpose: KeyPurpose): Buffer => deriveKey(secrets.secretKey, purpose);
  const { apiBase, clientId } = config.discord;
  const served = new Set(config.discord.guildIds);
  const oauth = createDiscordOAuth({ apiBase, clientId, clientSecret: secrets.discordClientSecret, clock, logger });
  const locales = () =>
    Object.fromEntries(
      [...served].flatMap((id) => {
        const locale = guildState.preferredLocale(id);
        return locale === undefined ? [] : [[id, locale]];
      }),
    );
  const view = () => ({ discord: discord.status(), guildState: guildState.own(), locales: locales() });
  if (epoch !== undefined) member = (await import("./cluster/open.ts")).createCluster({ url, database, changes, logger, view });
  const cluster = given ?? member ?? singleProcess;
  const { limits } = config.http;
  const limiters = createRateLimiters(limits, cluster.liveNodes);
  const shared = { database, clock, logger, nodeId: cluster.nodeId, key: keyFor("cluster") };
  const authFailures = cluster.isOn ? createAuthFailures(limiters.failed_auth, limits.failed_auth, shared) : undefined;
  const guildState = createGuildState({
    database,
    logger,
    served,
    clock,
    staleLimitSeconds: config.rosterStaleSeconds,
    following: { changes, isLeader: cluster.isLeader, leader: () => cluster.leader()?.guildState },
  });
  const leader = createLeader({ ...shared, cluster });
  const discord = createDiscord({ ...config.discord, served, ...pauses.discord, token: secrets.discordToken, logger, clock });
  return {
    config,
    clock,
    logger,
    database,
    changes,
    cluster,
    member,
    claims: cluster.isOn ? createClaims(shared) : undefined,
    authFailures,
    leader,
    instanceId,
    cursors: createCursors(keyFor("cursors")),
    keyring: createKeyring(secrets.encryptionKeys),
    keyFor,
    evidenceKeys: secrets.evidenceS3,
    servedGuilds: served,
    guildState: { ...guildState, preferredLocale: (id) => guildState.preferredLocale(id) ?? cluster.leader()?.locales[id] },
    // The link is that of the process that leads.
    discord: { ...discord, status: () => cluster.leader()?.discord ?? discord.status() },
    judge: createJudge({ guildState, discord, clock, leader }),
    oauth,
    publicUrl,
    operator: config.operator,
    discordOrigin: oauth.origin,
    stopping,
    isLeaving,
    limiters: authFailures === undefined ? limiters : { ...limiters, failed_auth: authFailures },
    pauses,
  };
}
