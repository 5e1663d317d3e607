import { Command } from "commander";
import type { KeyView } from "../features/keys/keys.schema.ts";
import { settled } from "../kernel/held.ts";
import { list } from "./arguments.ts";
import { keyArgument, revokeCommand, rotateCommand, updateCommand } from "./keys-change.ts";
import { scopesHelp, settingsInput, settingsOptions, type SettingsOptions } from "./keys-options.ts";
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
