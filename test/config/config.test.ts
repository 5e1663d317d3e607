// @module-tag sqlite
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { fileVariables, variableNames, type VariableName } from "../../src/config/variables.ts";
import { freshKey, secretTexts, validEnvironment } from "./environment.ts";

const required = ["DISCORD_TOKEN", "DISCORD_CLIENT_ID", "DISCORD_CLIENT_SECRET", "GUILD_IDS", "SECRET_KEY", "ENCRYPTION_KEYS"] as const;

function linesOf(env: Record<string, string | undefined>, files?: (path: string) => string): string[] {
  const reading = readConfig(env, files === undefined ? {} : { files });
  return reading.ok ? [] : reading.lines;
}

function configOf(env: Record<string, string | undefined>) {
  const reading = readConfig(env);
  if (!reading.ok) throw new Error(reading.lines.join("\n"));
  return reading.config;
}

test.each([
  ["*", /with \* the page of anybody/],
  ["https://panel.example.org/", /without a slash at the end/],
  ["https://panel.example.org/app", /without path/],
  ["http://panel.example.org", /http only for this machine/],
])("CORS_ORIGINS=%s is refused with what is wrong about it", (value, reason) => {
  expect(linesOf({ ...validEnvironment(), CORS_ORIGINS: value })).toEqual([expect.stringMatching(reason)]);
});

test("the required variables alone give every default", () => {
  expect(configOf(validEnvironment())).toEqual({
    discord: {
      apiBase: "https://discord.com/api",
      clientId: "80351110224678912",
      guildIds: ["613425648685547520"],
      ownerIds: [],
      registersCommands: true,
    },
    http: {
      host: "127.0.0.1",
      port: 8080,
      isPublic: false,
      publicUrl: "http://127.0.0.1:8080",
      limits: {
        read: { count: 600, seconds: 60 },
        write: { count: 120, seconds: 60 },
        authorize: { count: 10, seconds: 60 },
        export: { count: 5, seconds: 3600 },
        failed_auth: { count: 20, seconds: 60 },
      },
      requireIfMatch: false,
      trustedProxies: [],
      corsOrigins: [],
      unsupportedStatus: 501,
    },
    operator: { name: null, contact: null },
    database: { url: "file:./data/provost.db", synchronous: "full" },
    dataDir: "./data",
    refreshCooldownSeconds: 600,
    serverDetail: "full",
    returnTo: new Map(),
    erasureJournal: "./data/erasures.jsonl",
    erasureJournalCopy: "./data.erasures.jsonl",
    backup: { folder: null, hour: 4, keep: 7 },
    auditCheckpoints: "./data/checkpoints.log",
    auditCheckpointMinutes: 10,
    auditDetailsDays: 730,
    evidenceMaxBytes: 26_214_400,
    evidenceStore: { kind: "folder" },
    evidenceS3: { endpoint: null, region: "us-east-1", pathStyle: false },
    strikeThresholds: [
      { points: 3, action: "probation" },
      { points: 6, action: "suspension" },
    ],
    referencePrefix: null,
    logFormat: "json",
    logLevel: "info",
    mcp: false,
    cluster: false,
    rosterStaleSeconds: 900,
    confirmInDiscord: [],
    secondPersonForDanger: false,
    leaveAccess: "keep",
    listsFrom: [],
    webhookAllowPrivate: [],
    switchedOff: new Set(),
    roster: { followsDiscord: true, auditHour: 3, inactiveDays: 30 },
    actionBreaker: 20,
  });
});

test("an empty environment names every required variable, one line each", () => {
  expect(linesOf({}).map((line) => line.split(":")[0])).toEqual([...required]);
});

test("a service that does not know its own servers does not start, and is told what to list and where to find it", () => {
  const { GUILD_IDS: _, ...env } = validEnvironment();
  const [line, ...more] = linesOf(env);
  expect(more).toEqual([]);
  expect(line).toMatch(
    /^GUILD_IDS: is missing; list the ids of your own Discord servers, comma-separated, such as \d{17}\. .*Developer Mode.*Copy Server ID$/,
  );
});

