import { inJson } from "../kit/say.ts";
import { Command, Option, InvalidArgumentError } from "commander";
import type { KeyView, CreateKeyInput } from "../features/keys/keys.schema.ts";
import { requireDone } from "../kernel/held.ts";
import { list, wholeNumber } from "./arguments.ts";
import { print, printError, table } from "./output.ts";
import { findKey, listKeys, withServices } from "./services.ts";
import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";

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
      const created = requireDone(await keys.create(call, { name, scopes, ...settingsInput(options) }));
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
      if (json === true) print(inJson(rows, 2));
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
      if (json === true) print(inJson(key, 2));
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
    if (Object.keys(input).length === 0) throw new Error("Nothing to change was named. See `provost keys update --help`.");
    await withServices(async (services, call) => {
      const known = await findKey(services, call, given);
      const { name, revision } = requireDone(await services.keys.update(call, known.id, input));
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
      const made = requireDone(await services.keys.rotate(call, known.id, input));
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
        requireDone(await services.keys.revoke(call, known.id));
        printError(`Key "${known.name}" is revoked.`);
      });
    });
}

/** What `create` and `update` can say about a key. */
export interface SettingsOptions {
  name?: string;
  scopes?: string[];
  delegation?: KeyView["delegation"];
  publicKey?: CreateKeyInput["public_key"];
  ip?: string[];
  expiresAt?: string;
  expiresDays?: number;
}

export const scopesHelp = "comma list of permissions, with group.* and *; system.act is always named";

/** The options that `create` and `update` share; names and scopes are added by each in its own way. */
export const settingsOptions = (expiry: string): Option[] => [
  new Option("--delegation <kind>", "whether the key may name acting users: not at all, by its word, or by a signature").choices([
    "none",
    "trusted",
    "signed",
  ]),
  new Option("--public-key <file or JSON>", "Ed25519 public key, as PEM or JWK, that assertions are verified with (signed)").argParser(
    publicKey,
  ),
  new Option("--ip <list>", "comma list of addresses and ranges the key may be used from; any: from anywhere").argParser(addresses),
  ...endOptions(expiry),
];

/** When a key ends, by one of two options; what is wrong with them is for the verb to refuse. */
export function endOptions(description: string): Option[] {
  return [
    new Option("--expires-days <days>", description).argParser(wholeNumber(1, 3650)),
    new Option("--expires-at <time>", "the time at which it ends, such as 2027-01-31T00:00:00Z, in place of days"),
  ];
}

export function endInput({ expiresAt, expiresDays }: Pick<SettingsOptions, "expiresAt" | "expiresDays">) {
  return { ...(expiresAt !== undefined && { expires_at: expiresAt }), ...(expiresDays !== undefined && { expires_days: expiresDays }) };
}

/** The options in the form of the verbs; what was not given is left out. */
export function settingsInput({ name, scopes, delegation, publicKey, ip, ...end }: SettingsOptions) {
  return {
    ...(name !== undefined && { name }),
    ...(scopes !== undefined && { scopes }),
    ...(delegation !== undefined && { delegation }),
    ...(publicKey !== undefined && { public_key: publicKey }),
    ...(ip !== undefined && { ip_allowlist: ip }),
    ...endInput(end),
  };
}

function addresses(text: string): string[] {
  return text === "any" ? [] : list(text);
}

/** A JWK as JSON, or a file with one or with PEM. The verb looks at what is in it. */
function publicKey(given: string): CreateKeyInput["public_key"] {
  const text = given.trimStart().startsWith("{") ? given : read(given);
  if (text.includes("PRIVATE KEY")) throw new InvalidArgumentError("It is a private key. Keep it, and name its public half.");
  try {
    const jwk: unknown = text.includes("PUBLIC KEY") ? createPublicKey(text).export({ format: "jwk" }) : JSON.parse(text);
    return jwk as CreateKeyInput["public_key"];
  } catch {
    throw new InvalidArgumentError("It must be a JWK or a PEM file.");
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new InvalidArgumentError(`${file} cannot be read.`);
  }
}
