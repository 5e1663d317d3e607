import { randomBytes } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { createApp } from "../../src/app.ts";
import { readConfig } from "../../src/config/config.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createSandbox } from "../../src/sandbox/index.ts";
import type { Target } from "../target.ts";

/** The real service with real guild state, a real key and its log line: what a client polls most. */
export const staffAccess: Target = { request: { path: "", headers: {} }, start };

async function start(): Promise<number> {
  const sandbox = await createSandbox({ seed: "small", record: false });
  const { guilds, roles, users } = sandbox.seeded;
  const reading = readConfig({
    ...sandbox.env(),
    OWNER_IDS: users.olivia.id,
    DATA_DIR: await mkdtemp(join(tmpdir(), "provost-bench-")),
    PORT: "0",
    RATE_LIMITS: "read=9999999/1,write=9999999/1",
    SECRET_KEY: randomBytes(32).toString("base64"),
    ENCRYPTION_KEYS: `bench:${randomBytes(32).toString("base64")}`,
  });
  if (!reading.ok) throw new Error(reading.lines.join("\n"));
  const app = await createApp({ ...reading, logTo: pino.destination({ dest: "/dev/null", sync: false }) });
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
  await sandbox.waitFor(() => app.standing.of(users.mona.id).isStaff);
  staffAccess.request = { path: `/staff/${users.mona.id}/access`, headers };
  return Number(new URL(app.address()).port);
}
