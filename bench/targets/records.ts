import { startPostgresServer } from "../../test/support/postgres-server.ts";
import { createSandbox } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { digitsOf, recordOf, records } from "../record.ts";
import type { Target } from "../target.ts";
import { metricsToken } from "../metrics/scrapes.ts";
import { openApp, unlimited } from "./app.ts";

const linesAtOnce = 5000;

/** The whole service with ten thousand records on the blacklist. */
function target(database: "sqlite" | "postgres", more: Readonly<Record<string, string>> = {}): Target {
  const ends: (() => Promise<unknown>)[] = [];
  let port = 0;
  let headers: Record<string, string> = {};
  const own: Target = {
    request: { paths: [], headers: {} },
    async start() {
      const sandbox = await createSandbox({ seed: "small", record: false });
      const server = database === "postgres" ? await startPostgresServer() : undefined;
      const settings = server === undefined ? {} : { DATABASE_URL: server.url("postgres") };
      const { app, stop } = await openApp(sandbox, sandbox.seeded.users.olivia.id, { ...unlimited, ...settings, ...more });
      ends.push(stop, async () => await server?.stop());
      await app.start();
      await sandbox.waitFor(() => !app.guildState.freshness().stale);
      const { key } = await app.keys.bootstrap(systemCall("cli", "bench"), { name: "bench" });
      headers = { Authorization: `Bearer ${key}`, "X-Acting-User": sandbox.seeded.users.olivia.id };
      port = Number(new URL(app.address()).port);
      for (let from = 0; from < records; from += linesAtOnce) await importSome(from);
      const page = await ask<{ data: { id: string }[] }>("GET", "/blacklist?limit=200");
      own.request = { paths: page.data.map(({ id }) => `/blacklist/${id}`), headers };
      return port;
    },
    async stop() {
      for (const end of ends) await end();
    },
  };
  return own;

  async function importSome(from: number): Promise<void> {
    const rows = Array.from({ length: linesAtOnce }, (_, index) => Object.values(recordOf(digitsOf(from + index))).join(","));
    const text = ["kind,subject_id,category,severity,reason_public", ...rows].join("\n");
    await ask("POST", "/blacklist/import", text, "text/csv");
  }

  async function ask<Answer>(method: string, path: string, body?: unknown, type = "application/json"): Promise<Answer> {
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const answer = await fetch(`http://127.0.0.1:${port.toString()}${path}`, {
      method,
      headers: { ...headers, ...(body !== undefined && { "Content-Type": type }) },
      ...(body !== undefined && { body: sent }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status.toString()} ${text.slice(0, 300)}`);
    return JSON.parse(text) as Answer;
  }
}

export const sqlite = target("sqlite");
export const postgres = target("postgres");
export const measured = target("sqlite", { METRICS_TOKEN: metricsToken });
