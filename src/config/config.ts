import { readFileSync } from "node:fs";
import { processEnvironment, readEnv, type Variables } from "./env.ts";
import { toSecrets, unprintable, type Secrets } from "./secrets.ts";
import { operatorText } from "../kernel/operator-errors.ts";
import { switchedOffBy, type EvidencePlace, type RateLimits, type StrikeThreshold } from "./values.ts";
import { type Env, fileVariables, variableNames, type VariableName } from "./variables.ts";
import { distance, slipsIn } from "../kernel/distance.ts";

/** Every name that is read. */
const known = [...variableNames, ...fileVariables.map((name) => `${name}_FILE`)];

/**
 * Names of the environment that look like a setting and are none: what they are to set keeps its default. An environment has names of many
 * programs, so only those that hardly another one has are named.
 * @returns one line each, without a value
 */
export function unknownVariables(env: Variables): string[] {
  return Object.keys(env)
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const meant = suggestionFor(name);
      if (meant !== undefined) return [`${name} is not a setting: did you mean ${meant}?`];
      return /^DISCORD_[A-Z_]+$/.test(name) ? [`${name} is not a setting: docs/configuration.md lists all of them. Remove it.`] : [];
    });
}

function suggestionFor(name: string): string | undefined {
  const upper = name.toUpperCase();
  const inFile = upper.endsWith("_FILE") ? variableNames.find((one) => `${one}_FILE` === upper) : undefined;
  return inFile ?? closest(upper) ?? sameWords(upper);
}

function closest(name: string): string | undefined {
  const near = known.map((one) => ({ one, slips: distance(name, one) })).filter(({ one, slips }) => slips <= slipsIn(one));
  return near.toSorted((a, b) => a.slips - b.slips)[0]?.one;
}

/** `DISCORD_BOT_TOKEN` has all words of `DISCORD_TOKEN`; names of other beginnings can be anybody's, such as `AWS_SECRET_ACCESS_KEY`. */
function sameWords(name: string): VariableName | undefined {
  const words = name.split("_");
  return variableNames.find((one) => one.startsWith("DISCORD_") && one.split("_").every((word) => words.includes(word)));
}

/** Who runs an installation, as its pages and its OpenAPI document say; null where the operator does not say it. */
export interface Operator {
  name: string | null;
  /** An https address, or `mailto:` with an address of e-mail. */
  contact: string | null;
}

/** Of an installation whose operator names nobody. */
export const nobodyNamed: Operator = { name: null, contact: null };

