import { inJson } from "../kit/say.ts";
import { createInterface } from "node:readline/promises";
import { Command, Option } from "commander";
import type { RESTPostAPIApplicationCommandsJSONBody } from "discord.js";
import { payloadOf, type Change, type Detail, type Difference } from "../discord/registration/compare.ts";
import { snowflake } from "./arguments.ts";
import { print, printError } from "./output.ts";
import { pino } from "pino";
import { loadConfigOrExit } from "../config/config.ts";
import { createCommandList, commandRefusal, type CommandList } from "../discord/registration/list.ts";
import { createDiscordRest } from "../discord/rest/rest.ts";
import { tokenInstruction } from "../discord/gateway/close-codes.ts";
import { rateLimitWait } from "../discord/rest/errors.ts";
import { ProblemError } from "../kernel/errors.ts";

/** What the verbs need from outside, so that tests can put something else in its place. */
export interface CommandsMeans {
  payloads(): readonly RESTPostAPIApplicationCommandsJSONBody[] | Promise<readonly RESTPostAPIApplicationCommandsJSONBody[]>;
  isTerminal(): boolean;
  ask(question: string): Promise<string>;
  pace: Pace;
}

interface Options {
  guild?: string;
  json?: true;
  yes?: true;
}

const means: CommandsMeans = {
  async payloads() {
    const [{ commandPayloads }, { commandTable }] = await Promise.all([import("../commands/payloads.ts"), import("../features.ts")]);
    return commandPayloads(commandTable());
  },
  isTerminal: () => process.stdin.isTTY,
  ask,
  pace: { callMs: 5000 },
};

/** `provost commands …`: Discord's list of commands, without the service and its database. */
export function commandsCommand(setExitCode: (code: number) => void, standIns: Partial<CommandsMeans> = {}): Command {
  const given = { ...means, ...standIns };
  return new Command("commands")
    .description("Compare and register the commands people see in Discord")
    .addCommand(diffCommand(setExitCode, given))
    .addCommand(deployCommand(given))
    .addCommand(clearCommand(given));
}

const guildOption = new Option("--guild <id>", "the list of one server, instead of the one for all").argParser(snowflake);
const jsonOption = new Option("--json", "print the answer as JSON");

function diffCommand(setExitCode: (code: number) => void, given: CommandsMeans): Command {
  return new Command("diff")
    .description("Show what deploy would do: + new, - gone, ~ changed; exits with 0 (nothing), 2 (something) or 1 (could not be told)")
    .addOption(guildOption)
    .addOption(jsonOption)
    .action(async ({ guild, json }: Options) => {
      const wanted = await wantedList(given, guild);
      const difference = await withCommandList({ ...given.pace, guildId: guild }, (list) => list.difference(wanted));
      if (json === true) print(changesAsJson(difference, guild));
      else for (const line of differenceInWords(difference)) print(line);
      if (json !== true) printError(sumInWords(difference));
      setExitCode(difference.changes.length === 0 ? 0 : 2);
    });
}

function deployCommand(given: CommandsMeans): Command {
  return new Command("deploy")
    .description("Bring Discord's list in line, sending only what differs; a second time there is nothing to do")
    .addOption(guildOption)
    .addOption(jsonOption)
    .action(async ({ guild, json }: Options) => {
      const wanted = await wantedList(given, guild);
      const progress = json === true ? {} : { onSent: (change: Parameters<typeof lineOf>[0]) => print(lineOf(change)) };
      const difference = await withCommandList({ ...given.pace, guildId: guild, ...progress }, async (list) => {
        const found = await list.difference(wanted);
        await list.send(wanted, found);
        return found;
      });
      if (json === true) print(changesAsJson(difference, guild));
      else printError(sumInWords(difference));
    });
}

function clearCommand(given: CommandsMeans): Command {
  return new Command("clear")
    .description("Take every command out of Discord's list")
    .addOption(guildOption)
    .addOption(jsonOption)
    .option("--yes", "do not ask; needed without a terminal")
    .action(async ({ guild, json, yes }: Options) => {
      if (yes !== true && !given.isTerminal()) throw new Error("Nothing was removed. Without a terminal to ask at, add `--yes`.");
      await withCommandList({ ...given.pace, guildId: guild }, async (list) => {
        const found = await list.difference([]);
        if (found.changes.length > 0 && yes !== true) await confirm(found.changes.map(nameOf), guild, given);
        await list.send([], found);
        if (json === true) print(changesAsJson(found, guild));
        else {
          for (const change of found.changes) print(lineOf(change));
          printError(sumInWords(found));
        }
      });
    });
}

async function confirm(names: readonly string[], guild: string | undefined, { ask }: CommandsMeans): Promise<void> {
  const where = guild === undefined ? "for every server" : `of server ${guild}`;
  const answer = await ask(`Remove ${names.length.toString()} commands ${where} (${names.join(", ")})? Type yes: `);
  if (answer.trim().toLowerCase() !== "yes") throw new Error("Nothing was removed.");
}