const empty = [undefined, "", "   ", "\n", "\uFEFF"];
const senseless = [
  "changeme",
  "your-token-here",
  "<value>",
  "xxx",
  "***",
  "\u0000",
  "💥",
  "-1",
  "yes; rm",
  `${"a".repeat(100_000)} `,
  "../../etc?",
  "[]",
];

test.each(required)("%s stops the boot when missing, empty or senseless", (name) => {
  for (const value of [...empty, ...senseless]) {
    const lines = linesOf({ ...validEnvironment(), [name]: value });
    expect(lines, `${name}=${inspect(value)}`).toHaveLength(1);
    expect(lines[0]).toMatch(new RegExp(`^${name}: [^\\n]+$`));
  }
});

/** Any path, or any name, will do for these. */
const freeTexts: readonly string[] = [
  "DATA_DIR",
  "ERASURE_JOURNAL",
  "AUDIT_CHECKPOINTS",
  "BACKUP_DIR",
  "OPERATOR_NAME",
] satisfies VariableName[];
const optional = variableNames.filter((name) => !(required as readonly string[]).includes(name) && !freeTexts.includes(name));

test.each(optional)("%s keeps its default when empty and stops the boot when senseless", (name) => {
  const env = validEnvironment();
  for (const value of empty) expect(configOf({ ...env, [name]: value })).toEqual(configOf(env));
  for (const value of senseless) {
    const lines = linesOf({ ...env, [name]: value });
    expect(lines, `${name}=${inspect(value)}`).toHaveLength(1);
    expect(lines[0]).toMatch(new RegExp(`^${name}: [^\\n]+$`));
  }
});

test("a bot token of any length that Discord may hand out is taken", () => {
  const env = validEnvironment();
  const [first = "", second = ""] = env.DISCORD_TOKEN.split(".");
  for (const length of [27, 200, 400]) {
    const DISCORD_TOKEN = `${first}.${second}.${"x".repeat(length)}`;
    expect(linesOf({ ...env, DISCORD_TOKEN }), length.toString()).toEqual([]);
  }
  expect(linesOf({ ...env, DISCORD_TOKEN: `${first}.${second}.${"x".repeat(600)}` })).toEqual([expect.stringMatching(/^DISCORD_TOKEN: /)]);
});

