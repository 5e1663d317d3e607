import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { shippedFlags, shippedVariables } from "../processes.ts";
import { digitsOf, recordBody, recordOf, records } from "../record.ts";
import { unlimited } from "../targets/app.ts";
import { createSandbox } from "../../sandbox/index.ts";
import { createDatabase, type Peer, send, type Setting, startServer } from "./peer.ts";

const run = promisify(execFile);
const linesAtOnce = 5000;

/** This checkout, built, beside the sandbox of Discord. @returns it, and how the sandbox ends */
export async function startProvost(setting: Setting): Promise<{ peer: Peer; stop(): Promise<void> }> {
  const sandbox = await createSandbox({ seed: "small", record: false });
  try {
    return { peer: await start(setting, sandbox), stop: () => sandbox.stop() };
  } catch (error) {
    await sandbox.stop();
    throw error;
  }
}

async function start(setting: Setting, sandbox: Awaited<ReturnType<typeof createSandbox>>): Promise<Peer> {
  const cwd = setting.installed.provost;
  const database = await createDatabase(setting, "provost");
  const env = {
    ...sandbox.env(),
    ...unlimited,
    GUILD_IDS: [...sandbox.inside.world.guilds.keys()].join(),
    OWNER_IDS: sandbox.seeded?.users.olivia.id ?? "",
    DATA_DIR: join(setting.folder, "data"),
    DATABASE_URL: database,
    SECRET_KEY: randomBytes(32).toString("base64"),
    ENCRYPTION_KEYS: `bench:${randomBytes(32).toString("base64")}`,
  };
  const host = await startServer(setting, {
    name: "provost",
    file: join(cwd, "dist/main.js"),
    flags: shippedFlags(),
    cwd,
    env: (port) => ({ ...shippedVariables(), ...env, PORT: port.toString() }),
    readyPath: "/readyz",
  });
  const provost = async (...args: string[]): Promise<string> =>
    (await run(setting.installed.node, [join(cwd, "dist/cli.js"), ...args], { cwd, env: { ...process.env, ...env } })).stdout;
  const key = (await provost("keys", "create", "--name", "bench", "--scopes", "*,system.act", "--delegation", "trusted")).trim();
  const headers = { Authorization: `Bearer ${key}`, "X-Acting-User": env.OWNER_IDS };
  const address = `http://127.0.0.1:${host.port.toString()}`;
  for (let from = 0; from < records; from += linesAtOnce) {
    const rows = Array.from({ length: linesAtOnce }, (_, index) => Object.values(recordOf(digitsOf(from + index))).join(","));
    const text = [Object.keys(recordOf("")).join(","), ...rows].join("\n");
    await send("POST", `${address}/blacklist/import`, headers, text, "text/csv");
  }
  const { data } = await send<{ data: { id: string }[] }>("GET", `${address}/blacklist?limit=200`, headers);
  return {
    name: "Provost",
    host,
    requests: {
      "read one": { headers, paths: data.map(({ id }) => `/blacklist/${id}`) },
      "list of 50": { headers, paths: ["/blacklist?limit=50"] },
      create: { headers, paths: ["/blacklist"], body: recordBody, status: 201 },
    },
    database,
    counts: {
      records: "SELECT count(*) FROM blacklist_records",
      versions: "SELECT count(*) FROM blacklist_versions",
      "rows of the feed": "SELECT count(*) FROM blacklist_changes",
      "records with search words": "SELECT count(DISTINCT record_id) FROM blacklist_words",
      events: "SELECT count(*) FROM outbox_events WHERE type = 'blacklist.created'",
      "audit entries": "SELECT count(*) FROM audit_entries WHERE action = 'blacklist.create'",
    },
    async verify() {
      await provost("audit", "verify");
    },
  };
}
