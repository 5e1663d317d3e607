import { type Logger, pino } from "pino";
import { onTestFinished } from "vitest";
import { createDiscord, type Discord, type DiscordOptions, type ServeOptions } from "../../src/discord/client.ts";
import { createGuildState, type GuildFeed, type GuildStateOptions } from "../../src/discord/guild/create-guild-state.ts";
import type { GuildState } from "../../src/discord/guild-state.ts";
import type { Actor } from "../../src/kernel/call.ts";
import { createSandbox, type GuildHandle, type Role, type Sandbox, type SandboxOptions } from "../../sandbox/index.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { soonBack } from "../support/pauses.ts";
import { judgeCalls, requireWords } from "../support/unworded.ts";

export interface Stand {
  sandbox: Sandbox;
  database: TestDatabase["database"];
  state: GuildState & { feed: GuildFeed };
  discord: Discord;
  log: string[];
}

export interface StandOptions {
  sandbox?: SandboxOptions | Sandbox;
  state?: Partial<GuildStateOptions>;
  discord?: Partial<DiscordOptions & ServeOptions>;
  /** Before the link starts: make guilds, track roles. */
  prepare?(sandbox: Sandbox): void;
}

/** An actor without any standing. */
export function stranger(id: string): Actor {
  return {
    id,
    isStaff: false,
    isOwner: false,
    rank: 0,
    isStale: () => false,
    decide: () => ({ allowed: false, reasons: [] }),
    heldUntil: () => undefined,
  };
}

export function createLog(): { logger: Logger; log: string[] } {
  const log: string[] = [];
  return { logger: pino({ level: "debug" }, { write: (line) => void log.push(line) }), log };
}

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await createSandbox(options);
  onTestFinished(async () => {
    await sandbox.stop();
    judgeCalls(sandbox);
    requireWords();
  });
  return sandbox;
}

export async function openTestDatabase(): Promise<TestDatabase> {
  const test = await createTestDatabase();
  onTestFinished(() => test.drop());
  return test;
}

/** A guild state with its link, against a sandbox and a fresh database; not started. Everything ends with the test. */
export async function createStand(options: StandOptions = {}): Promise<Stand> {
  const given = options.sandbox;
  const sandbox = given !== undefined && "apiBase" in given ? given : await startSandbox(given);
  options.prepare?.(sandbox);
  const { database } = await openTestDatabase();
  return { ...linkTo(sandbox, database, options), sandbox, database };
}

/** A further link, such as the one after a restart. */
export function linkTo(
  sandbox: Sandbox,
  database: Stand["database"],
  options: StandOptions = {},
): Pick<Stand, "state" | "discord" | "log"> {
  const { logger, log } = createLog();
  const env = sandbox.env();
  // Every guild of the sandbox, also one that is made later.
  const served = options.discord?.served ?? options.state?.served ?? sandbox.inside.world.guilds;
  const state = createGuildState({ database, logger, served, ...options.state });
  const discord = createDiscord({
    apiBase: env.DISCORD_API_BASE,
    token: env.DISCORD_TOKEN,
    clientId: env.DISCORD_CLIENT_ID,
    served,
    logger,
    ...soonBack,
    ...options.discord,
  });
  discord.serve({ commands: [], actorOf: stranger, guildState: state, ...options.discord });
  onTestFinished(() => discord.stop());
  return { state, discord, log };
}

export function isLive({ state }: Pick<Stand, "state">): boolean {
  return !state.freshness().stale;
}

/** Start the link and wait until the state is live. */
export async function goLive(stand: Pick<Stand, "state" | "discord" | "sandbox">, ms = 60_000): Promise<void> {
  stand.discord.start();
  await stand.sandbox.waitFor(() => isLive(stand), ms);
}

/** Track these roles of a guild. */
export function tracking(guild: Pick<GuildHandle, "id">, roles: readonly Role[], users: readonly string[] = []) {
  return { roles: new Set(roles.map((role) => `${guild.id}:${role.id}`)), users: new Set(users) };
}

/** Settles with the first truthy value. */
export async function until<T>(read: () => T | Promise<T>, ms = 60_000): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    const value = await read();
    if (value) return value;
    if (performance.now() > end) throw new Error(`not within ${ms.toString()} ms: ${read.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