const wrong: Partial<Record<VariableName, string[]>> = {
  DISCORD_TOKEN: ["Bot abc.def.ghi", "abc.def", "a b.c.d"],
  DISCORD_CLIENT_ID: ["123", "18446744073709551616", "080351110224678912", "80351110224678912x"],
  DISCORD_CLIENT_SECRET: ["short", "with space in it"],
  DISCORD_API_BASE: [
    "https://discord.com/api/",
    "https://discord.com",
    "https://discord.com/api/v10",
    "http://discord.com/api",
    "https://discord.com:444/api",
    "https://discord.com/x/api",
    "https://user:pass@discord.com/api",
    "https://discord.com/api?x=1",
    "https://discord.com/api#x",
    "https://discord.com\\@evil.example/api",
    "https://evil.example/api",
    "https://discord.com.evil.example/api",
    "http://127.0.0.1.evil.example/api",
    "http://localhost.evil.example/api",
    "http://[::2]/api",
    "ftp://127.0.0.1/api",
    "discord.com/api",
  ],
  ALLOW_CUSTOM_DISCORD_API: ["1", "TRUE", "no"],
  GUILD_IDS: ["1,2", "080351110224678912", "00000000000000000", "80351110224678912,", "80351110224678912;80351110224678913"],
  OPERATOR_NAME: ["two\nlines", "x".repeat(81)],
  CONTACT_URL: [
    "http://harbour.example",
    "harbour.example/contact",
    "mailto:",
    "mailto:nobody",
    "mailto:a@b?bcc=c@d",
    "javascript:alert(1)",
    "https://user@harbour.example",
  ],
  OWNER_IDS: ["ann", "18446744073709551616", "80351110224678912,080351110224678912"],
  DATABASE_URL: [
    "file:",
    "file::memory:",
    "mysql://u:p@h/d",
    "postgresql://u:p@h",
    "postgresql://u:p@h/",
    "postgresql://u:p@h:x/d",
    "./data/provost.db",
  ],
  HOST: ["http://127.0.0.1", "999.999.999.999", "a b", "host:80"],
  PORT: ["65536", "80.5", "0x50", "1e3", "8080a", "٨٠"],
  PUBLIC_URL: [
    "http://mod.example.org",
    "https://mod.example.org/",
    "https://mod.example.org?x",
    "https://mod.example.org#x",
    "https://u:p@mod.example.org",
    "mod.example.org",
  ],
  CORS_ORIGINS: [
    "*",
    "https://*.example.org",
    "https://panel.example.org/",
    "https://panel.example.org/app",
    "https://panel.example.org,",
    "https://user@panel.example.org",
    "http://panel.example.org",
    "panel.example.org",
    "null",
    "ftp://panel.example.org",
    "https://",
  ],
  SECRET_KEY: [
    Buffer.alloc(32).toString("base64"),
    Buffer.alloc(31, 7).toString("base64"),
    freshKey().slice(0, -2),
    `${freshKey()}${freshKey()}`,
    freshKey().replace("=", "!"),
  ],
  ENCRYPTION_KEYS: [
    freshKey(),
    `k1:${freshKey()},k1:${freshKey()}`,
    `k1:${freshKey()},`,
    `:${freshKey()}`,
    `k.1:${freshKey()}`,
    `${"k".repeat(17)}:${freshKey()}`,
    `k1:${Buffer.alloc(32).toString("base64")}`,
  ],
  RATE_LIMITS: [
    "read=600",
    "read=0/60",
    "read=600/0",
    "reads=600/60",
    "read=600/60,read=1/1",
    "read=600/60,",
    "__proto__=1/1",
    "read=-1/60",
    "read=1.5/60",
  ],
  REFRESH_COOLDOWN_SECONDS: ["10m", "604801"],
  SERVER_DETAIL: ["some", "FULL", "full,listed"],
  RETURN_TO: [
    "https://site.example",
    "site=http://site.example",
    "site=https://user@site.example",
    "site=https://a.example,site=https://b.example",
    "Site=https://a.example",
    "site=javascript:alert(1)",
    "site=https://a.example,",
    "site=https://",
  ],
  METRICS_TOKEN: ["fifteen-letters", "with a space in it", "x".repeat(513), "sixteen-letters-ü"],
  AUDIT_CHECKPOINT_MINUTES: ["0", "1441"],
  AUDIT_DETAILS_DAYS: ["-1", "36501"],
  EVIDENCE_MAX_BYTES: ["1023", "536870913"],
  EVIDENCE_STORE: ["disk", "s3://", "s3://B", "s3://bucket/../other", "s3://key@bucket", "s3://bucket/a//b"],
  EVIDENCE_S3_ENDPOINT: ["s3.example.org", "https://s3.example.org/", "ftp://s3.example.org", "https://key:secret@s3.example.org"],
  EVIDENCE_S3_REGION: ["EU west", "eu_central"],
  EVIDENCE_S3_PATH_STYLE: ["1", "on"],
  EVIDENCE_S3_ACCESS_KEY: ["with a space", "x"],
  EVIDENCE_S3_SECRET_KEY: ["with a space", "seven-7"],
  STRIKE_THRESHOLDS: ["3", "3=prison", "6=suspension,3=probation", "3=probation,3=suspension", "0=warning", "3=probation,"],
  ROSTER_STALE_SECONDS: ["0", "86401"],
  REFERENCE_PREFIX: ["acme", "A", "ABCDEFGHI", "AC-ME", "ACMÉ"],
  REQUIRE_IF_MATCH: ["1", "on"],
  CONFIRM_IN_DISCORD: ["everything", "permissions,", "permissions keys"],
  SECOND_PERSON_FOR_DANGER: ["yes", "2"],
  LEAVE_ACCESS: ["deny", "false"],
  SWITCHED_OFF: ["audit", "roster.", "roster;callsigns"],
  COMMANDS_REGISTER: ["true", "OFF", "global"],
  ROSTER_FOLLOWS_DISCORD: ["yes"],
  BACKUP_HOUR: ["24", "-1", "never"],
  BACKUP_KEEP: ["0", "1001", "all"],
  ROSTER_AUDIT_HOUR: ["24", "-1", "3.5", "never", "03:00"],
  ROSTER_INACTIVE_DAYS: ["0", "4000"],
  ACTION_BREAKER: ["0", "1001"],
  UNSUPPORTED_STATUS: ["500", "501.0"],
  SQLITE_SYNCHRONOUS: ["off", "FULL"],
  LOG_LEVEL: ["verbose", "INFO"],
};