async function wantedList({ payloads }: CommandsMeans, guild: string | undefined) {
  return (await payloads()).map((payload) => payloadOf(payload, guild !== undefined));
}

/** The question goes to standard error; leaving without an answer is a no. */
async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const left = new AbortController();
  terminal.once("close", () => left.abort());
  try {
    return await terminal.question(question, { signal: left.signal }).catch(() => "");
  } finally {
    terminal.close();
  }
}

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

interface Place {
  apiBase: string;
  clientId: string;
  guildId: string | undefined;
  isTokenRefused: boolean;
}

const again = "What was sent stays; run this again and it goes on from there.";

/** Why Discord's list could not be read or changed, and what to do. What is no refusal of Discord stays as it is. */
export function refusalInWords(error: unknown, place: Place): unknown {
  if (!(error instanceof ProblemError)) return error;
  const text = place.isTokenRefused ? tokenInstruction : error.code === "discord_error" ? refused(error, place) : away(error, place);
  return new Error(text, { cause: error });
}

function away(error: ProblemError, { apiBase }: Place): string {
  const isLimit = rateLimitWait(error.cause) !== undefined;
  if (isLimit) return `Discord takes no more changes for ${(error.retryAfter ?? 1).toString()} s. ${again}`;
  return `Discord cannot be reached at ${apiBase}. ${again}`;
}

function refused(error: ProblemError, { clientId, guildId }: Place): string {
  const status = Number(error.extra?.["discord_status"]);
  const code = String(error.extra?.["discord_code"]);
  const numbers = `(${status.toString()}, code ${code})`;
  if ((status === 403 || status === 404) && guildId !== undefined)
    return [
      `Discord lets the bot change no commands in server ${guildId} ${numbers}: it is not there, or without the right to commands.`,
      `Add it with https://discord.com/oauth2/authorize?client_id=${clientId}&scope=bot+applications.commands&guild_id=${guildId}`,
    ].join("\n");
  if (status === 403 || status === 404)
    return `Discord lets the bot change no commands of application ${clientId} ${numbers}. DISCORD_CLIENT_ID and DISCORD_TOKEN have to be of the same application.`;
  const { reason = "", commands = [] } = commandRefusal(error) ?? {};
  return [`Discord refused the commands ${numbers}: ${printable(reason)}`, ...commands.map((line) => `  ${printable(line)}`)].join("\n");
}

const maxLines = 100;
const maxCharacters = 80;
const signs = { new: "+", changed: "~", gone: "-" } as const;
const kinds: Readonly<Record<number, string>> = { 1: "slash", 2: "user", 3: "message" };

/** No name can steer a terminal. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, "?");
}

/** `/case`, or a menu by what it is on. */
export function nameOf({ type, name }: Pick<Change, "type" | "name">): string {
  return printable(type === 1 ? `/${name}` : `${kinds[type] ?? type.toString()} menu "${name}"`);
}

export function lineOf(change: Change): string {
  return `${signs[change.kind]} ${nameOf(change)}`;
}

/** A line for every command that is new or gone, and one for every field that changed. */
export function differenceInWords({ changes }: Difference): string[] {
  const lines = changes.flatMap((change) =>
    change.kind === "changed" ? change.details.map((detail) => `${lineOf(change)} ${detailInWords(detail)}`) : [lineOf(change)],
  );
  const more = lines.length - maxLines;
  return more > 0 ? [...lines.slice(0, maxLines), `… and ${more.toString()} more`] : lines;
}

export function sumInWords({ changes, unchanged, foreign }: Difference): string {
  const count = (kind: Change["kind"]): string => changes.filter((change) => change.kind === kind).length.toString();
  const left = foreign === 0 ? "" : ` ${foreign.toString()} that Discord made by itself stays.`;
  if (changes.length === 0) return `Nothing differs; commands as they should be: ${unchanged.toString()}.${left}`;
  return `New: ${count("new")}, changed: ${count("changed")}, gone: ${count("gone")}, as they should be: ${unchanged.toString()}.${left}`;
}

/** For scripts: every detail, however many. */
export function changesAsJson({ changes, unchanged }: Difference, guildId: string | undefined): string {
  const commands = changes.map((change) => ({
    change: change.kind,
    type: kinds[change.type] ?? change.type.toString(),
    name: change.name,
    ...(change.kind === "changed" && { details: change.details }),
  }));
  return inJson({ guild_id: guildId ?? null, equal: changes.length === 0, unchanged, commands }, 2);
}

function detailInWords({ path, field, before, after }: Detail): string {
  return `${printable([...path, field].join(" "))}: ${valueInWords(before)} -> ${valueInWords(after)}`;
}

function valueInWords(value: unknown): string {
  if (value === null || value === undefined) return "none";
  const text = printable(JSON.stringify(value));
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text;
}
