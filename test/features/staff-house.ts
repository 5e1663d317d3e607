import { commandTable } from "../../src/features.ts";
import { withAnswerCheck } from "../../src/operations/answer-check.ts";
import { randomBytes } from "node:crypto";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { nobodyNamed } from "../../src/config/config.ts";
import { createCommandRunner } from "../../src/commands/runner.ts";
import { createPendingInteractions } from "../../src/commands/pending-interactions.ts";
import { createVerbs } from "../../src/commands/verbs.ts";
import { createDiscord } from "../../src/discord/client.ts";
import { createGuildState } from "../../src/discord/guild/create-guild-state.ts";
import { createConfirmControls } from "../../src/features/confirmations/confirmations.commands.ts";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createAuthenticate } from "../../src/features/keys/authenticate.ts";
import { createKeysService } from "../../src/features/keys/keys.service.ts";
import { createKeyStore } from "../../src/features/keys/store.ts";
import { knownPermissions } from "../../src/kernel/permissions.ts";
import { permissionsRoutes } from "../../src/features/permissions/permissions.routes.ts";
import { createPermissionsService } from "../../src/features/permissions/permissions.service.ts";
import { createAccess } from "../../src/features/permissions/access/access-directory.ts";
import { staffRoutes } from "../../src/features/staff/staff.routes.ts";
import { createStaffService } from "../../src/features/staff/staff.service.ts";
import { createHttpApp } from "../../src/http/http-app.ts";
import { createRateLimiters } from "../../src/operations/rate-limit.ts";
import { listen } from "../../src/http/listen.ts";
import { systemCall } from "../../src/kernel/call.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { workflowKinds } from "../../src/kernel/vocabulary.ts";
import { createSandbox, type Role, type User } from "../../sandbox/index.ts";
import { createJournals, silent } from "../support/rooms.ts";
import { createTestDatabase } from "../support/database.ts";

export const ladder = { owner: 100, admin: 80, senior: 60, moderator: 40, viewer: 10 } as const;
export type Rung = keyof typeof ladder;

interface Ask {
  key?: string | null;
  actor?: User | string;
  headers?: Record<string, string>;
}

interface HouseOptions {
  ownerIds?: readonly string[];
  clock?: Clock;
  staleLimitSeconds?: number;
  /** Whether leave takes access away. */
  leaveBars?: boolean;
  /** What is in the database before the service reads it. */
  prepare?: (database: Awaited<ReturnType<typeof createTestDatabase>>["database"]) => Promise<void>;
}

const secret = randomBytes(32);
const clock: Clock = { now: () => new Date() };
const logger = pino({ level: "silent" });
const manyRequests = { count: 1_000_000, seconds: 1 };
const limiters = createRateLimiters({
  read: manyRequests,
  write: manyRequests,
  authorize: manyRequests,
  export: manyRequests,
  failed_auth: manyRequests,
});

export type House = Awaited<ReturnType<typeof createHouse>>;