test.each(Object.entries(wrong).flatMap(([name, values]) => values.map((value) => [name, value])))("%s refuses %j", (name, value) => {
  const lines = linesOf({ ...validEnvironment(), [name]: value });
  expect(lines.map((line) => line.split(":")[0])).toEqual([name]);
});

test.each<[VariableName, string, (config: ReturnType<typeof configOf>) => unknown, unknown]>([
  ["DISCORD_API_BASE", "http://127.0.0.1:4000/api", (config) => config.discord.apiBase, "http://127.0.0.1:4000/api"],
  ["DISCORD_API_BASE", "http://[::1]:4000/api", (config) => config.discord.apiBase, "http://[::1]:4000/api"],
  ["DISCORD_API_BASE", "HTTPS://DISCORD.COM/api", (config) => config.discord.apiBase, "https://discord.com/api"],
  [
    "GUILD_IDS",
    "80351110224678912, 80351110224678913,80351110224678912",
    (config) => config.discord.guildIds,
    ["80351110224678912", "80351110224678913"],
  ],
  ["OWNER_IDS", "80351110224678912", (config) => config.discord.ownerIds, ["80351110224678912"]],
  ["OPERATOR_NAME", " Harbour Crew ", (config) => config.operator, { name: "Harbour Crew", contact: null }],
  ["CONTACT_URL", "https://Harbour.example/contact", (config) => config.operator.contact, "https://harbour.example/contact"],
  ["CONTACT_URL", "mailto:staff@harbour.example", (config) => config.operator.contact, "mailto:staff@harbour.example"],
  ["DATA_DIR", "/srv/provost/", (config) => config.database.url, "file:/srv/provost/provost.db"],
  ["DATABASE_URL", "postgres://u:p@h:5432/d?sslmode=require", (config) => config.database.url, "postgres://u:p@h:5432/d?sslmode=require"],
  ["SERVER_DETAIL", "listed", (config) => config.serverDetail, "listed"],
  [
    "RETURN_TO",
    "site=https://site.example/done?from=provost, local=http://127.0.0.1:3000",
    (config) => [...config.returnTo],
    [
      ["site", "https://site.example/done?from=provost"],
      ["local", "http://127.0.0.1:3000/"],
    ],
  ],
  ["ERASURE_JOURNAL", "/srv/kept/erasures.jsonl", (config) => config.erasureJournal, "/srv/kept/erasures.jsonl"],
  ["ERASURE_JOURNAL", "/srv/kept/erasures.jsonl", (config) => config.erasureJournalCopy, null],
  ["DATA_DIR", "/srv/provost/", (config) => config.erasureJournalCopy, "/srv/provost.erasures.jsonl"],
  ["DATA_DIR", "/srv/provost/", (config) => config.erasureJournal, "/srv/provost/erasures.jsonl"],
  ["AUDIT_CHECKPOINTS", "/srv/kept/checkpoints.log", (config) => config.auditCheckpoints, "/srv/kept/checkpoints.log"],
  ["DATA_DIR", "/srv/provost/", (config) => config.auditCheckpoints, "/srv/provost/checkpoints.log"],
  ["AUDIT_CHECKPOINT_MINUTES", "60", (config) => config.auditCheckpointMinutes, 60],
  ["AUDIT_DETAILS_DAYS", "0", (config) => config.auditDetailsDays, 0],
  ["EVIDENCE_MAX_BYTES", "1048576", (config) => config.evidenceMaxBytes, 1_048_576],
  ["EVIDENCE_STORE", "database", (config) => config.evidenceStore, { kind: "database" }],
  [
    "EVIDENCE_S3_ENDPOINT",
    "http://minio:9000",
    (config) => config.evidenceS3,
    { endpoint: "http://minio:9000", region: "us-east-1", pathStyle: true },
  ],
  ["EVIDENCE_S3_REGION", "eu-central-1", (config) => config.evidenceS3, { endpoint: null, region: "eu-central-1", pathStyle: false }],
  ["EVIDENCE_S3_PATH_STYLE", "true", (config) => config.evidenceS3.pathStyle, true],
  ["STRIKE_THRESHOLDS", "none", (config) => config.strikeThresholds, []],
  [
    "STRIKE_THRESHOLDS",
    "2=warning, 9=termination",
    (config) => config.strikeThresholds,
    [
      { points: 2, action: "warning" },
      { points: 9, action: "termination" },
    ],
  ],
  ["HOST", "::", (config) => config.http.host, "::"],
  ["HOST", "mod.internal", (config) => config.http.host, "mod.internal"],
  ["PORT", "0", (config) => config.http.port, 0],
  ["PORT", "9000", (config) => config.http.publicUrl, "http://127.0.0.1:9000"],
  ["PUBLIC_URL", "https://Mod.Example.org", (config) => config.http.publicUrl, "https://mod.example.org"],
  ["PUBLIC_URL", "https://example.org/mod", (config) => config.http.publicUrl, "https://example.org/mod"],
  [
    "CORS_ORIGINS",
    "https://Panel.example.org:443, http://localhost:3000,https://panel.example.org",
    (config) => config.http.corsOrigins,
    ["https://panel.example.org", "http://localhost:3000"],
  ],
  [
    "RATE_LIMITS",
    "read=1/2, export=7/10",
    (config) => [config.http.limits.read, config.http.limits.export, config.http.limits.write],
    [
      { count: 1, seconds: 2 },
      { count: 7, seconds: 10 },
      { count: 120, seconds: 60 },
    ],
  ],
  ["REFERENCE_PREFIX", "ACME", (config) => config.referencePrefix, "ACME"],
  ["UNSUPPORTED_STATUS", "404", (config) => config.http.unsupportedStatus, 404],
  ["REQUIRE_IF_MATCH", "true", (config) => config.http.requireIfMatch, true],
  ["CONFIRM_IN_DISCORD", "keys, permissions,keys", (config) => config.confirmInDiscord, ["keys", "permissions"]],
  ["SECOND_PERSON_FOR_DANGER", "true", (config) => config.secondPersonForDanger, true],
  ["LEAVE_ACCESS", "none", (config) => config.leaveAccess, "none"],
  [
    "SWITCHED_OFF",
    "callsigns, roster.audit",
    (config) => [...config.switchedOff],
    ["callsigns.next", "callsigns.lookup", "callsigns.repair", "callsigns.registry", "roster.audit"],
  ],
  ["COMMANDS_REGISTER", "off", (config) => config.discord.registersCommands, false],
  ["ROSTER_FOLLOWS_DISCORD", "false", (config) => config.roster.followsDiscord, false],
  ["BACKUP_DIR", "/mnt/other", (config) => config.backup.folder, "/mnt/other"],
  ["BACKUP_HOUR", "off", (config) => config.backup.hour, null],
  ["BACKUP_KEEP", "30", (config) => config.backup.keep, 30],
  ["ROSTER_AUDIT_HOUR", "off", (config) => config.roster.auditHour, null],
  ["ROSTER_AUDIT_HOUR", "23", (config) => config.roster.auditHour, 23],
  ["ROSTER_INACTIVE_DAYS", "90", (config) => config.roster.inactiveDays, 90],
  ["ACTION_BREAKER", "5", (config) => config.actionBreaker, 5],
  ["LOG_LEVEL", " debug ", (config) => config.logLevel, "debug"],
])("%s accepts %j", (name, value, read, expected) => {
  expect(read(configOf({ ...validEnvironment(), [name]: value }))).toEqual(expected);
});

