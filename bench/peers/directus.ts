import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { digitsOf, recordBody, recordOf, records } from "../record.ts";
import { type Default, defaults, times } from "./fields.ts";
import { createDatabase, type Peer, send, type Setting, startServer } from "./peer.ts";

const run = promisify(execFile);
const atOnce = 500;

/** Directus: the administrator's static token; it keeps its activity and every revision. */
export async function startDirectus(setting: Setting): Promise<Peer> {
  const database = await createDatabase(setting, "directus");
  const token = randomBytes(24).toString("hex");
  const cwd = setting.installed.directus;
  const file = join(cwd, "node_modules/directus/cli.js");
  const env = {
    DB_CLIENT: "pg",
    DB_CONNECTION_STRING: database,
    SECRET: randomBytes(32).toString("hex"),
    ADMIN_EMAIL: "bench@example.org",
    ADMIN_PASSWORD: randomBytes(24).toString("hex"),
    ADMIN_TOKEN: token,
    HOST: "127.0.0.1",
    LOG_STYLE: "raw",
    CACHE_ENABLED: "false",
    RATE_LIMITER_ENABLED: "false",
    TELEMETRY: "false",
    STORAGE_LOCAL_ROOT: join(setting.folder, "directus"),
  };
  await run(setting.installed.node, [file, "bootstrap"], { cwd, env: { ...process.env, ...env, NODE_ENV: "production" } });
  const host = await startServer(setting, {
    name: "directus",
    file,
    args: ["start"],
    cwd,
    env: (port) => ({ ...env, PORT: port.toString(), PUBLIC_URL: `http://127.0.0.1:${port.toString()}` }),
    readyPath: "/server/ping",
  });
  const headers = { Authorization: `Bearer ${token}` };
  const address = `http://127.0.0.1:${host.port.toString()}`;
  await send("POST", `${address}/collections`, headers, { collection: "blacklist", schema: {}, meta: { accountability: "all" }, fields });
  for (let from = 0; from < records; from += atOnce) {
    const rows = Array.from({ length: atOnce }, (_, at) => recordOf(digitsOf(from + at)));
    await send("POST", `${address}/items/blacklist?fields=id`, headers, rows);
  }
  const newest = "/items/blacklist?sort=-created_at";
  const { data } = await send<{ data: { id: string }[] }>("GET", `${address}${newest}&limit=200`, headers);
  return {
    name: "Directus",
    host,
    requests: {
      "read one": { headers, paths: data.map(({ id }) => `/items/blacklist/${id}`) },
      "list of 50": { headers, paths: [`${newest}&limit=50`] },
      create: { headers, paths: ["/items/blacklist"], body: recordBody },
    },
    database,
    counts: {
      records: "SELECT count(*) FROM blacklist",
      activities: "SELECT count(*) FROM directus_activity WHERE collection = 'blacklist' AND action = 'create'",
      revisions: "SELECT count(*) FROM directus_revisions WHERE collection = 'blacklist'",
    },
  };
}

const now = { schema: { default_value: "CURRENT_TIMESTAMP" } };
const fields = [
  { field: "id", type: "uuid", meta: { special: ["uuid"] }, schema: { is_primary_key: true } },
  ...Object.keys(recordOf("")).map((field) => ({
    field,
    type: field === "reason_public" ? "text" : "string",
    schema: { is_nullable: false },
  })),
  ...Object.entries(defaults).map(([field, value]) => ({ field, ...typeOf(value) })),
  ...times.map((field) => ({ field, type: "timestamp", ...now })),
  { field: "created_at", type: "timestamp", meta: { special: ["date-created"] }, schema: { is_indexed: true } },
  { field: "updated_at", type: "timestamp", meta: { special: ["date-created", "date-updated"] }, schema: {} },
];

function typeOf(value: Default): object {
  if (value === null || typeof value === "string") return { type: "string", schema: { default_value: value } };
  if (typeof value === "number") return { type: "integer", schema: { default_value: value } };
  return { type: "json", meta: { special: ["cast-json"] }, schema: { default_value: JSON.stringify(value) } };
}
