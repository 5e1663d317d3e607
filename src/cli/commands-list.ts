import { pino } from "pino";
import { loadConfigOrExit } from "../config/config.ts";
import type { Change } from "../discord/registration/compare.ts";
import { type CommandList, createCommandList } from "../discord/registration/list.ts";
import { createDiscordRest } from "../discord/rest/rest.ts";
import { refusalInWords } from "./commands-refusals.ts";
import { printError } from "./output.ts";

export interface Pace {
  /** Deadline of one call to Discord; longer rate limits are waited for with a line of progress. */
  callMs: number;
  /** Pause before the first repetition of a failed call; see {@link createDiscordRest}. */
  repeatMs?: number;
}

interface Given extends Pace {
  guildId: string | undefined;
  onSent?: (change: Change) => void;
}

/** How long rate limits are waited for in all. */
const patienceMs = 600_000;

/**
 * Work on Discord's list of commands with the configured token, without a connection to the gateway and without a database.
 * @throws Error in words for the terminal
 */
export async function withCommandList<T>(
  { guildId, callMs, repeatMs, onSent }: Given,
  work: (list: CommandList) => Promise<T>,
): Promise<T> {
  const { config, secrets } = loadConfigOrExit();
  const { apiBase, clientId } = config.discord;
  const rest = createDiscordRest({ apiBase, token: secrets.discordToken, logger: pino({ level: "silent" }), repeatMs });
  const list = createCommandList({
    rest,
    clientId,
    callMs,
    patienceMs,
    onWait: (ms) => printError(`Discord asks to wait ${Math.ceil(ms / 1000).toString()} s; waiting.`),
    ...(guildId !== undefined && { guildId }),
    ...(onSent !== undefined && { onSent }),
  });
  try {
    return await work(list);
  } catch (error) {
    throw refusalInWords(error, { apiBase, clientId, guildId, isTokenRefused: rest.isTokenRefused() });
  } finally {
    rest.stop();
  }
}