test("a Discord address of neither Discord nor this machine needs the second switch", () => {
  const env = { ...validEnvironment(), DISCORD_API_BASE: "https://proxy.example/api" };
  expect(linesOf(env)).toEqual([expect.stringContaining("ALLOW_CUSTOM_DISCORD_API=true")]);
  expect(linesOf({ ...env, ALLOW_CUSTOM_DISCORD_API: "false" })).toHaveLength(1);
  expect(configOf({ ...env, ALLOW_CUSTOM_DISCORD_API: "true" }).discord.apiBase).toBe("https://proxy.example/api");
});

test("a token of the sandbox is sent to this machine only", () => {
  const env = { ...validEnvironment(), DISCORD_TOKEN: "sandbox.bot.token" };
  expect(linesOf(env)).toEqual([expect.stringMatching(/^DISCORD_TOKEN: /)]);
  expect(linesOf({ ...env, DISCORD_API_BASE: "https://proxy.example/api", ALLOW_CUSTOM_DISCORD_API: "true" })).toEqual([
    expect.stringMatching(/^DISCORD_TOKEN: /),
  ]);
  expect(linesOf({ ...env, DISCORD_API_BASE: "http://localhost:4000/api" })).toEqual([]);
});

test("no line repeats what a variable holds", () => {
  for (const name of variableNames) {
    const lines = linesOf({ ...validEnvironment(), [name]: "/hunter2?hunter2" });
    if (![...freeTexts, "METRICS_TOKEN"].includes(name)) expect(lines).toHaveLength(1);
    expect(lines.join()).not.toContain("hunter2");
  }
});

