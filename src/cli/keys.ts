import { Command, Option } from "commander";
import type { KeyView } from "../features/keys/keys.schema.ts";
import { settled } from "../kernel/held.ts";
import { list, wholeNumber } from "./arguments.ts";
import { scopesHelp, settingsInput, settingsOptions, endInput, endOptions, type SettingsOptions } from "./keys-options.ts";
import { print, printError, table } from "./output.ts";
import { findKey, listKeys, withServices } from "./services.ts";

/** `provost keys …`: the API keys, beside a running server or without one. */
export function keysCommand(): Command {
  return new Command("keys")
    .description("Manage API keys")
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(updateCommand())
    .addCommand(rotateCommand())
    .addCommand(revokeCommand());
}

function createCommand(): Command {
  const command = new Command("create")
    .description("Create an API key; the key alone is printed on standard output, once")
    .requiredOption("--name <name>", "what the key is for")
    .requiredOption("--scopes <list>", scopesHelp, list);
  for (const option of settingsOptions("days until the key expires (default: 365)")) command.addOption(option);
  return command.action(async ({ name, scopes, ...options }: SettingsOptions & { name: string; scopes: string[] }) => {
    await withServices(async ({ keys }, call) => {
      const created = settled(await keys.create(call, { name, scopes, ...settingsInput(options) }));
      printError(`Key "${name}", valid until ${created.expires_at}. Keep it safe, it is shown only now:`);
      print(created.key);
    });
  });
}

function listCommand(): Command {
  return new Command("list")
    .description("List the API keys")
    .option("--json", "print them as JSON")
    .action(async ({ json }: { json?: true }) => {
      const rows = await withServices(listKeys);
      const header = ["KEY ID", "NAME", "SCOPES", "DELEGATION", "EXPIRES", "LAST USED", "STATE"];
      if (json === true) print(JSON.stringify(rows, null, 2));
      else for (const line of table(header, rows.map(cells))) print(line);
    });
}

function showCommand(): Command {
  return new Command("show")
    .description("Show everything about one API key but its secret")
    .argument(...keyArgument)
    .option("--json", "print it as JSON")
    .action(async (given: string, { json }: { json?: true }) => {
      const key = await withServices((services, call) => findKey(services, call, given));
      if (json === true) print(JSON.stringify(key, null, 2));
      else for (const line of table(["FIELD", "VALUE"], Object.entries(key).map(field))) print(line);
    });
}

function cells(key: KeyView): string[] {
  const day = (at: string | null): string => at?.slice(0, 10) ?? "never";
  return [key.key_id, key.name, key.scopes.join(","), key.delegation, day(key.expires_at), day(key.last_used_at), key.state];
}

function field([name, value]: [string, unknown]): string[] {
  if (Array.isArray(value)) return [name, value.length === 0 ? "any" : value.join(",")];
  return [name, typeof value === "string" ? value : JSON.stringify(value)];
}

export const keyArgument = ["<key id>", "the KEY ID column of the list"] as const;

/** `provost keys update` */
export function updateCommand(): Command {
  const command = new Command("update")
    .description("Change an API key; what is not named stays")
    .argument(...keyArgument)
    .option("--name <name>", "what the key is for")
    .option("--scopes <list>", scopesHelp, list);
  for (const option of settingsOptions("days from now until the key expires")) command.addOption(option);
  return command.action(async (given: string, options: SettingsOptions) => {
    const input = settingsInput(options);
    if (Object.keys(input).length === 0) throw new Error("Say what to change: add --help for the options.");
    await withServices(async (services, call) => {
      const known = await findKey(services, call, given);
      const { name, revision } = settled(await services.keys.update(call, known.id, input));
      printError(revision === known.revision ? `Key "${name}" is so already.` : `Key "${name}" is changed.`);
    });
  });
}

/** `provost keys rotate` */
export function rotateCommand(): Command {
  const command = new Command("rotate")
    .description("Give an API key a new secret; the new key alone is printed on standard output, once")
    .argument(...keyArgument)
    .addOption(
      new Option("--grace <seconds>", "how long the old key goes on working; 0 ends it at once")
        .argParser(wholeNumber(0, 604_800))
        .default(86_400),
    );
  for (const option of endOptions("days until the new key expires; without an end, it ends when the old one would have"))
    command.addOption(option);
  return command.action(async (given: string, { grace, ...end }: { grace: number } & Parameters<typeof endInput>[0]) => {
    await withServices(async (services, call) => {
      const known = await findKey(services, call, given);
      const input = { grace_seconds: grace, ...endInput(end) };
      const made = settled(await services.keys.rotate(call, known.id, input));
      const old = grace === 0 ? "is revoked" : `works for ${grace.toString()} more seconds at most`;
      printError(`Key "${made.name}", valid until ${made.expires_at}; the old one ${old}. Keep it safe, it is shown only now:`);
      print(made.key);
    });
  });
}

/** `provost keys revoke` */
export function revokeCommand(): Command {
  return new Command("revoke")
    .description("Revoke an API key; a running server refuses it within seconds")
    .argument(...keyArgument)
    .action(async (given: string) => {
      await withServices(async (services, call) => {
        const known = await findKey(services, call, given);
        settled(await services.keys.revoke(call, known.id));
        printError(`Key "${known.name}" is revoked.`);
      });
    });
}
