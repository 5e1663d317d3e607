import { claimsFor, createPair, jws } from "./signer.ts";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { inject, onTestFinished } from "vitest";
import { createApp, type App } from "../../src/app.ts";
import type { Cluster } from "../../src/cluster/cluster.ts";
import type { Pauses } from "../../src/core.ts";
import type { Verbs } from "../../src/commands/verbs.ts";
import { readConfig } from "../../src/config/config.ts";
import { systemCall } from "../../src/kernel/call.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createSandbox, type GuildHandle, type Role, type Sandbox, type User } from "../../sandbox/index.ts";
import { answerOf, createClient, type Answer } from "./client.ts";
import { type ClosedDatabase, createEmptyCopy } from "./database.ts";
import { judgeCalls, judgeWords, requireWords } from "./unworded.ts";

export type Level = "owner" | "admin" | "senior" | "moderator" | "viewer";

/** The staff ladder every world starts with: a staff role per level, each mapped to a Discord role of the same name. */
export const ladder: Readonly<Record<Level, number>> = { owner: 100, admin: 80, senior: 60, moderator: 40, viewer: 10 };

export type { Answer };

export interface AskOptions {
  /** The key's text; the world's own key (every scope, may name acting users) unless told; null sends none. */
  key?: string | null;
  actor?: User | string;
  headers?: Record<string, string>;
  /** The actor's word comes as an assertion, signed with a key that the operator made, and not as that of the world's key. */
  signed?: true;
}

export interface WorldOptions {
  /** Where its folder is made; that of the tests without it, which only they have. */
  directory?: string;
  /** Further environment variables. */
  env?: Record<string, string>;
  /** Whether the staff ladder is set up; true unless told. */
  ladder?: boolean;
  /** Its database; a fresh one of this test run unless told. */
  database?: ClosedDatabase;
  /** Names of further guilds of the community, with the bot in them. */
  furtherGuilds?: readonly string[];
  /** Log lines of the service, for tests that look for leaks. */
  log?: (line: string) => void;
  /** Whether jobs run by themselves, at their dates and every minute; only when a test runs them unless told. */
  isScheduled?: boolean;
  /** The time of the service; the machine's own unless told. */
  clock?: Clock;
  /** The time of Discord, in milliseconds since 1970; the machine's own unless told. */
  discordNow?: () => number;
  /** The other processes that answer for its database; none unless told. */
  cluster?: Cluster;
  /** Waits other than the usual ones. */
  pauses?: Pauses;
  /** Sees what slash commands do, or stands in for it. */
  aroundVerbs?: (verbs: Verbs) => Verbs;
  /** Takes the way to end the world; it ends with the test unless told. */
  onEnd?: (end: () => Promise<void>) => void;
  /** Sees every answer before the test does; what it throws fails the request. */
  onAnswer?: (asked: { method: string; path: string }, answer: Answer) => void;
}

/** The whole service on a fresh database, against its own sandbox of Discord. */
export interface World {
  sandbox: Sandbox;
  app: App;
  url: string;
  guild: GuildHandle;
  furtherGuilds: readonly GuildHandle[];
  roles: Record<Level, Role>;
  /** The world's own key. */
  key: string;
  /** The data folder. */
  dataDir: string;
  /** The address of the database. */
  databaseUrl: string;
  makeKey(scopes: string[], delegation?: "none" | "trusted"): Promise<string>;
  /** A new person with the Discord role of a level, known to the service. */
  staff(level: Level, name?: string): Promise<User>;
  /** A new member without staff role. */
  member(name?: string): User;
  /** Ask when the service has heard of everything that happened in Discord before. */
  request(method: string, path: string, body?: unknown, options?: AskOptions): Promise<Answer>;
  get(path: string, options?: AskOptions): Promise<Answer>;
  post(path: string, body?: unknown, options?: AskOptions): Promise<Answer>;
  put(path: string, body?: unknown, options?: AskOptions): Promise<Answer>;
  patch(path: string, body?: unknown, options?: AskOptions): Promise<Answer>;
  delete(path: string, body?: unknown, options?: AskOptions): Promise<Answer>;
  /** Run a slash command as a person; answers the text and embeds of the reply. */
  slash(user: User, words: string, options?: Record<string, string | number | boolean | User>): Promise<string>;
  /** Stop the service and start it again on the same database. */
  restart(options?: { acceptsOtherDatabase?: boolean }): Promise<void>;
}

