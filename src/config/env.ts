import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { fileError, OperatorError, systemReason } from "../kernel/operator-errors.ts";
import { isLoopback } from "./values.ts";
import { Env, fileVariables, variableNames, whereToFind, type VariableName } from "./variables.ts";

/** An environment: what `process.env` holds, or a test's own. */
export type Variables = Readonly<Record<string, string | undefined>>;

const placeholder =
  /change[-_ ]?me|your[-_ ]|[<>]|^[x*.]{3,}$|^(example|placeholder|replace[-_ ].*|secret|todo|token|password|null|undefined)$/i;

/** What Discord's own secrets look like; other implementations have forms of their own. */
const discordShapes = {
  DISCORD_TOKEN: /^[\w-]{16,}\.[\w-]{4,}\.[\w-]{20,}$/,
  DISCORD_CLIENT_SECRET: /^[\w-]{8,128}$/,
} as const;

/** One reading of the environment: the checked values, or one plain line per wrong variable. No line repeats a value. */
export type EnvReading = { ok: true; values: Env } | { ok: false; lines: string[] };

/**
 * Check every variable at once.
 * @param files reads the file a `<NAME>_FILE` variable names; what it throws makes that variable's line
 */
export function readEnv(env: Variables, files: (path: string) => string): EnvReading {
  const given: Partial<Record<VariableName, string>> = {};
  const lines = new Map<VariableName, string>();
  for (const name of variableNames) {
    const found = findValue(env, name, files);
    if ("refusal" in found) lines.set(name, `${found.name}: ${found.refusal}`);
    else if (found.value === undefined && whereToFind[name] !== undefined) lines.set(name, `${name}: is missing; ${whereToFind[name]}`);
    else if (found.value !== undefined && placeholder.test(found.value))
      lines.set(name, `${name}: still holds a placeholder; ${whereToFind[name] ?? "set a value or remove it"}`);
    else if (found.value !== undefined) given[name] = found.value;
  }
  const result = Env.safeParse(given);
  for (const issue of result.error?.issues ?? []) {
    const name = issue.path[0] as VariableName;
    if (!lines.has(name)) lines.set(name, `${name}: ${issue.message} (${shapeOf(given[name] ?? "")})`);
  }
  for (const [name, line] of [...contradictions(given), ...lackingKeys(given)]) if (!lines.has(name)) lines.set(name, `${name}: ${line}`);
  if (result.success && lines.size === 0) return { ok: true, values: result.data };
  return { ok: false, lines: variableNames.flatMap((name) => lines.get(name) ?? []) };
}

/** How a refused value looks, without a character of it: anything may have been pasted there, a token too. */
function shapeOf(value: string): string {
  const kinds = { letters: /\p{L}/u, digits: /\p{N}/u, spaces: /\s/, "other signs": /[^\p{L}\p{N}\s]/u };
  const found = Object.entries(kinds).flatMap(([kind, pattern]) => (pattern.test(value) ? [kind] : []));
  const length = Array.from(value).length;
  return `it has ${length.toString()} ${length === 1 ? "character" : "characters"}: ${found.join(", ")}`;
}

type Found = { value: string | undefined } | { name: string; refusal: string };

function findValue(env: Variables, name: VariableName, files: (path: string) => string): Found {
  const direct = present(env[name]);
  const path = fileVariables.includes(name) ? present(env[`${name}_FILE`]) : undefined;
  if (path === undefined) return { value: direct };
  if (direct !== undefined) return { name, refusal: `is given twice; remove ${name} or ${name}_FILE` };
  try {
    const value = present(files(path));
    return value === undefined
      ? { name: `${name}_FILE`, refusal: `names an empty file${placeOf(path)}; put the value into it` }
      : { value };
  } catch (error) {
    return { name: `${name}_FILE`, refusal: `names a file that cannot be read${placeOf(path)} (${systemReason(error)}); check the path` };
  }
}

/** A path is named where it begins as one; anything else may be the secret itself, set as the wrong variable. */
function placeOf(path: string): string {
  const isPath = /^\.{0,2}\//.test(path) && !/^[\w+/-]{40,}=?$/.test(path);
  return isPath ? `, ${path}` : ` in ${process.cwd()}`;
}

/** The files that hold secrets by what the environment says. */
export function secretFiles(env: Variables): string[] {
  return fileVariables.flatMap((name) => present(env[`${name}_FILE`]) ?? []);
}

