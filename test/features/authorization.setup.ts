import { randomBytes } from "node:crypto";
import pino from "pino";
import { onTestFinished } from "vitest";
import { openDatabase, type Database } from "../../src/database/database.ts";
import { createDiscordOAuth, type DiscordOAuth } from "../../src/discord/oauth.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { authorizationPages } from "../../src/features/authorization/authorization.pages.ts";
import { authorizationRoutes } from "../../src/features/authorization/authorization.routes.ts";
import { createAuthorizationService } from "../../src/features/authorization/authorization.service.ts";
import { createConsentNames } from "../../src/features/authorization/consent-names.ts";
import { createConsentEnds } from "../../src/features/authorization/grants/consent-end.ts";
import { createGrantsService } from "../../src/features/authorization/grants/grants.service.ts";
import { intelligenceRoutes } from "../../src/features/intelligence/intelligence.routes.ts";
import { createIntelligence } from "../../src/features/intelligence/feature.ts";
import type { MatchRecord } from "../../src/features/intelligence/match-record.ts";
import { recordOf } from "../../src/features/intelligence/matches/store.ts";
import { createSignIn } from "../../src/features/privacy/sign-in/sign-in.service.ts";
import type { Access } from "../../src/features/permissions/access/access-directory.ts";
import { knownPermissions } from "../../src/kernel/permissions.ts";
import { createHttpApp } from "../../src/http/http-app.ts";
import { createRateLimiters } from "../../src/operations/rate-limit.ts";
import { listen } from "../../src/http/listen.ts";
import { withAnswerCheck } from "../../src/operations/answer-check.ts";
import type { Authenticate } from "../../src/operations/caller.ts";
import { systemCall, type Actor } from "../../src/kernel/call.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createKeyring, deriveKey } from "../../src/kernel/secrets.ts";
import { createSandbox, type Sandbox, type User } from "../../sandbox/index.ts";
import { createNeighbours } from "../support/rooms.ts";
import { createTestDatabase } from "../support/database.ts";

/** A clock a test can move. */
export interface MovableClock extends Clock {
  forward(seconds: number): void;
}

export interface Answer {
  status: number;
  headers: Headers;
  // Tests read answers of many shapes.
  body: any;
}

export interface Ask {
  actor?: string;
  /** What the key allows; everything unless told. */
  scopes?: readonly string[];
  headers?: Record<string, string>;
}

const communities = [{ id: "613425648685547000", name: "Harbour & <Sons>", icon: null, ownerId: null, present: true, syncedAt: null }];
const guildState = { guilds: () => communities, members: () => [], lookUp: () => Promise.resolve({ members: [], isComplete: true }) };

function createClock(): MovableClock {
  let offset = 0;
  return { now: () => new Date(Date.now() + offset), forward: (seconds) => void (offset += seconds * 1000) };
}

/** The acting user of these tests is staff and holds what the key holds. */
const staff = (id: string): Actor => ({
  id,
  isStaff: true,
  isOwner: false,
  rank: 40,
  isStale: () => false,
  decide: () => ({ allowed: true, reasons: [] }),
  heldUntil: () => null,
});

const authenticate: Authenticate = ({ presented, actingUser, requestId }) => {
  const scopes = presented === undefined || presented === "all" ? null : new Set(presented.split(","));
  const client = { id: "client-1", name: "client", allows: (permission: string) => scopes?.has(permission) ?? true };
  const actor = actingUser === undefined ? null : staff(actingUser);
  const call = { client, actor, via: "rest" as const, requestId, idempotency: null, replayed: false };
  return { call, client: { id: client.id, keyId: "key", expiresAt: new Date("2099-01-01") } };
};

interface Settings {
  secretKey: Buffer;
  /** The first encrypts. */
  encryptionKeys: ReadonlyMap<string, Buffer>;
  serverDetail: "full" | "listed";
  /** Answers of Discord wait for this before anything is made of them. */
  gate: { opened: Promise<void> };
}

/** Calls whose answers a test can keep waiting. */
function gated(oauth: DiscordOAuth, { gate }: Settings): DiscordOAuth {
  const later = async <T>(answer: Promise<T>): Promise<T> => {
    await answer;
    await gate.opened;
    return answer;
  };
  return { ...oauth, refresh: (token) => later(oauth.refresh(token)), guilds: (token) => later(oauth.guilds(token)) };
}