/** @returns a world that ends with the test, unless `onEnd` says otherwise */
export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const { onEnd = onTestFinished } = options;
  // Discord stands on the same thread here: what stalls one stalls the other. The three seconds are measured in test/discord and test/sandbox.
  const sandbox = await createSandbox({ ackDeadlineMs: 30_000, ...(options.discordNow && { now: options.discordNow }) });
  const guild = sandbox.createGuild({ name: "Harbour" });
  const furtherGuilds = (options.furtherGuilds ?? []).map((name) => sandbox.createGuild({ name }));
  const database = options.database ?? (await createEmptyCopy());
  const folder = await mkdtemp(join(options.directory ?? inject("directory"), "world-"));
  const roles = Object.fromEntries(Object.keys(ladder).map((level) => [level, guild.createRole(level)])) as Record<Level, Role>;
  const reading = readConfig({
    ...sandbox.env(),
    GUILD_IDS: [guild, ...furtherGuilds].map(({ id }) => id).join(),
    OWNER_IDS: "",
    DATABASE_URL: database.url,
    DATA_DIR: join(folder, "data"),
    PORT: "0",
    LOG_LEVEL: options.log === undefined ? "silent" : "trace",
    SQLITE_SYNCHRONOUS: "normal",
    // Nothing comes onto the roster, and nothing is audited, by itself while a test counts what is written.
    ROSTER_FOLLOWS_DISCORD: "false",
    ROSTER_AUDIT_HOUR: "off",
    RATE_LIMITS: "read=100000/1,write=100000/1,authorize=100000/1,export=100000/1,failed_auth=100000/1",
    SECRET_KEY: randomBytes(32).toString("base64"),
    ENCRYPTION_KEYS: `test:${randomBytes(32).toString("base64")}`,
    ...options.env,
  });
  if (!reading.ok) throw new Error(reading.lines.join("\n"));
  const start = async (given: Parameters<World["restart"]>[0] = {}): Promise<App> => {
    const app = await createApp({
      ...reading,
      ...given,
      ...(options.clock !== undefined && { clock: options.clock }),
      ...(options.pauses !== undefined && { pauses: options.pauses }),
      ...(options.cluster !== undefined && { cluster: options.cluster }),
      ...(options.aroundVerbs !== undefined && { aroundVerbs: options.aroundVerbs }),
      validateAnswers: true,
      // A minute that begins in the middle of a test ends nothing: tests run the jobs when they mean to.
      isScheduled: options.isScheduled ?? false,
      logTo: {
        write(line) {
          judgeWords("the log", line);
          options.log?.(line);
        },
      },
    });
    await app.start();
    sandbox.allowRedirect(`${app.address()}/authorize/callback`);
    await sandbox.waitFor(() => !app.guildState.freshness().stale, 60_000);
    return app;
  };
  let app = await start();
  // Registered after the link is ready: whoever gives a command can see it by then.
  await sandbox.waitFor(() => sandbox.inside.world.application.commands.size > 0, 60_000);
  const client = createClient();
  onEnd(async () => {
    await app.stop();
    client.close();
    await sandbox.stop();
    await database.remove();
    await rm(folder, { recursive: true, force: true });
    judgeCalls(sandbox);
    requireWords();
  });
  const { key } = await app.keys.bootstrap(systemCall("cli", uuid7()), { name: "world" });

  /** The service has received what happened in Discord and stored it; a database that refuses writes is not waited for long. */
  const heard = async (): Promise<void> => {
    await sandbox.caughtUp();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 2000);
      void app.guildState.feed.stored().then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  };

  const pair = createPair();
  let signing: Promise<{ key: string; key_id: string; audience: string }> | undefined;
  async function makeSigning() {
    const input = { name: "signing", scopes: ["*"], delegation: "signed" as const, public_key: pair.jwk };
    const made = requireDone(await app.keys.create(systemCall("cli", uuid7()), input));
    const health = (await (await fetch(`${app.address()}/health`)).json()) as { service: { instance_id: string } };
    return { key: made.key, key_id: made.key_id, audience: health.service.instance_id };
  }
  /** The key and the assertion with which a person proves themself. */
  async function proofOf(userId: string, method: string, target: string, body: string | undefined) {
    const { key: text, key_id: issuer, audience } = await (signing ??= makeSigning());
    const [path = "", query = ""] = target.split("?");
    const claims = claimsFor({ issuer, audience, userId, method, path, query, ...(body !== undefined && { body }) });
    return { text, assertion: jws(claims, pair.privateKey) };
  }

  const request: World["request"] = async (method, path, body, asked = {}) => {
    const actor = typeof asked.actor === "object" ? asked.actor.id : asked.actor;
    const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const proof = asked.signed && actor !== undefined ? await proofOf(actor, method, path, sent) : undefined;
    const presented = proof?.text ?? (asked.key === undefined ? key : asked.key);
    await heard();
    const answered = await client.send(app.address() + path, {
      method,
      headers: {
        accept: "*/*",
        ...(presented !== null && { authorization: `Bearer ${presented}` }),
        ...(actor !== undefined && { "x-acting-user": actor }),
        ...(proof !== undefined && { "x-acting-assertion": proof.assertion }),
        ...(sent !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(sent).toString() }),
        ...asked.headers,
      },
      body: sent,
    });
    const answer = answerOf(answered);
    options.onAnswer?.({ method, path }, answer);
    return answer;
  };

  let count = 0;
  const world: World = {
    sandbox,
    get app() {
      return app;
    },
    get url() {
      return app.address();
    },
    guild,
    furtherGuilds,
    roles,
    key,
    dataDir: join(folder, "data"),
    databaseUrl: database.url,
    makeKey: async (scopes, delegation = "trusted") =>
      requireDone(await app.keys.create(systemCall("cli", uuid7()), { name: "test", scopes, delegation })).key,
    async staff(level, name = `${level}${(count += 1).toString()}`) {
      const user = sandbox.createUser(name);
      guild.addMember(user, { roles: [roles[level]] });
      await sandbox.waitFor(() => app.access.of(user.id).isStaff);
      return user;
    },
    member(name = `member${(count += 1).toString()}`) {
      const user = sandbox.createUser(name);
      guild.addMember(user);
      return user;
    },
    request,
    get: (path, asked) => request("GET", path, undefined, asked),
    post: (path, body, asked) => request("POST", path, body, asked),
    put: (path, body, asked) => request("PUT", path, body, asked),
    patch: (path, body, asked) => request("PATCH", path, body, asked),
    delete: (path, body, asked) => request("DELETE", path, body, asked),
    async slash(user, words, slashOptions = {}) {
      await heard();
      const run = await sandbox.as(user).in(guild).runSlashCommand(words, slashOptions);
      const reply = await run.reply();
      return [reply.content, ...reply.embeds.map((embed) => JSON.stringify(embed))].join("\n");
    },
    async restart(given) {
      await app.stop();
      app = await start(given);
    },
  };
  if (options.ladder !== false) await setUpLadder(world);
  return world;
}

/** As the operator at the command line sets up the first roles: nothing has to be confirmed there. */
async function setUpLadder({ app, guild, roles }: World): Promise<void> {
  for (const [level, rank] of Object.entries(ladder) as [Level, number][]) {
    const discord = [{ guild_id: guild.id, role_id: roles[level].id }];
    await app.staff.roles.put(systemCall("cli", uuid7()), level, { name: level, rank, level, discord });
  }
}
