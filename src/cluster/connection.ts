import type pg from "pg";

/** Milliseconds after which a statement on a connection of its own counts as unanswered. */
const answerMs = 3000;

/**
 * A connection to PostgreSQL outside of the pool, for what belongs to a session: locks and notifications.
 * @param name in `pg_stat_activity`
 */
export async function connectAlone(url: string, name: string): Promise<pg.Client> {
  const { Client } = await import("pg");
  const client = new Client({
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
    // A statement that nobody waits for any more is not to go on by itself.
    statement_timeout: answerMs,
    keepAlive: true,
  });
  // A broken connection also rejects the running query; without a listener it would end the process.
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query(noticeSoon);
    return client;
  } catch (error) {
    cut(client);
    throw error;
  }
}

/** Where the machine of a process is gone without a word, PostgreSQL is to notice within ten seconds instead of hours. */
export const noticeSoon = "SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3";

/** End it without waiting for an answer, which a broken one would not give. */
export function cut(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