function createRooms(database: Database, sandbox: Sandbox, settings: Settings, clock: Clock, publicUrl: () => string) {
  const { secretKey, serverDetail } = settings;
  const { DISCORD_API_BASE: apiBase, DISCORD_CLIENT_ID: clientId, DISCORD_CLIENT_SECRET: clientSecret } = sandbox.env();
  const oauth = gated(createDiscordOAuth({ apiBase, clientId, clientSecret, clock }), settings);
  const keyring = createKeyring(settings.encryptionKeys);
  const cursors = createCursors(deriveKey(secretKey, "cursors"));
  const audit = createAuditService({ database, cursors });
  const grants = createGrantsService({ read: database.read, clock });
  const neighbours = createNeighbours({ database, clock, serversKey: deriveKey(secretKey, "servers") });
  const access = { of: () => ({ isStaff: false, rank: 0 }) as Access };
  const isStaff = () => false;
  const ground = { database, audit, clock, keyring, ...neighbours };
  const intelligence = createIntelligence({ ...ground, guildState, access, grants, cursors, isStaff });
  const pagesKey = deriveKey(secretKey, "pages");
  const returnTo = new Map([["site", "https://site.example/done"]]);
  const authorization = createAuthorizationService({
    ...ground,
    ...intelligence,
    oauth,
    serverDetail,
    returnTo,
    publicUrl,
    pagesKey,
    consentEnds: createConsentEnds(),
    cooldownSeconds: 600,
  });
  const pages = authorizationPages({
    authorization,
    signIns: [createSignIn({ database, oauth, keyring, clock, publicUrl })],
    returnTo,
    names: createConsentNames({ read: database.read, guildState }),
    clock,
    operator: { name: null, contact: null },
    publicUrl,
    discordOrigin: oauth.origin,
  });
  return {
    audit,
    authorization,
    keyring,
    erasures: neighbours.erasures,
    ...intelligence,
    hashOf: neighbours.hashOf,
    routes: [...authorizationRoutes(authorization), ...intelligenceRoutes(intelligence)],
    pages,
  };
}

async function serve(rooms: Pick<ReturnType<typeof createRooms>, "routes" | "pages">, clock: Clock, log: string[], port: number) {
  const limit = { count: 100_000, seconds: 1 };
  const lines = { write: (line: string) => void log.push(line) };
  const http = createHttpApp({
    routes: rooms.routes.map(withAnswerCheck),
    pages: rooms.pages,
    authenticate,
    limiters: createRateLimiters({ read: limit, write: limit, authorize: limit, export: limit, failed_auth: limit }),
    logger: pino({ level: "trace" }, lines),
    accessLog: lines,
    clock,
    known: { permissions: knownPermissions, expansions: {} },
    switchedOff: () => undefined,
    unsupportedStatus: 501,
    isShuttingDown: () => false,
    requireIfMatch: false,
    fingerprintKey: Buffer.alloc(32),
    info: { title: "test", version: "1" },
  });
  return listen(http, { host: "127.0.0.1", port, logger: pino({ level: "silent" }) });
}

export type World = Awaited<ReturnType<typeof createWorld>>;