/** The rooms about staff, permissions and keys with their real doors, on a fresh database, linked to a sandbox of Discord. */
export async function createHouse(options: HouseOptions = {}) {
  const sandbox = await createSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const rungs = Object.keys(ladder) as Rung[];
  const roles = Object.fromEntries(rungs.map((rung) => [rung, guild.createRole(rung)])) as Record<Rung, Role>;
  const test = await createTestDatabase(options.clock === undefined ? {} : { clock: options.clock });
  const { database } = test;
  await options.prepare?.(database);

  const cursors = createCursors(secret);
  const staleLimit = options.staleLimitSeconds === undefined ? {} : { staleLimitSeconds: options.staleLimitSeconds };
  const servedGuilds = new Set([guild.id]);
  const guildState = createGuildState({ database, logger, served: servedGuilds, ...staleLimit });
  const { ownerIds = [], leaveBars = false, clock: time = clock } = options;
  const access = createAccess({ database, guildState, ownerIds, leaveBars, clock: time, pollMs: 50 });
  const audit = createAuditService({ database, cursors });
  const ground = { database, audit, access, servedGuilds, guildState, cursors, clock: options.clock ?? clock };
  const journals = createJournals(ground);
  const permissions = createPermissionsService({ ...ground, ...journals, logger: silent });
  const keys = createKeysService({ ...ground, ...journals, permissions, logger: silent, pepper: secret });
  const store = createKeyStore({ database, keys, permissions, access, pepper: secret, pollMs: 50 });
  const staff = createStaffService({
    ...ground,
    ...journals,
    logger: silent,
    permissions,
    keys,
    roster: { leaveInTx: () => Promise.resolve() },
  });
  await guildState.load();
  await access.load();

  const routes = [...staffRoutes(staff), ...permissionsRoutes(permissions)].map(withAnswerCheck);
  const refuse = () => Promise.reject(new Error("this house takes no files"));
  const verbs = createVerbs({
    clock,
    limiters,
    routes,
    knownPermissions,
    switchedOff: () => undefined,
    withFile: refuse,
    textOf: refuse,
    requests: {
      kindOf: () => Promise.resolve(undefined),
      cardOf: () => Promise.resolve(undefined),
      changed: () => Promise.resolve(),
      servers: () => [],
    },
  });
  const env = sandbox.env();
  const discord = createDiscord({
    apiBase: env.DISCORD_API_BASE,
    token: env.DISCORD_TOKEN,
    clientId: env.DISCORD_CLIENT_ID,
    served: servedGuilds,
    logger,
  });
  const { commands, controls } = createCommandRunner({
    table: commandTable(),
    verbs,
    kept: createPendingInteractions(),
    clock,
    publicUrl: () => "http://127.0.0.1",
    operator: nobodyNamed,
    commandIds: () => Promise.resolve(new Map()),
  });
  discord.serve({
    commands,
    controls: [...controls, ...createConfirmControls(verbs)],
    actorOf: access.actorOf,
    guildState,
  });
  const http = createHttpApp({
    routes,
    pages: [],
    authenticate: createAuthenticate({ store, access, clock: options.clock ?? clock }),
    limiters,
    logger,
    clock,
    known: { permissions: knownPermissions, expansions: { type: workflowKinds } },
    switchedOff: () => undefined,
    unsupportedStatus: 501,
    isShuttingDown: () => false,
    requireIfMatch: false,
    fingerprintKey: Buffer.alloc(32),
    info: { title: "Provost", version: "1.0.0", description: "test" },
  });
  const server = await listen(http, { host: "127.0.0.1", port: 0, logger });
  discord.start();
  onTestFinished(async () => {
    await server.close();
    await discord.stop();
    access.close();
    await store.close();
    await sandbox.stop();
    await test.drop();
  });
  await sandbox.waitFor(() => !guildState.freshness().stale && guildState.guilds().length === 1);

  const cli = () => systemCall("cli", uuid7());
  for (const rung of rungs) {
    const discordRoles = [{ guild_id: guild.id, role_id: roles[rung].id }];
    await staff.roles.put(cli(), rung, { name: rung, rank: ladder[rung], level: rung, discord: discordRoles });
  }
  const makeKey = async (scopes: string[], delegation: "none" | "trusted" = "trusted"): Promise<string> =>
    requireDone(await keys.create(cli(), { name: "test", scopes, delegation })).key;
  const everything = await makeKey(["*"]);

  async function ask(method: string, path: string, body?: unknown, { key = everything, actor, headers }: Ask = {}) {
    const response = await fetch(`http://127.0.0.1:${server.port.toString()}${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(actor !== undefined && { "x-acting-user": typeof actor === "string" ? actor : actor.id }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // Tests read answers of many shapes.
    return { status: response.status, headers: response.headers, text, body: text === "" ? undefined : JSON.parse(text) };
  }

  let count = 0;
  return {
    sandbox,
    guild,
    roles,
    test,
    database,
    guildState,
    access,
    audit,
    events: journals.events,
    permissions,
    keys,
    store,
    staff,
    cli,
    makeKey,
    ask,
    get: (path: string, asked?: Ask) => ask("GET", path, undefined, asked),
    put: (path: string, body: unknown, asked?: Ask) => ask("PUT", path, body, asked),
    /** A new member with the Discord role of a rung, known to the service; without one a member of no rank. */
    async person(rung?: Rung, name = `person${(count += 1).toString()}`): Promise<User> {
      const user = sandbox.createUser(name);
      guild.addMember(user, { roles: rung === undefined ? [] : [roles[rung]] });
      if (rung !== undefined) await sandbox.waitFor(() => access.of(user.id).isStaff);
      return user;
    },
    /** Every member list asked for so far has been read, so that nothing but the test changes anyone's standing. */
    settled: () =>
      guildState.track({
        roles: new Set(access.roles().flatMap((role) => role.discord.map((one) => `${one.guildId}:${one.roleId}`))),
        users: new Set(),
      }),
    auditCount: () => database.read.auditEntry.count(),
  };
}
