import { ApplicationCommandType, Routes } from "discord-api-types/v10";
import type { DiscordRequest } from "../../kernel/discord-port.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { backOff, pause } from "../../kernel/pause.ts";
import { type Change, compareLists, type Difference, type Fields } from "./compare.ts";
import { isRefusal } from "../load-library.ts";
import { rateLimitWait, refusalStatus } from "../rest/errors.ts";
import type { DiscordRest } from "../rest/rest.ts";
import { cutText } from "../cut-text.ts";

export interface CommandListOptions {
  rest: DiscordRest;
  clientId: string;
  /** The list of this guild, instead of the global one. */
  guildId?: string;
  /** Called for each command that was sent. */
  onSent?(change: Change): void;
  /** Called before a rate limit is waited for. */
  onWait?(ms: number): void;
  /** The total time to wait for rate limits, besides the deadlines of the calls; default 0. */
  patienceMs?: number;
  /** Deadline of one call; default 15,000. */
  callMs?: number;
  signal?: AbortSignal;
}

export interface CommandList {
  /** @throws ProblemError discord_unavailable, discord_error */
  difference(wanted: readonly Fields[]): Promise<Difference>;
  /**
   * Send the changes one by one, or the whole list if half of it or more has changed. Changes that were sent before a failure are not sent
   * again the next time.
   * @throws ProblemError discord_unavailable, discord_error
   */
  send(wanted: readonly Fields[], difference: Difference): Promise<void>;
}

type Request = Pick<DiscordRequest, "method" | "route" | "query" | "body">;

/** The attempts for one command while Discord is down. The change of one command is idempotent, so it may be repeated. */
const tries = 3;
const firstPauseMs = 250;
const unknownCommand = 10_063;

/** Discord's list of commands: the global one, or that of a guild. */
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
      // The command was deleted in the meantime.
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
      // Sending the whole list would delete the foreign commands.
      const isFew = foreign > 0 || changes.length * 2 < changes.length + unchanged;
      if (changes.length > 0 && !isFew) await call({ method: "PUT", route, body: wanted });
      // Deletions come first, because Discord limits the number of commands.
      for (const change of [...changes].sort((a, b) => order[a.kind] - order[b.kind])) {
        if (isFew) await carryOut(change);
        options.onSent?.(change);
      }
    },
  };
}

const order = { gone: 0, changed: 1, new: 2 } as const;

/** Adds every optional field, because a PATCH leaves the fields unchanged that it does not name. */
function whole({ type, ...wanted }: Fields): Fields {
  const isSlash = (type ?? ApplicationCommandType.ChatInput) === ApplicationCommandType.ChatInput;
  return { name_localizations: null, nsfw: false, ...(isSlash && { description_localizations: null, options: [] }), ...wanted };
}

function isGone(error: unknown): boolean {
  return refusalStatus(error) === 404 && error instanceof ProblemError && error.extra?.["discord_code"] === unknownCommand;
}

/** A call that waits for rate limits within `patienceMs`, and repeats changes of one command. */
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
        const ms = isLimit ? (error.retryAfter ?? 1) * 1000 : backOff(failures + 1, { firstMs: firstPauseMs });
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

/** Why Discord refuses the commands, for a log or a terminal. */
export interface CommandRefusal {
  status: number;
  code: number | string;
  reason: string;
  /** Each wrong field with its command and option, such as `/case open reason description: Must be …`. */
  commands: string[];
}

const maxLines = 20;
const maxCharacters = 200;
/** Lists whose elements have names of their own. */
const named = new Set(["options", "choices"]);
const menus: Readonly<Record<number, string>> = { 2: "user menu", 3: "message menu" };

/** The details of Discord's refusal (4xx) of a call about commands, which repeating would not change; undefined for other failures. */
export function commandRefusal(error: unknown): CommandRefusal | undefined {
  const cause = error instanceof ProblemError ? error.cause : error;
  if (!isRefusal(cause)) return undefined;
  const { status, code, rawError, requestBody } = cause;
  const tree = "errors" in rawError ? rawError.errors : undefined;
  const sent = requestBody.json;
  const lines = linesOf(tree, sent, Array.isArray(sent) ? [] : [labelOf(sent)]);
  const more = lines.length - maxLines;
  return {
    status,
    code,
    reason: cutText("message" in rawError ? rawError.message : rawError.error, maxCharacters),
    commands: more > 0 ? [...lines.slice(0, maxLines), `… and ${more.toString()} more`] : lines,
  };
}

/** Walks the tree of errors together with the request, because Discord names commands and options by their index only. */
function linesOf(tree: unknown, sent: unknown, path: readonly string[]): string[] {
  return fieldsOf(tree).flatMap(([key, below]) => {
    if (key === "_errors") return errorsOf(below).map((text) => cutText(`${path.join(" ")}: ${text}`, maxCharacters));
    const part: unknown = Object(sent)[key];
    const step = Array.isArray(sent) ? [path.length === 0 ? labelOf(part) : nameOf(part, key)] : named.has(key) ? [] : [key];
    return linesOf(below, part, [...path, ...step]);
  });
}

function errorsOf(errors: unknown): string[] {
  return (Array.isArray(errors) ? errors : []).map((one: unknown) => {
    const { message, code } = Object.fromEntries(fieldsOf(one));
    return `${String(message)} (${String(code)})`;
  });
}

function labelOf(command: unknown): string {
  const { type } = Object.fromEntries(fieldsOf(command));
  const menu = menus[Number(type)];
  const name = nameOf(command, "commands");
  return menu === undefined ? `/${name}` : `${menu} "${name}"`;
}

function nameOf(thing: unknown, otherwise: string): string {
  const { name } = Object.fromEntries(fieldsOf(thing));
  return typeof name === "string" ? name : otherwise;
}

function fieldsOf(thing: unknown): [string, unknown][] {
  return typeof thing === "object" && thing !== null ? Object.entries(thing) : [];
}