/** Both rooms behind their real doors, on a fresh database, against a sandbox of Discord. */
export async function createWorld({ serverDetail = "full" }: Partial<Pick<Settings, "serverDetail">> = {}) {
  const sandbox = await createSandbox();
  const clock = createClock();
  const settings: Settings = {
    secretKey: randomBytes(32),
    encryptionKeys: new Map([["k1", randomBytes(32)]]),
    serverDetail,
    gate: { opened: Promise.resolve() },
  };
  const test = await createTestDatabase({ clock });
  const log: string[] = [];
  let { database } = test;
  let url = "";
  const begin = async () => {
    const rooms = createRooms(database, sandbox, settings, clock, () => url);
    await rooms.matches.load();
    const server = await serve(rooms, clock, log, url === "" ? 0 : Number(new URL(url).port));
    url = `http://127.0.0.1:${server.port}`;
    sandbox.allowRedirect(`${url}/authorize/callback`);
    return { rooms, server };
  };
  let running = await begin();
  onTestFinished(async () => {
    await running.server.close();
    await sandbox.stop();
    await database.close();
    await test.drop();
  });

  async function ask(method: string, path: string, body?: unknown, { actor, scopes, headers }: Ask = {}): Promise<Answer> {
    const response = await fetch(url + path, {
      method,
      redirect: "manual",
      headers: {
        authorization: `Bearer ${scopes?.join(",") ?? "all"}`,
        ...(actor !== undefined && { "x-acting-user": actor }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  const world = {
    sandbox,
    clock,
    log,
    databaseUrl: test.url,
    get database() {
      return database;
    },
    get rooms() {
      return running.rooms;
    },
    get url() {
      return url;
    },
    get: (path: string, options?: Ask) => ask("GET", path, undefined, options),
    post: (path: string, body?: unknown, options?: Ask) => ask("POST", path, body, options),
    /** A new session's address. */
    async session(user: Pick<User, "id">, input: object = {}): Promise<string> {
      const answer = await ask("POST", "/authorize/sessions", { discord_user_id: user.id, ...input }, { actor: "100000000000000001" });
      if (answer.status !== 201) throw new Error(`${answer.status.toString()} ${JSON.stringify(answer.body)}`);
      return answer.body.url;
    },
    /** The person goes through the whole flow. */
    async grant(user: User, input: object = {}) {
      return sandbox.as(user).authorize(await world.session(user, input), { approve: true });
    },
    /** Store a record and match it in one transaction, as the blacklist does. */
    record: (change: Partial<MatchRecord> & Pick<MatchRecord, "kind" | "subjectId">) => storeRecord(world.database, running.rooms, change),
    delete: (path: string, body?: unknown, options?: Ask) => ask("DELETE", path, body, options),
    get encryptionKeys() {
      return settings.encryptionKeys;
    },
    /** From now on what Discord answers is kept waiting, until the returned function is called. */
    holdDiscord(): () => void {
      let open = (): void => undefined;
      settings.gate.opened = new Promise((resolve) => {
        open = resolve;
      });
      return open;
    },
    /** What was told to those who follow along, without who may be told. */
    events: async () =>
      (await database.read.outboxEvent.findMany({ orderBy: { seq: "asc" } }))
        .filter(({ type }) => type.startsWith("authorization."))
        .map(({ type, data }) => ({ type, ...(data as Record<string, unknown>) })),
    /** The service stops and starts again on the same database, at the same address. */
    async restart(changed: Partial<Pick<Settings, "encryptionKeys" | "serverDetail">> = {}) {
      Object.assign(settings, changed);
      await running.server.close();
      await database.close();
      database = await openDatabase({ url: test.url, synchronous: "normal", clock });
      running = await begin();
    },
    actions: async () => (await database.read.auditEntry.findMany({ orderBy: { seq: "asc" } })).map((entry) => entry.action),
  };
  return world;
}

let numbers = 0;

/** Create or change a blacklist record and apply it. */
export async function storeRecord(
  database: Database,
  { matches, hashOf }: Pick<ReturnType<typeof createRooms>, "matches" | "hashOf">,
  change: Partial<MatchRecord> & Pick<MatchRecord, "kind" | "subjectId">,
) {
  return database.write(systemCall("job", "record"), async (tx) => {
    const values = {
      severity: change.severity ?? "medium",
      status: change.status ?? "active",
      recommendedAction: change.recommendedAction ?? null,
      memberPolicy: change.memberPolicy ?? null,
      gracePeriod: change.gracePeriodSeconds ?? null,
      exemptUserIds: [...(change.exemptUserIds ?? [])],
      expiresAt: change.expiresAt ?? null,
      severityOrder: 0,
      updatedAt: tx.now,
    };
    const fixed = {
      kind: change.kind,
      subjectId: change.subjectId,
      subjectHash: change.kind === "server" ? hashOf(change.subjectId) : null,
      number: (numbers += 1),
      scope: "network",
      serverIds: [],
      category: "raid",
      reasonInternal: "the secret reason",
      evidence: [],
      tags: [],
      source: "direct",
      approvedBy: [],
      startsAt: change.startsAt ?? tx.now,
      createdAt: tx.now,
    };
    const row =
      change.id === undefined
        ? await tx.db.blacklistRecord.create({ data: { ...fixed, ...values } })
        : await tx.db.blacklistRecord.update({ where: { id: change.id }, data: { ...values, revision: { increment: 1 } } });
    return { id: row.id, changes: await matches.applyRecord(tx, recordOf(row)) };
  });
}

/** What a browser gets from one request, without following redirects. */
export interface Visit {
  status: number;
  location: string;
  /** The `name=value` of the cookie that was set, if any. */
  cookie: string;
  headers: Headers;
  body: string;
}

async function send(url: string, init: RequestInit): Promise<Visit> {
  const response = await fetch(url, { redirect: "manual", ...init });
  const { headers } = response;
  return {
    status: response.status,
    location: headers.get("location") ?? "",
    cookie: headers.get("set-cookie")?.split(";")[0] ?? "",
    headers,
    body: await response.text(),
  };
}

/** Follow a link, with the cookies of one browser. */
export const visit = (url: string, cookie = ""): Promise<Visit> => send(url, { headers: { cookie } });

/** Press a button of the consent page, as browsers do under our referrer policy. */
export const press = (
  url: string,
  button: "start" | "decline",
  headers: Record<string, string> = { "sec-fetch-site": "same-origin", origin: "null" },
): Promise<Visit> => send(`${url}/${button}`, { method: "POST", headers });

/** Say yes (or no) on Discord's page; answers the address Discord sends the browser back to. */
export async function answerAtDiscord(
  location: string,
  user: Pick<User, "id">,
  decision: "authorize" | "cancel" = "authorize",
): Promise<string> {
  const page = new URL(location);
  const body = new URLSearchParams([...page.searchParams, ["user_id", user.id], ["decision", decision]]);
  return (await send(page.origin + page.pathname, { method: "POST", body })).location;
}
