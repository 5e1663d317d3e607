import { ApplicationCommandType, Routes } from "discord.js";
import { ProblemError } from "../kernel/errors.ts";
import { pause } from "./pause.ts";
import { type Change, compareLists, type Difference } from "./registration-compare.ts";
import type { Fields } from "./registration-fields.ts";
import { rateLimitWait, refusalStatus } from "./rest-errors.ts";
import type { DiscordRequest } from "./rest-request.ts";
import type { DiscordRest } from "./rest.ts";

export interface CommandListOptions {
  rest: DiscordRest;
  clientId: string;
  /** The list of this guild alone, instead of the one for all. */
  guildId?: string;
  /** Told what was done, command by command. */
  onSent?(change: Change): void;
  /** Told before a rate limit is waited for. */
  onWait?(ms: number): void;
  /** How long rate limits are waited for in all, beyond the deadline of a call; default 0. */
  patienceMs?: number;
  /** Deadline of one call; default 15,000. */
  callMs?: number;
  signal?: AbortSignal;
}

export interface CommandList {
  /** @throws ProblemError discord_unavailable, discord_error */
  difference(wanted: readonly Fields[]): Promise<Difference>;
  /**
   * Send what differs: command by command, or the whole list where half of it or more differs.
   * What was sent before a failure stays sent, and is no difference any more the next time.
   * @throws ProblemError discord_unavailable, discord_error
   */
  send(wanted: readonly Fields[], difference: Difference): Promise<void>;
}

type Request = Pick<DiscordRequest, "method" | "route" | "query" | "body">;

/** Tries of a change of one command while Discord is away. Done twice it leaves the same list, so that it may be repeated. */
const tries = 3;
const firstPauseMs = 250;
const unknownCommand = 10_063;

/** Discord's list of commands: of all guilds, or of one. */
export function createCommandList(options: CommandListOptions): CommandList {
  const { clientId, guildId } = options;
  const call = createPatientCall(options);
  const route = guildId === undefined ? Routes.applicationCommands(clientId) : Routes.applicationGuildCommands(clientId, guildId);

  const add = (wanted: Fields): Promise<unknown> => call({ method: "POST", route, body: wanted });
  const carryOut = async (change: Change): Promise<void> => {
    if (change.kind === "new") return void (await add(change.wanted));
    const one = `${route}/${change.id}` as const;
    try {
      await (change.kind === "gone"
        ? call({ method: "DELETE", route: one })
        : call({ method: "PATCH", route: one, body: whole(change.wanted) }));
    } catch (error) {
      // Somebody else took it away in between.
      if (!isGone(error)) throw error;
      if (change.kind === "changed") await add(change.wanted);
    }
  };

  return {
    async difference(wanted) {
      const known = await call<Fields[]>({ method: "GET", route, query: new URLSearchParams({ with_localizations: "true" }) });
      return compareLists(known, wanted);
    },
    async send(wanted, { changes, unchanged, foreign }) {
      // The whole list would have to hold the commands that are not ours, too.
      const isFew = foreign > 0 || changes.length * 2 < changes.length + unchanged;
      if (changes.length > 0 && !isFew) await call({ method: "PUT", route, body: wanted });
      // What is gone goes first: Discord takes so many commands and no more.
      for (const change of [...changes].sort((a, b) => turns[a.kind] - turns[b.kind])) {
        if (isFew) await carryOut(change);
        options.onSent?.(change);
      }
    },
  };
}

const turns = { gone: 0, changed: 1, new: 2 } as const;

/** What a change leaves out stays as it is at Discord's, so everything that can be there is named. */
function whole({ type, ...wanted }: Fields): Fields {
  const isSlash = (type ?? ApplicationCommandType.ChatInput) === ApplicationCommandType.ChatInput;
  return { name_localizations: null, nsfw: false, ...(isSlash && { description_localizations: null, options: [] }), ...wanted };
}

function isGone(error: unknown): boolean {
  return refusalStatus(error) === 404 && error instanceof ProblemError && error.extra?.["discord_code"] === unknownCommand;
}

/** A call that waits for rate limits as long as there is patience, and tries changes of one command again. */
function createPatientCall({ rest, onWait, patienceMs = 0, callMs = 15_000, signal = new AbortController().signal }: CommandListOptions) {
  let left = patienceMs;
  return async <T>(request: Request): Promise<T> => {
    const isOne = request.method === "POST" || request.method === "PATCH";
    for (let failures = 0; ;) {
      try {
        return await rest.call<T>({ ...request, purpose: "registration", deadlineMs: callMs });
      } catch (error) {
        if (!(error instanceof ProblemError) || error.code !== "discord_unavailable" || signal.aborted || rest.isTokenRefused())
          throw error;
        const isLimit = rateLimitWait(error.cause) !== undefined;
        const ms = isLimit ? (error.retryAfter ?? 1) * 1000 : firstPauseMs * 2 ** failures;
        if (isLimit ? ms > left : !isOne || (failures += 1) >= tries) throw error;
        if (isLimit) {
          left -= ms;
          onWait?.(ms);
        }
        await pause(ms, signal);
      }
    }
  };
}