test("a bucket is used with both of its keys", () => {
  const env = { ...validEnvironment(), EVIDENCE_STORE: "s3://moderation/evidence" };
  const named = (lines: string[]) => lines.map((line) => line.split(" is missing")[0]);
  expect(named(linesOf(env))).toEqual(["EVIDENCE_S3_ACCESS_KEY:", "EVIDENCE_S3_SECRET_KEY:"]);
  expect(named(linesOf({ ...env, EVIDENCE_S3_ACCESS_KEY: "moderation" }))).toEqual(["EVIDENCE_S3_SECRET_KEY:"]);
  const keys = { EVIDENCE_S3_ACCESS_KEY: "moderation", EVIDENCE_S3_SECRET_KEY: "hunter2-hunter2" };
  const reading = readConfig({ ...env, ...keys });
  expect(reading).toMatchObject({ ok: true, config: { evidenceStore: { kind: "s3", bucket: "moderation", prefix: "evidence" } } });
  expect(JSON.stringify(reading)).not.toContain("hunter2");
});

test("every wrong variable is named at once, in the order of the example file", () => {
  const lines = linesOf({
    ...validEnvironment(),
    PORT: "x",
    SECRET_KEY: "changeme",
    LOG_LEVEL: "loud",
    DISCORD_API_BASE: "https://evil.example/api",
  });
  expect(lines.map((line) => line.split(":")[0])).toEqual(["DISCORD_API_BASE", "PORT", "SECRET_KEY", "LOG_LEVEL"]);
});

const optionalSecrets = {
  DATABASE_URL: "file:/srv/provost.db",
  METRICS_TOKEN: "sixteen-letters!",
  EVIDENCE_S3_ACCESS_KEY: "moderation",
  EVIDENCE_S3_SECRET_KEY: "wJalrXUtnFEMI/K7MDENG",
};

