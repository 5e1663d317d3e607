import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, createApp } from "../../src/app.ts";
import { readConfig } from "../../src/config/config.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createLogDestination } from "../../src/logger.ts";
import { createSandbox, type Sandbox } from "../../sandbox/index.ts";
import type { Target } from "../target.ts";

/** The real service with real guild state, a real key and its log line: what a client polls most. */
export const staffAccess: Target = { request: { paths: [], headers: {} }, start, stop: async () => stopService() };

let stopService = async (): Promise<void> => undefined;

async function start(): Promise<number> {
  const sandbox = await createSandbox({ seed: "small", record: false });
  const { guilds, roles, users } = sandbox.seeded;
  const { app, stop } = await openApp(sandbox, users.olivia.id);
  stopService = stop;
  await app.start();
  await sandbox.waitFor(() => !app.guildState.freshness().stale);
  const { key } = await app.keys.bootstrap(systemCall("cli", "bench"), { name: "bench" });
  const headers = { Authorization: `Bearer ${key}`, "X-Acting-User": users.olivia.id };
  await fetch(`${app.address()}/staffroles/moderator`, {
    method: "PUT",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify({
      name: "Moderator",
      rank: 40,
      level: "moderator",
      discord: [{ guild_id: guilds.harbour.id, role_id: roles.moderator.id }],
    }),
  });
  await sandbox.waitFor(() => app.access.of(users.mona.id).isStaff);
  staffAccess.request = { paths: [`/staff/${users.mona.id}/access`], headers };
  return Number(new URL(app.address()).port);
}

/** Nothing is limited: what a benchmark measures is the work. */
export const unlimited = { RATE_LIMITS: "read=9999999/1,write=9999999/1" };

/**
 * The whole service on a database of its own, not started yet; `stop` ends it and the sandbox and removes the database.
 * @param settings further variables, by name
 * @param isScheduled whether its jobs run every minute
 */
export async function openApp(
  sandbox: Sandbox,
  ownerId: string,
  settings: Readonly<Record<string, string>> = unlimited,
  isScheduled = true,
): Promise<{ app: App; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "provost-bench-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const reading = readConfig({
      ...sandbox.env(),
      GUILD_IDS: [...sandbox.inside.world.guilds.keys()].join(),
      OWNER_IDS: ownerId,
      DATA_DIR: folder,
      PORT: "0",
      ...settings,
      SECRET_KEY: randomBytes(32).toString("base64"),
      ENCRYPTION_KEYS: `bench:${randomBytes(32).toString("base64")}`,
    });
    if (!reading.ok) throw new Error(reading.lines.join("\n"));
    const app = await createApp({ ...reading, isScheduled, logTo: createLogDestination("/dev/null") });
    const stop = async (): Promise<void> => {
      await app.stop();
      await sandbox.stop();
      await remove();
    };
    return { app, stop };
  } catch (error) {
    await remove();
    throw error;
  }
}
