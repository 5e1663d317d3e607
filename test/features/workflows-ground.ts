import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { auditRoutes } from "../../src/features/audit/audit.routes.ts";
import { blacklistRoutes } from "../../src/features/blacklist/blacklist.routes.ts";
import { casesRoutes } from "../../src/features/cases/cases.routes.ts";
import { catalog, knownPermissions, levelOrder, type Level } from "../../src/kernel/permissions.ts";
import { createScopes } from "../../src/features/permissions/permissions.service.ts";
import { amendRoutes, bulkRoutes } from "../../src/features/workflows/bulk/changes.routes.ts";
import { commentsRoutes } from "../../src/features/workflows/comments/comments.routes.ts";
import { historyRoutes } from "../../src/features/workflows/history/history.routes.ts";
import { workflowsRoutes } from "../../src/features/workflows/requests/workflows.routes.ts";
import { withAnswerCheck } from "../../src/operations/answer-check.ts";
import type { Authenticate } from "../../src/operations/caller.ts";
import { createHttpApp } from "../../src/http/http-app.ts";
import { createRateLimiters } from "../../src/operations/rate-limit.ts";
import { listen } from "../../src/http/listen.ts";
import type { Actor, Call } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { workflowKinds } from "../../src/kernel/vocabulary.ts";
import { openServices } from "../../src/features.ts";
import { answerOf, createClient, type Answer } from "../support/client.ts";
import { createEmptyCopy } from "../support/database.ts";

export type { Answer };

/** Who asks: a person made by `staff`, or nobody; `scopes` are those of the key, everything unless told. */
export interface Asking {
  actor?: string;
  scopes?: string;
  headers?: Record<string, string>;
}

const ranks: Readonly<Record<Level, number>> = { none: 0, viewer: 10, moderator: 40, senior: 60, admin: 80, owner: 100 };
/** The servers of the community. */
export const ownGuilds = ["700000000000000001", "700000000000000002"] as const;
let lastId = 80_351_110_224_678_912n;

/** A Discord id nobody had before. */
export function freshId(): string {
  lastId += 1n;
  return lastId.toString();
}

export interface GroundOptions {
  referencePrefix?: string;
  /** The database of another ground, as a second instance of the service has it. */
  url?: string;
}

export type Ground = Awaited<ReturnType<typeof createGround>>;