function present(text: string | undefined): string | undefined {
  const trimmed = text?.replace(/^\uFEFF/, "").trim();
  return trimmed === "" ? undefined : trimmed;
}

/** The bot token goes to DISCORD_API_BASE, so that address is either Discord, this machine, or one the operator named twice. */
function contradictions(given: Partial<Record<VariableName, string>>): Array<[VariableName, string]> {
  const wrong: Array<[VariableName, string]> = [];
  if (given.CLUSTER === "on" && !/^postgres(ql)?:/.test(given.DATABASE_URL ?? ""))
    wrong.push(["CLUSTER", "is on, and SQLite is for one process alone; set DATABASE_URL to a PostgreSQL database, or remove CLUSTER"]);
  const base = Env.shape.DISCORD_API_BASE.safeParse(given.DISCORD_API_BASE);
  if (!base.success) return wrong;
  const isLocal = isLoopback(new URL(base.data).hostname);
  const isCustom = !isLocal && base.data !== "https://discord.com/api";
  if (isCustom && given.ALLOW_CUSTOM_DISCORD_API !== "true")
    wrong.push([
      "DISCORD_API_BASE",
      "names neither Discord nor this machine, and the bot token would go there. Remove it, or set ALLOW_CUSTOM_DISCORD_API=true if that is meant",
    ]);
  if (!isLocal && given.DISCORD_TOKEN?.startsWith("sandbox.") === true)
    wrong.push([
      "DISCORD_TOKEN",
      "belongs to the local sandbox and is not sent to another machine; copy the one of your bot from the Bot page of the Discord developer portal",
    ]);
  if (isLocal || isCustom) return wrong;
  for (const name of ["DISCORD_TOKEN", "DISCORD_CLIENT_SECRET"] as const) {
    const value = given[name];
    if (value !== undefined && !discordShapes[name].test(value)) wrong.push([name, `is not one of Discord's; ${whereToFind[name] ?? ""}`]);
  }
  return wrong;
}

/** A bucket is used with both of its keys. */
function lackingKeys(given: Partial<Record<VariableName, string>>): Array<[VariableName, string]> {
  if (Env.shape.EVIDENCE_STORE.safeParse(given.EVIDENCE_STORE).data?.kind !== "s3") return [];
  const lacking = (["EVIDENCE_S3_ACCESS_KEY", "EVIDENCE_S3_SECRET_KEY"] as const).filter((name) => given[name] === undefined);
  return lacking.map((name) => [name, "is missing; copy it from where the bucket that EVIDENCE_STORE names is managed"]);
}

/**
 * The variable whose value opens a quote that does not end on its line: the lines after it would become part of the value. No variable has
 * a value of several lines.
 */
function openQuote(text: string): string | undefined {
  const opened = /^\s*(?:export\s+)?(\w+)\s*=\s*(["'`])(.*)$/;
  const found = text.split("\n").map((line) => opened.exec(line) ?? []);
  return found.find(([, name, quote = "", rest = ""]) => isKnown(name) && !rest.includes(quote))?.[1];
}

const isKnown = (name = ""): boolean => variableNames.includes(name.replace(/_FILE$/, "") as VariableName);

/**
 * The process's environment over the `.env` file of the working directory: what the real environment sets wins,
 * also where one of them gives a value and the other names its file.
 * @throws OperatorError when there is a `.env` that cannot be read
 */
export function processEnvironment(): Variables {
  const text = readDotEnv();
  const open = openQuote(text);
  if (open !== undefined)
    throw new OperatorError(
      `${open}: the quote before its value in .env does not end on its line; put one at the end of the value, or take it out`,
    );
  const fromFile: Record<string, string | undefined> = parseEnv(text);
  for (const name of fileVariables) {
    if (process.env[name] !== undefined) delete fromFile[`${name}_FILE`];
    if (process.env[`${name}_FILE`] !== undefined) delete fromFile[name];
  }
  return { ...fromFile, ...process.env };
}

function readDotEnv(): string {
  try {
    return readFileSync(".env", "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw fileError(error, { path: ".env" });
  }
}

/** The environment of a program that this one starts: its own, with a few more variables. */
export function environmentOfChild(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...more };
}

/** Set a variable that a package reads, unless the operator has. */
export function presetForPackage(name: string, value: string): void {
  process.env[name] ??= value;
}
