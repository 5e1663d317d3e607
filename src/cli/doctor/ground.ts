import { existsSync } from "node:fs";
import { pino } from "pino";
import { z } from "zod";
import { openSource, type Source } from "../../backup/source.ts";
import type { Config } from "../../config/config.ts";
import type { Secrets } from "../../config/secrets.ts";
import { dialectOf, sqliteFile } from "../../database/dialect.ts";
import { createDiscordRest, userAgent, type DiscordRest } from "../../discord/rest/rest.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { operatorText, systemReason } from "../../kernel/operator-errors.ts";
import { markedId } from "../../installation.ts";
import { addressOf, Health } from "../status-checks.ts";

/** What the checks of `provost doctor` look at. What takes time is looked at once, when it is first asked for; nothing of it is changed. */
export interface Ground {
  config: Config;
  secrets: Secrets;
  /** Names of the environment that look like settings and are none. */
  unknown: readonly string[];
  database: () => Promise<SeenDatabase>;
  discord: () => Promise<SeenDiscord>;
  /** The server of this installation, where it runs on this machine. */
  server: () => Promise<Health | undefined>;
  close: () => Promise<void>;
}

export type SeenDatabase =
  | { state: "open"; source: Source }
  /** There is none yet. */
  | { state: "absent" }
  | { state: "refused"; reason: string };

export type SeenDiscord = ({ state: "there"; rest: DiscordRest; date: string | null } & Asked) | { state: "away"; reason: string };

type Asked = { isTokenRefused: true } | { isTokenRefused: false; selfId: string; application: Application };

const Application = z.object({
  id: Snowflake,
  flags: z.int().default(0),
  /** Discord need not tell them. */
  redirect_uris: z.array(z.string()).optional(),
});
export type Application = z.output<typeof Application>;

/** How long Discord, or a server, may take to answer. */
export const answerMs = 10_000;
const quiet = pino({ level: "silent" });

export function createGround(given: Pick<Ground, "config" | "secrets" | "unknown">): Ground {
  const { config, secrets } = given;
  const server = once(() => findServer(config.http));
  const database = once(async (): Promise<SeenDatabase> => {
    const reason = await lostLog(config, await server.get());
    return reason === undefined ? openDatabase(config.database.url) : { state: "refused", reason };
  });
  const discord = once(() => askDiscord(config.discord.apiBase, secrets.discordToken));
  return {
    ...given,
    database: database.get,
    discord: discord.get,
    server: server.get,
    async close() {
      const [open, asked] = await Promise.all([database.made(), discord.made()]);
      if (open?.state === "open") await open.source.close();
      if (asked?.state === "there") asked.rest.stop();
    },
  };
}

function once<T>(make: () => Promise<T>): { get: () => Promise<T>; made: () => Promise<T | undefined> } {
  let made: Promise<T> | undefined;
  return { get: () => (made ??= make()), made: async () => made };
}

/** Opening a database whose log was removed under the server would make another log, and two processes would write past each other. */
async function lostLog(config: Config, running: Health | undefined): Promise<string | undefined> {
  const { url } = config.database;
  if (dialectOf(url) !== "sqlite" || running === undefined || running.service.instance_id !== (await markedId(config))) return undefined;
  const file = sqliteFile(url);
  if (!existsSync(file) || existsSync(`${file}-wal`)) return undefined;
  return `${file}-wal, the write-ahead log of the database, was removed while the server runs, so the server confirms no more writes: restart the server, and run this again.`;
}

async function openDatabase(url: string): Promise<SeenDatabase> {
  if (dialectOf(url) === "sqlite" && !existsSync(sqliteFile(url))) return { state: "absent" };
  try {
    const source = await openSource(url);
    return { state: "open", source };
  } catch (error) {
    return { state: "refused", reason: textOf(error) };
  }
}

/** First without the token: whether Discord answers at all, and what time it is there. */
async function askDiscord(apiBase: string, token: string): Promise<SeenDiscord> {
  let response: Response;
  try {
    response = await fetch(`${apiBase}/v10/gateway`, {
      headers: { "user-agent": await userAgent() },
      signal: AbortSignal.timeout(answerMs),
    });
    await response.body?.cancel();
  } catch (error) {
    return { state: "away", reason: unanswered(error) };
  }
  if (!response.ok) return { state: "away", reason: `status ${response.status.toString()}` };
  const rest = createDiscordRest({ apiBase, token, logger: quiet });
  try {
    const self = z.object({ id: Snowflake }).parse(await rest.call({ method: "GET", route: "/users/@me", purpose: "action" }));
    const application = Application.parse(await rest.call({ method: "GET", route: "/applications/@me", purpose: "action" }));
    const date = response.headers.get("date");
    return { state: "there", rest, date, isTokenRefused: false, selfId: self.id, application };
  } catch (error) {
    if (rest.isTokenRefused()) return { state: "there", rest, date: response.headers.get("date"), isTokenRefused: true };
    rest.stop();
    return { state: "away", reason: textOf(error) };
  }
}

/** An error in one line. */
export function textOf(error: unknown): string {
  return operatorText(error) ?? (error instanceof Error ? error.message : String(error));
}

/** Why nobody has answered, in a few words. */
export function unanswered(error: unknown): string {
  const { name, cause } = error as Error;
  return name === "TimeoutError" ? "no answer" : systemReason(cause ?? error);
}

async function findServer(http: Config["http"]): Promise<Health | undefined> {
  if (http.port === 0) return undefined;
  const response = await fetch(`${addressOf(http)}/health`, { signal: AbortSignal.timeout(answerMs) }).catch(() => undefined);
  return Health.safeParse(await response?.json().catch(() => undefined)).data;
}