test.each(fileVariables)("%s can come from a file", (name) => {
  const env: Record<string, string> = { ...validEnvironment(), ...optionalSecrets };
  const value = env[name] ?? "";
  delete env[name];
  const given = { ...env, [`${name}_FILE`]: "/run/secrets/it" };
  expect(readConfig(given, { files: (path) => (path === "/run/secrets/it" ? `${value}\n` : "") })).toEqual(
    readConfig({ ...env, [name]: value }),
  );
});

test.each(fileVariables)("%s given twice, or as a file that is empty or cannot be read, is refused with the path of the file", (name) => {
  const env: Record<string, string> = { ...validEnvironment(), ...optionalSecrets, [`${name}_FILE`]: "/run/secrets/it" };
  expect(linesOf(env, () => "value")).toEqual([`${name}: is given twice; remove ${name} or ${name}_FILE`]);
  delete env[name];
  const unreadable = (): string => {
    throw Object.assign(new Error("no"), { code: "EACCES" });
  };
  for (const files of [() => " \n", unreadable]) {
    const lines = linesOf(env, files);
    expect(lines).toEqual([expect.stringMatching(new RegExp(`^${name}_FILE: names a(n empty)? file.*, /run/secrets/it[ ;]`))]);
  }
  expect(linesOf(env, unreadable)[0]).toMatch(/\(permission denied\); check the path$/);
});

test("a secret that was set as the name of its file is not repeated", () => {
  const { SECRET_KEY, DISCORD_TOKEN, ...env } = validEnvironment();
  const given = { ...env, SECRET_KEY_FILE: `/${SECRET_KEY.slice(1)}`, DISCORD_TOKEN_FILE: DISCORD_TOKEN };
  const lines = linesOf(given);
  expect(lines.map((line) => line.split(":")[0])).toEqual(["DISCORD_TOKEN_FILE", "SECRET_KEY_FILE"]);
  for (const secret of [SECRET_KEY.slice(1), DISCORD_TOKEN]) expect(lines.join()).not.toContain(secret);
});

test("a refused value is described by its length and its kinds of characters", () => {
  const lines = linesOf({ ...validEnvironment(), PORT: "80 a", SECRET_KEY: "abc-1" });
  expect(lines).toEqual([
    "PORT: must be a whole number from 0 to 65535 (it has 4 characters: letters, digits, spaces)",
    "SECRET_KEY: must be 32 random bytes in base64, 44 characters; put back the one that this installation had; for a new one run: npx provost secrets --write .env (it has 5 characters: letters, digits, other signs)",
  ]);
});

test("neither settings nor secrets show a secret, however they are printed", () => {
  const env = validEnvironment();
  const reading = readConfig({ ...env, DATABASE_URL: "postgresql://provost:hunter2@db.internal/provost?password=hunter2" });
  if (!reading.ok) throw new Error(reading.lines.join());
  const { secrets } = reading;
  expect(secrets.discordToken).toBe(env.DISCORD_TOKEN);
  expect([...secrets.encryptionKeys.keys()]).toEqual(["k2", "k1"]);
  const parts = [
    reading,
    secrets,
    secrets.secretKey,
    secrets.encryptionKeys,
    [...secrets.encryptionKeys.values()],
    { nested: { secrets } },
  ];
  const printed = parts
    .flatMap((part) => [inspect(part, { depth: 9, showHidden: true }), JSON.stringify(part), String(part as unknown)])
    .join("\n");
  expect(printed).toContain("[secret]");
  const bytes = [secrets.secretKey, ...secrets.encryptionKeys.values()].flatMap((key) => [
    key.toString("hex"),
    key.toString("hex").replace(/..(?!$)/g, "$& "),
    key.subarray(0, 4).join(","),
  ]);
  for (const text of [...secretTexts(env), ...bytes, "hunter2"]) expect(printed).not.toContain(text);
  expect(printed).toContain("db.internal");
  expect(reading.config.database.url).toContain("hunter2");
});