/** The settings of one installation, with every default filled in. It can be printed: a database password shows as `***`. */
export interface Config {
  discord: {
    /** Without version and trailing slash; the bot token is sent there. */
    apiBase: string;
    clientId: string;
    /** The guilds that are served, at least one. Every other guild is left alone, also when the bot is in it. */
    guildIds: string[];
    ownerIds: string[];
    /** Whether the service registers its commands at the start; else the operator deploys them. */
    registersCommands: boolean;
  };
  http: {
    host: string;
    /** 0 lets the system choose a free port. */
    port: number;
    /** How browsers reach the service, without trailing slash. */
    publicUrl: string;
    /** Whether the operator says how browsers reach it: only then people are sent links. */
    isPublic: boolean;
    limits: RateLimits;
    requireIfMatch: boolean;
    /** Addresses and networks of reverse proxies whose `X-Forwarded-For` counts. */
    trustedProxies: string[];
    /** Origins whose pages may use the API in browsers. */
    corsOrigins: string[];
    unsupportedStatus: 501 | 404;
  };
  /** Private addresses and networks that lists of others may be read from, also by plain http. */
  listsFrom: string[];
  /** Private addresses and networks that web-hooks may be sent to, also by plain http. */
  webhookAllowPrivate: string[];
  operator: Operator;
  database: { url: string; synchronous: "full" | "normal" };
  dataDir: string;
  refreshCooldownSeconds: number;
  /** The most that a session may ask to be kept readable of a person's server list. */
  serverDetail: "full" | "listed";
  /** Where the last page of a session can lead back to, by name. */
  returnTo: ReadonlyMap<string, string>;
  /** The file that lists what was deleted at people's wish. */
  erasureJournal: string;
  /** Where a copy of it stands outside the data folder; null where the operator has named a place for it. */
  erasureJournalCopy: string | null;
  backup: {
    /** The folder that backups go into; null: the operator names a place each time, and none is made at night. */
    folder: string | null;
    /** The hour (UTC) of the nightly backup; null: none. */
    hour: number | null;
    /** How many of the folder's backups stay. */
    keep: number;
  };
  /** The file of signed positions of the audit chain. */
  auditCheckpoints: string;
  /** How long at most new entries of the audit wait for a signed position. */
  auditCheckpointMinutes: number;
  /** How long the details of audit entries are kept; 0: permanently. */
  auditDetailsDays: number;
  /** The most that one file of evidence may hold. */
  evidenceMaxBytes: number;
  /** Where the files of evidence are. */
  evidenceStore: EvidencePlace;
  /** How a bucket for them is reached. */
  evidenceS3: {
    /** The server; null: that of AWS. */
    endpoint: string | null;
    region: string;
    /** Whether the bucket is named in the path, and not in the host. */
    pathStyle: boolean;
  };
  /** From how many points in force a punishment is suggested, rising. */
  strikeThresholds: readonly StrikeThreshold[];
  /** One prefix for the references of every kind of request, or null for one prefix per kind. */
  referencePrefix: string | null;
  logLevel: "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";
  /** `pretty`: for people who read along. */
  logFormat: "json" | "pretty";
  /** Whether programs of AI may call the operations at `/mcp`. */
  mcp: boolean;
  /** Whether several processes may serve the database together. */
  cluster: boolean;
  /** How old the guild state may be for privileged writes. */
  rosterStaleSeconds: number;
  /** What needs a confirmation in Discord by the acting person. */
  confirmInDiscord: ("permissions" | "keys" | "erasure")[];
  /** Whether granting a dangerous permission needs a second person. */
  secondPersonForDanger: boolean;
  /** Whether staff on leave keep their access. */
  leaveAccess: "keep" | "none";
  /** Optional capabilities whose routes answer 501. */
  switchedOff: ReadonlySet<string>;
  roster: {
    /** Whether what the gateway tells is brought into the roster. */
    followsDiscord: boolean;
    /** The hour (UTC) of the nightly audit; null: none. */
    auditHour: number | null;
    /** From when on somebody counts as inactive. */
    inactiveDays: number;
  };
  /** On how many listed people an hour a guild acts by itself. */
  actionBreaker: number;
}

/** `unknown` has a line for each variable that looks like a setting and is none. */
export type ConfigReading = { ok: true; config: Config; secrets: Secrets; unknown: string[] } | { ok: false; lines: string[] };

/** The exit code of a refused configuration (EX_CONFIG of sysexits.h). */
export const configExitCode = 78;

/**
 * Check an environment and turn it into settings and secrets.
 * @param options.files reads the file a `<NAME>_FILE` variable names
 */
export function readConfig(env: Variables, options: { files?: (path: string) => string } = {}): ConfigReading {
  const reading = readEnv(env, options.files ?? readTextFile);
  const unknown = unknownVariables(env);
  // What is missing may stand there under a mistyped name.
  if (!reading.ok) return { ok: false, lines: [...reading.lines, ...unknown] };
  return { ok: true, config: toConfig(reading.values), secrets: toSecrets(reading.values), unknown };
}

/** Read the process's environment and `.env`; a refused configuration prints one line per wrong variable and ends the process with 78. */
export function loadConfigOrExit(): { config: Config; secrets: Secrets; unknown: string[] } {
  const reading = readProcessConfig();
  if (reading.ok) return reading;
  process.stderr.write(`${reading.lines.join("\n")}\n`);
  process.exit(configExitCode);
}

/** The process's environment and `.env`, checked. */
export function readProcessConfig(): ConfigReading {
  let env: Variables;
  try {
    env = processEnvironment();
  } catch (error) {
    return { ok: false, lines: [operatorText(error) ?? ".env cannot be read"] };
  }
  return readConfig(env);
}