/** Every service on a fresh database, behind the real doors of records and requests; only who somebody is comes from the test. */
export async function createGround({ url: shared, referencePrefix }: GroundOptions = {}) {
  const time = { offset: 0 };
  const clock = { now: () => new Date(Date.now() + time.offset) };
  const copy = shared === undefined ? await createEmptyCopy() : { url: shared, remove: () => Promise.resolve() };
  const folder = await mkdtemp(join(tmpdir(), "provost-ground-"));
  const logger = pino({ level: "silent" });
  const reading = readConfig({
    DISCORD_TOKEN: `${Buffer.from("80351110224678912").toString("base64url")}.nobody.${"connects".repeat(5)}`,
    DISCORD_CLIENT_ID: "80351110224678912",
    DISCORD_CLIENT_SECRET: "nobody-signs-in",
    GUILD_IDS: ownGuilds.join(),
    DATABASE_URL: copy.url,
    DATA_DIR: folder,
    LOG_LEVEL: "silent",
    SQLITE_SYNCHRONOUS: "normal",
    SECRET_KEY: randomBytes(32).toString("base64"),
    ENCRYPTION_KEYS: `test:${randomBytes(32).toString("base64")}`,
    ...(referencePrefix !== undefined && { REFERENCE_PREFIX: referencePrefix }),
  });
  if (!reading.ok) throw new Error(reading.lines.join("\n"));
  const services = await openServices({ ...reading, logger, clock });
  const { database, audit, blacklist, cases, workflows } = services;
  const people = new Map<string, Actor>();
  const of = (userId: string): Actor => people.get(userId) ?? stranger(userId);
  Object.assign(services.access, { of, known: of, actorOf: of, resolve: (userId: string) => Promise.resolve(of(userId)) });

  const callOf = (asking: Asking): Call => ({
    client: { id: "client", name: "client", allows: createScopes((asking.scopes ?? "*").split(",")) },
    actor: asking.actor === undefined ? null : of(asking.actor),
    via: "rest",
    requestId: uuid7(),
    idempotency: null,
    replayed: false,
  });
  const authenticate: Authenticate = ({ presented, actingUser }) => ({
    call: callOf({ scopes: presented ?? "", ...(actingUser !== undefined && { actor: actingUser }) }),
    client: { id: "client", keyId: "client", expiresAt: new Date(Date.now() + 1e10) },
  });
  const plenty = { count: 1_000_000, seconds: 1 };
  const app = createHttpApp({
    routes: [
      ...auditRoutes(audit),
      ...blacklistRoutes(blacklist),
      ...casesRoutes(cases),
      ...workflowsRoutes(workflows),
      ...amendRoutes(workflows),
      ...commentsRoutes(workflows),
      ...historyRoutes(workflows),
      ...bulkRoutes(workflows),
    ].map(withAnswerCheck),
    pages: [],
    authenticate,
    limiters: createRateLimiters({ read: plenty, write: plenty, authorize: plenty, export: plenty, failed_auth: plenty }),
    logger,
    clock,
    known: { permissions: knownPermissions, expansions: { type: workflowKinds } },
    switchedOff: () => "not built",
    unsupportedStatus: 501,
    isShuttingDown: () => false,
    requireIfMatch: false,
    fingerprintKey: Buffer.alloc(32),
    info: { title: "test", version: "0" },
  });
  const server = await listen(app, { host: "127.0.0.1", port: 0, logger });
  const client = createClient();
  onTestFinished(async () => {
    await server.close();
    client.close();
    await services.close();
    await copy.remove();
    await rm(folder, { recursive: true, force: true });
  });

  async function request(method: string, path: string, body: unknown, asking: Asking = {}): Promise<Answer> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const answered = await client.send(`http://127.0.0.1:${server.port.toString()}${path}`, {
      method,
      headers: {
        accept: "*/*",
        authorization: `Bearer ${asking.scopes ?? "*"}`,
        ...(asking.actor !== undefined && { "x-acting-user": asking.actor }),
        ...(sent !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(sent).toString() }),
        ...asking.headers,
      },
      body: sent,
    });
    return answerOf(answered);
  }

  return {
    url: copy.url,
    services,
    database,
    audit,
    blacklist,
    workflows,
    app,
    callOf,
    /** Let time pass. */
    pass: (seconds: number) => void (time.offset += seconds * 1000),
    /** @param id of somebody another instance knows already */
    staff(level: Level, id = freshId()): string {
      people.set(id, person(id, level));
      return id;
    },
    get: (path: string, asking?: Asking) => request("GET", path, undefined, asking),
    post: (path: string, body?: unknown, asking?: Asking) => request("POST", path, body, asking),
    patch: (path: string, body?: unknown, asking?: Asking) => request("PATCH", path, body, asking),
    delete: (path: string, body?: unknown, asking?: Asking) => request("DELETE", path, body, asking),
  };
}

/** What the service knows of people besides: that they are in no server here. */
const nowhere = { held: [], members: [], status: null, overrides: [] };

function person(id: string, level: Level): Actor & typeof nowhere & { level: Level } {
  const held: ReadonlySet<string> = new Set(
    catalog.filter((entry) => entry.default_level !== "none" && levelOrder[entry.default_level] <= levelOrder[level]).map(({ key }) => key),
  );
  return {
    id,
    isStaff: level !== "none",
    isOwner: level === "owner",
    level,
    rank: ranks[level],
    isStale: () => false,
    decide: (permission) => ({ allowed: held.has(permission), reasons: [] }),
    heldUntil: (permission) => (held.has(permission) ? null : undefined),
    ...nowhere,
  };
}

function stranger(id: string): Actor {
  return person(id, "none");
}
