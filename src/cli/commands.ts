import { createInterface } from "node:readline/promises";
import { Command, Option } from "commander";
import type { RESTPostAPIApplicationCommandsJSONBody } from "discord.js";
import { payloadOf } from "../discord/registration/compare.ts";
import { snowflake } from "./arguments.ts";
import { changesAsJson, differenceInWords, lineOf, nameOf, sumInWords } from "./commands-words.ts";
import { withCommandList, type Pace } from "./commands-list.ts";
import { print, printError } from "./output.ts";

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
    const { commandPayloads } = await import("../commands/payloads.ts");
    return commandPayloads();
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
      if (yes !== true && !given.isTerminal()) throw new Error("Nothing was removed. Without a terminal to ask at, add --yes.");
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
