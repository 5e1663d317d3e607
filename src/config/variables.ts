import { z } from "zod";
import { isSnowflake } from "../kernel/fields.ts";
import {
  addressList,
  contactAddress,
  databaseUrl,
  defaultRateLimits,
  defaultThresholds,
  discordApiBase,
  evidencePlace,
  flag,
  listOf,
  listenHost,
  oneOf,
  parsed,
  parseKey,
  parseKeys,
  parseRateLimits,
  parseThresholds,
  publicUrl,
  returnAddresses,
  shownName,
  snowflakeList,
  storeAddress,
  wholeNumber,
  switches,
  webOrigins,
} from "./values.ts";

/** What an installation has stored opens only with its own keys. */
const ownKeys = "put back the one that this installation had; for a new one run: npx provost secrets --write .env";

const hourOrOff = parsed("must be off, or an hour from 0 to 23 (UTC)", (text) =>
  text === "off" ? null : /^(1?\d|2[0-3])$/.test(text) ? Number(text) : undefined,
);

/** Every variable the service knows. An empty variable counts as not set. */
export const Env = z.object({
  DISCORD_TOKEN: parsed("is not a bot token; copy it from the Bot page of the Discord developer portal", (text) =>
    /^[\x21-\x7e]{8,512}$/.test(text) ? text : undefined,
  ),
  DISCORD_CLIENT_ID: parsed(
    "must be the application id, 17–20 digits without a zero in front; copy it from the General Information page of the Discord developer portal",
    (text) => (isSnowflake(text) ? text : undefined),
  ),
  DISCORD_CLIENT_SECRET: parsed("is not a client secret; copy it from the OAuth2 page of the Discord developer portal", (text) =>
    /^[\x21-\x7e]{6,512}$/.test(text) ? text : undefined,
  ),
  DISCORD_API_BASE: discordApiBase.default("https://discord.com/api"),
  ALLOW_CUSTOM_DISCORD_API: flag.default(false),
  GUILD_IDS: snowflakeList,
  OWNER_IDS: snowflakeList.default([]),
  OPERATOR_NAME: shownName.optional(),
  CONTACT_URL: contactAddress.optional(),
  DATABASE_URL: databaseUrl.optional(),
  DATA_DIR: z.string().default("./data"),
  HOST: listenHost.default("127.0.0.1"),
  PORT: wholeNumber(0, 65_535).default(8080),
  PUBLIC_URL: publicUrl.optional(),
  TRUSTED_PROXIES: addressList.default([]),
  CORS_ORIGINS: webOrigins.default([]),
  LISTS_FROM: addressList.default([]),
  WEBHOOK_ALLOW_PRIVATE: addressList.default([]),
  SECRET_KEY: parsed(`must be 32 random bytes in base64, 44 characters; ${ownKeys}`, parseKey),
  ENCRYPTION_KEYS: parsed(`must be <id>:<32 random bytes in base64>, comma-separated with distinct ids; ${ownKeys}`, parseKeys),
  RATE_LIMITS: parsed(
    "must be a list such as read=600/60,write=120/60 of read, write, authorize, export, failed_auth with count/seconds",
    parseRateLimits,
  ).default(defaultRateLimits),
  SERVER_DETAIL: oneOf("full", "listed").default("full"),
  RETURN_TO: returnAddresses.default(new Map()),
  ERASURE_JOURNAL: z.string().optional(),
  BACKUP_DIR: z.string().optional(),
  BACKUP_HOUR: hourOrOff.default(4),
  BACKUP_KEEP: wholeNumber(1, 1000).default(7),
  AUDIT_CHECKPOINTS: z.string().optional(),
  AUDIT_CHECKPOINT_MINUTES: wholeNumber(1, 1440).default(10),
  AUDIT_DETAILS_DAYS: wholeNumber(0, 36_500).default(730),
  EVIDENCE_MAX_BYTES: wholeNumber(1024, 536_870_912).default(26_214_400),
  EVIDENCE_STORE: evidencePlace.default({ kind: "folder" }),
  EVIDENCE_S3_ENDPOINT: storeAddress.optional(),
  EVIDENCE_S3_REGION: parsed("must be the name of a region, such as eu-central-1", (text) =>
    /^[a-z][a-z\d-]{1,63}$/.test(text) ? text : undefined,
  ).default("us-east-1"),
  EVIDENCE_S3_PATH_STYLE: flag.optional(),
  EVIDENCE_S3_ACCESS_KEY: parsed("is not an access key; copy it from where the bucket is managed", (text) =>
    /^[\w.@:-]{3,128}$/.test(text) ? text : undefined,
  ).optional(),
  EVIDENCE_S3_SECRET_KEY: parsed("is not a secret key; copy it from where the bucket is managed", (text) =>
    /^[\w+/=.!@#$%^&*~-]{8,256}$/.test(text) ? text : undefined,
  ).optional(),
  STRIKE_THRESHOLDS: parsed(
    "must be none or a list such as 3=probation,6=suspension: points, rising, and what to suggest (warning, strike, probation, suspension, demotion, termination)",
    parseThresholds,
  ).default(defaultThresholds),
  REFRESH_COOLDOWN_SECONDS: wholeNumber(0, 604_800).default(600),
  ROSTER_STALE_SECONDS: wholeNumber(10, 86_400).default(900),
  REFERENCE_PREFIX: parsed("must be 2 to 8 capital letters", (text) => (/^[A-Z]{2,8}$/.test(text) ? text : undefined)).optional(),
  REQUIRE_IF_MATCH: flag.default(false),
  CONFIRM_IN_DISCORD: listOf("permissions", "keys", "erasure").default([]),
  SECOND_PERSON_FOR_DANGER: flag.default(false),
  LEAVE_ACCESS: oneOf("keep", "none").default("keep"),
  SWITCHED_OFF: listOf(...switches).default([]),
  COMMANDS_REGISTER: oneOf("on", "off").default("on"),
  ROSTER_FOLLOWS_DISCORD: flag.default(true),
  ROSTER_AUDIT_HOUR: hourOrOff.default(3),
  ROSTER_INACTIVE_DAYS: wholeNumber(1, 3650).default(30),
  ACTION_BREAKER: wholeNumber(1, 1000).default(20),
  UNSUPPORTED_STATUS: parsed("must be 501 or 404", (text) => (text === "501" ? 501 : text === "404" ? 404 : undefined)).default(501),
  SQLITE_SYNCHRONOUS: oneOf("full", "normal").default("full"),
  METRICS_TOKEN: parsed("must be 16 to 512 visible characters without spaces; for a new one run: openssl rand -hex 32", (text) =>
    /^[\x21-\x7e]{16,512}$/.test(text) ? text : undefined,
  ).optional(),
  MCP: oneOf("on", "off").default("off"),
  CLUSTER: oneOf("on", "off").default("off"),
  LOG_LEVEL: oneOf("fatal", "error", "warn", "info", "debug", "trace", "silent").default("info"),
  LOG_FORMAT: oneOf("json", "pretty").default("json"),
});
export type Env = z.output<typeof Env>;

export type VariableName = keyof Env;
export const variableNames = Object.keys(Env.shape) as VariableName[];

/** Variables that can be given as `<NAME>_FILE`, the path of a file that holds the value. */
export const fileVariables: readonly VariableName[] = [
  "DISCORD_TOKEN",
  "DISCORD_CLIENT_SECRET",
  "SECRET_KEY",
  "ENCRYPTION_KEYS",
  "DATABASE_URL",
  "METRICS_TOKEN",
  "EVIDENCE_S3_ACCESS_KEY",
  "EVIDENCE_S3_SECRET_KEY",
];

/** Where an operator finds the value of a required variable. */
export const whereToFind: Partial<Record<VariableName, string>> = {
  DISCORD_TOKEN: "copy it from the Bot page of the Discord developer portal",
  DISCORD_CLIENT_ID: "copy the application id from the General Information page of the Discord developer portal",
  DISCORD_CLIENT_SECRET: "copy it from the OAuth2 page of the Discord developer portal",
  GUILD_IDS:
    "list the ids of your own Discord servers, comma-separated, such as 80351110224678912. In Discord switch on Developer Mode (User Settings, Advanced), then right-click a server and choose Copy Server ID",
  SECRET_KEY: ownKeys,
  ENCRYPTION_KEYS: ownKeys,
};
