import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { InvalidArgumentError, Option } from "commander";
import type { CreateKeyInput, KeyView } from "../features/keys/keys.schema.ts";
import { list, wholeNumber } from "./arguments.ts";

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