function toConfig(env: Env): Config {
  const dataDir = env.DATA_DIR.replace(/\/+$/, "");
  const database = { url: env.DATABASE_URL ?? `file:${dataDir}/provost.db`, synchronous: env.SQLITE_SYNCHRONOUS };
  return {
    discord: {
      apiBase: env.DISCORD_API_BASE,
      clientId: env.DISCORD_CLIENT_ID,
      guildIds: env.GUILD_IDS,
      ownerIds: env.OWNER_IDS,
      registersCommands: env.COMMANDS_REGISTER === "on",
    },
    http: {
      host: env.HOST,
      port: env.PORT,
      publicUrl: env.PUBLIC_URL ?? `http://127.0.0.1:${env.PORT.toString()}`,
      isPublic: env.PUBLIC_URL !== undefined,
      limits: env.RATE_LIMITS,
      requireIfMatch: env.REQUIRE_IF_MATCH,
      trustedProxies: env.TRUSTED_PROXIES,
      corsOrigins: env.CORS_ORIGINS,
      unsupportedStatus: env.UNSUPPORTED_STATUS,
    },
    listsFrom: env.LISTS_FROM,
    webhookAllowPrivate: env.WEBHOOK_ALLOW_PRIVATE,
    operator: { name: env.OPERATOR_NAME ?? null, contact: env.CONTACT_URL ?? null },
    database: unprintable(database, { ...database, url: withoutPassword(database.url) }),
    dataDir: env.DATA_DIR,
    refreshCooldownSeconds: env.REFRESH_COOLDOWN_SECONDS,
    serverDetail: env.SERVER_DETAIL,
    returnTo: env.RETURN_TO,
    erasureJournal: env.ERASURE_JOURNAL ?? `${dataDir}/erasures.jsonl`,
    erasureJournalCopy: env.ERASURE_JOURNAL === undefined ? `${dataDir}.erasures.jsonl` : null,
    backup: { folder: env.BACKUP_DIR ?? null, hour: env.BACKUP_HOUR, keep: env.BACKUP_KEEP },
    auditCheckpoints: env.AUDIT_CHECKPOINTS ?? `${dataDir}/checkpoints.log`,
    auditCheckpointMinutes: env.AUDIT_CHECKPOINT_MINUTES,
    auditDetailsDays: env.AUDIT_DETAILS_DAYS,
    evidenceMaxBytes: env.EVIDENCE_MAX_BYTES,
    evidenceStore: env.EVIDENCE_STORE,
    evidenceS3: {
      endpoint: env.EVIDENCE_S3_ENDPOINT ?? null,
      region: env.EVIDENCE_S3_REGION,
      pathStyle: env.EVIDENCE_S3_PATH_STYLE ?? env.EVIDENCE_S3_ENDPOINT !== undefined,
    },
    strikeThresholds: env.STRIKE_THRESHOLDS,
    referencePrefix: env.REFERENCE_PREFIX ?? null,
    logLevel: env.LOG_LEVEL,
    logFormat: env.LOG_FORMAT,
    mcp: env.MCP === "on",
    cluster: env.CLUSTER === "on",
    rosterStaleSeconds: env.ROSTER_STALE_SECONDS,
    confirmInDiscord: env.CONFIRM_IN_DISCORD,
    secondPersonForDanger: env.SECOND_PERSON_FOR_DANGER,
    leaveAccess: env.LEAVE_ACCESS,
    switchedOff: switchedOffBy(env.SWITCHED_OFF),
    roster: {
      followsDiscord: env.ROSTER_FOLLOWS_DISCORD,
      auditHour: env.ROSTER_AUDIT_HOUR,
      inactiveDays: env.ROSTER_INACTIVE_DAYS,
    },
    actionBreaker: env.ACTION_BREAKER,
  };
}

function withoutPassword(url: string): string {
  if (url.startsWith("file:")) return url;
  const shown = new URL(url);
  if (shown.password !== "") shown.password = "***";
  if (shown.searchParams.has("password")) shown.searchParams.set("password", "***");
  return shown.href;
}

function readTextFile(path: string): string {
  return readFileSync(path, "utf8");
}
