import { createLinkRecords } from "../../src/features/links/links.records.ts";
import { createWithin } from "../../src/features/links/links.within.ts";
import type { Standing } from "../../src/features/permissions/standing.ts";
import { createJournals, createNeighbours } from "../support/rooms.ts";
import { randomBytes } from "node:crypto";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { createGuildState } from "../../src/discord/create-guild-state.ts";
import { auditRoutes } from "../../src/features/audit/audit.routes.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createGrantsService } from "../../src/features/authorization/grants.service.ts";
import { blacklistRoutes } from "../../src/features/blacklist/blacklist.routes.ts";
import { createBlacklistService } from "../../src/features/blacklist/blacklist.service.ts";
import { callsignsRoutes } from "../../src/features/callsigns/callsigns.routes.ts";
import { createIntelligence } from "../../src/features/intelligence/intelligence.service.ts";
import type { Level } from "../../src/features/permissions/catalog.ts";
import { catalog, knownPermissions, levelOrder } from "../../src/features/permissions/catalog.ts";
import { createScopes } from "../../src/features/permissions/scopes.ts";
import { rosterRoutes } from "../../src/features/roster/roster.routes.ts";
import { workflowsRoutes } from "../../src/features/workflows/workflows.routes.ts";
import { createWorkflowsService } from "../../src/features/workflows/workflows.service.ts";
import type { Authenticate } from "../../src/http/caller.ts";
import { createHttpApp } from "../../src/http/app.ts";
import type { Actor, Call } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createKeyring } from "../../src/kernel/secrets.ts";
import { workflowKinds } from "../../src/kernel/workflow-kinds.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { openDatabase } from "../../src/database/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { createTestDatabase } from "../support/database.ts";

export interface Answer {
  status: number;
  headers: Headers;
  // Tests read answers of many shapes.
  body: any;
}

/** Who asks: a person made by `staff`, or nobody; `scopes` are those of the key, everything unless told. */
export interface Asking {
  actor?: string;
  scopes?: string;
  headers?: Record<string, string>;
}

const ranks: Readonly<Record<Level, number>> = { none: 0, viewer: 10, moderator: 40, senior: 60, admin: 80, owner: 100 };
let lastId = 80_351_110_224_678_912n;

/** A Discord id nobody had before. */
export function freshId(): string {
  lastId += 1n;
  return lastId.toString();
}

export interface GroundOptions {
  filing?: { perHour: number; openPerSubject: number };
  referencePrefix?: string;
  /** The database of another ground, as a second instance of the service has it. */
  url?: string;
}

async function openShared(url: string, clock: Clock): Promise<TestDatabase> {
  const database = await openDatabase({ url, clock, synchronous: "normal" });
  return { url, database, drop: () => database.close() };
}

export type Ground = Awaited<ReturnType<typeof createGround>>;

/** The rooms of records and requests on a fresh database behind their real doors; only who somebody is comes from the test. */
export async function createGround({ url: shared, ...options }: GroundOptions = {}) {
  const time = { offset: 0 };
  const clock = { now: () => new Date(Date.now() + time.offset) };
  const { url, database, drop } = shared === undefined ? await createTestDatabase({ clock }) : await openShared(shared, clock);
  const logger = pino({ level: "silent" });
  const people = new Map<string, Actor>();
  const standing = { of: (userId: string) => people.get(userId) ?? stranger(userId), noteRecord: () => undefined };
  const cursors = createCursors(randomBytes(32));
  const guildState = createGuildState({ database, logger, guildIds: [] });
  const serversKey = randomBytes(32);
  const keyring = createKeyring(new Map([["test", randomBytes(32)]]));
  const audit = createAuditService({ database, cursors });
  const grants = createGrantsService({ read: database.read, clock });
  const neighbours = createNeighbours({ database, clock, serversKey });
  const { matches } = createIntelligence({
    ...neighbours,
    database,
    audit,
    standing: { of: (userId) => standing.of(userId) as unknown as Standing },
    guildState,
    grants,
    keyring,
    cursors,
    clock,
    isStaff: (id) => standing.of(id).isStaff,
  });
  const { confirmations } = createJournals({ database, audit, standing: { ...standing, actorOf: standing.of } as never, cursors, clock });
  const blacklist = createBlacklistService({
    ...neighbours,
    database,
    audit,
    confirmations,
    matches,
    standing,
    cursors,
    clock,
    serversKey,
  });
  const workflows = createWorkflowsService({
    database,
    audit,
    blacklist,
    agreements: { createAgreementWithin: () => Promise.resolve(null) },
    links: createWithin(createLinkRecords({ ...neighbours, audit, matches })),
    guildState,
    standing,
    reach: neighbours.reach,
    matches,
    cursors,
    clock,
    ...options,
  });

  const callOf = (asking: Asking): Call => ({
    client: { id: "client", name: "client", allows: createScopes((asking.scopes ?? "*").split(",")) },
    actor: asking.actor === undefined ? null : standing.of(asking.actor),
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
    routes: [...auditRoutes(audit), ...blacklistRoutes(blacklist), ...workflowsRoutes(workflows), ...callsignsRoutes(), ...rosterRoutes()],
    pages: [],
    authenticate,
    limits: { read: plenty, write: plenty, authorize: plenty, export: plenty, failed_auth: plenty },
    logger,
    clock,
    known: { permissions: knownPermissions, expansions: { type: workflowKinds } },
    switchedOff: () => "not built",
    unsupportedStatus: 501,
    isShuttingDown: () => false,
    requireIfMatch: false,
    info: { title: "test", version: "0" },
    validateAnswers: true,
  });
  const server = await app.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(async () => {
    await server.close();
    await drop();
  });

  async function request(method: string, path: string, body: unknown, asking: Asking = {}): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${server.port.toString()}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${asking.scopes ?? "*"}`,
        ...(asking.actor !== undefined && { "x-acting-user": asking.actor }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...asking.headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  }

  return {
    url,
    database,
    audit,
    blacklist,
    workflows,
    app,
    callOf,
    /** Let time pass. */
    pass: (seconds: number) => void (time.offset += seconds * 1000),
    staff(level: Level): string {
      const id = freshId();
      people.set(id, person(id, level));
      return id;
    },
    get: (path: string, asking?: Asking) => request("GET", path, undefined, asking),
    post: (path: string, body?: unknown, asking?: Asking) => request("POST", path, body, asking),
    patch: (path: string, body?: unknown, asking?: Asking) => request("PATCH", path, body, asking),
    delete: (path: string, body?: unknown, asking?: Asking) => request("DELETE", path, body, asking),
  };
}

function person(id: string, level: Level): Actor {
  const held = new Set(
    catalog.filter((entry) => entry.default_level !== "none" && levelOrder[entry.default_level] <= levelOrder[level]).map(({ key }) => key),
  );
  return {
    id,
    isStaff: level !== "none",
    isOwner: level === "owner",
    rank: ranks[level],
    isStale: () => false,
    decide: (permission) => ({ allowed: held.has(permission), reasons: [] }),
    heldUntil: (permission) => (held.has(permission) ? null : undefined),
  };
}

function stranger(id: string): Actor {
  return person(id, "none");
}
