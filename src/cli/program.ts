import { Command, CommanderError, InvalidArgumentError } from "commander";
import { ZodError } from "zod";
import { ProblemError } from "../kernel/errors.ts";
import { operatorText } from "../kernel/operator-errors.ts";
import { fieldErrors } from "../kernel/validation.ts";
import { version } from "../version.ts";
import { auditCommand } from "./audit.ts";
import { backupCommand, restoreCommand } from "./backup.ts";
import { blacklistCommand } from "./blacklist-import.ts";
import { bootstrapCommand, ownersCommand } from "./owners.ts";
import { commandsCommand, type CommandsMeans } from "./commands.ts";
import { doctorCommand } from "./doctor.ts";
import { keysCommand } from "./keys.ts";
import { printError, print } from "./output.ts";
import { statusCommand } from "./status.ts";
import { loadConfigOrExit, type Config } from "../config/config.ts";
import { configWarnings } from "../config/warnings.ts";
import { wholeNumber, snowflake } from "./arguments.ts";
import { pino } from "pino";
import { evidencePlaceForm, evidencePlaceName, parseEvidencePlace, type EvidencePlace } from "../config/values.ts";
import { acquireDataLock } from "../database/data-lock.ts";
import { DatabaseError } from "../database/errors.ts";
import { acquireServerLock } from "../database/server-lock.ts";
import { withServices } from "./services.ts";
import { inJson } from "../kit/say.ts";
import { writeFile, chmod, readFile } from "node:fs/promises";
import type { PrivacyService } from "../features/privacy/privacy.service.ts";
import type { Call } from "../kernel/call.ts";
import { requireDone } from "../kernel/held.ts";
import { randomBytes } from "node:crypto";
import { ifMissing } from "../kernel/files.ts";
import { forgetFormerKeys } from "../key-marks.ts";

/** `provost secrets`: fresh keys in the form of the environment, and moving on to one. */
function secretsCommand(): Command {
  return new Command("secrets")
    .description("Print a fresh SECRET_KEY and ENCRYPTION_KEYS, or write them into an .env that only you can read")
    .option("--write <file>", "put them into this file, such as .env; what it has of them already is never replaced")
    .action(async ({ write }: { write?: string }) => {
      const keyId = `k${new Date().toISOString().slice(0, 10).replaceAll("-", "")}`;
      const fresh = { SECRET_KEY: freshKey(), ENCRYPTION_KEYS: `${keyId}:${freshKey()}` };
      if (write === undefined) return print(linesOf(fresh));
      await writeInto(write, fresh);
      print(
        `Wrote ${Object.keys(fresh).join(" and ")} into ${write}, which only you can read. Fill in the rest of it, then run \`npx provost config check\`.`,
      );
    })
    .addCommand(reencryptCommand());
}

/** Progress goes to standard error; what is on standard output is for keeping. */
function reencryptCommand(): Command {
  return new Command("reencrypt")
    .description(
      "Encrypt what is stored again with the first key of ENCRYPTION_KEYS, so that the others can be removed; may be stopped and started again. Restart the service with the new list of keys first",
    )
    .action(async () => {
      const done = await withServices(({ authorization }, call) =>
        authorization.reencrypt(call, ({ column, resealed }) => printError(`${column}: ${resealed.toString()}`)),
      );
      const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
      const unreadable = done.filter((one) => one.unreadable > 0);
      print(`${sum(done.map(({ resealed }) => resealed)).toString()} texts encrypted again with the first key.`);
      if (unreadable.length === 0) {
        const { config, secrets } = loadConfigOrExit();
        forgetFormerKeys({ dataDir: config.dataDir, secrets });
        return print("Nothing needs the other keys any more.");
      }
      const where = unreadable.map((one) => `${one.column} (${one.unreadable.toString()})`).join(", ");
      throw new Error(
        `Some texts open with none of the keys: ${where}. Add the key that they were encrypted with at the end of \`ENCRYPTION_KEYS\`, and run this again.`,
      );
    });
}

const linesOf = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");

/** @throws Error when the file has one of them already: with another key, what is stored could not be read any more */
async function writeInto(path: string, fresh: Readonly<Record<string, string>>): Promise<void> {
  const text = await readFile(path, "utf8").catch(ifMissing(""));
  const isTaken = (name: string): boolean =>
    new RegExp(`^[ \\t]*(export[ \\t]+)?${name}(_FILE)?[ \\t]*=[ \\t]*(?!changeme[ \\t]*\\r?$)[^\\s#]`, "m").test(text);
  const taken = Object.keys(fresh).filter(isTaken);
  if (taken.length > 0) {
    const [it, lines] = taken.length === 1 ? ["it", "that line"] : ["them", "those lines"];
    throw new Error(
      `${path} has ${taken.join(" and ")} already, and what is stored needs ${it}. If nothing is stored yet, delete ${lines} and run the command again.`,
    );
  }
  const isPlaceholder = (line: string): boolean => /^\s*(SECRET_KEY|ENCRYPTION_KEYS)\s*=\s*(changeme)?\s*$/.test(line);
  const kept = text.split("\n").filter((line) => !isPlaceholder(line));
  const body = kept.join("\n").trimEnd();
  await writeFile(path, `${body === "" ? "" : `${body}\n`}${linesOf(fresh)}\n`, { mode: 0o600 });
  await chmod(path, 0o600);
}

function freshKey(): string {
  return randomBytes(32).toString("base64");
}

const idArgument = ["<id>", "Discord id", snowflake] as const;

/** `provost users …`: what is stored of one person, beside a running server or without one. */
function usersCommand(): Command {
  return new Command("users")
    .description("Export or erase what is stored of a person")
    .addCommand(exportCommand())
    .addCommand(eraseCommand())
    .addCommand(unsuppressCommand());
}

function exportCommand(): Command {
  return new Command("export")
    .description("Print everything stored of a person that they may have, as JSON")
    .argument(...idArgument)
    .option("--out <file>", "write it to this file instead, readable by you alone; it must not exist yet")
    .action(async (id: string, { out }: { out?: string }) => {
      const data = await withPrivacy((privacy, call) => privacy.export(call, id));
      const text = inJson(data, 2);
      if (out === undefined) {
        print(text);
        return;
      }
      await writeFile(out, `${text}\n`, { mode: 0o600, flag: "wx" });
      printError(`Written to ${out}.`);
    });
}

function eraseCommand(): Command {
  return new Command("erase")
    .description("Erase a person for good: what they shared, their names, links and staff data, and the details of the audit about them")
    .argument(...idArgument)
    .requiredOption("--reason <text>", "why; kept in the audit")
    .option("--no-suppress", "let them be asked for access again")
    .option("--yes", "do it; without this nothing is erased")
    .action(async (id: string, { reason, suppress, yes }: { reason: string; suppress: boolean; yes?: true }) => {
      if (yes !== true) throw new Error(`Nothing was erased. It cannot be undone: add \`--yes\` to erase ${id}.`);
      const { deleted, kept } = requireDone(await withPrivacy((privacy, call) => privacy.redact(call, id, { reason, suppress })));
      for (const [what, count] of Object.entries(deleted)) if (count > 0) print(`${what}: ${count.toString()}`);
      printError(`${id} is erased. What stays:`);
      for (const line of kept) printError(`- ${line}`);
    });
}

function unsuppressCommand(): Command {
  return new Command("unsuppress")
    .description("Let an erased person be asked for access again")
    .argument(...idArgument)
    .action(async (id: string) => {
      await withPrivacy((privacy, call) => privacy.unsuppress(call, id));
      printError(`${id} can be asked again.`);
    });
}

/** Who is staff is known from the guild state as it was last stored. */
async function withPrivacy<T>(
  work: (privacy: Pick<PrivacyService, "export" | "redact" | "unsuppress">, call: Call) => Promise<T>,
): Promise<T> {
  return await withServices(async ({ guildState, access, privacy }, call) => {
    await guildState.load();
    await access.load();
    return await work(privacy, call);
  });
}

/** `provost evidence …`: where the files of evidence are. */
function evidenceCommand(setExitCode: (code: number) => void): Command {
  return new Command("evidence").description("Look after the files of evidence").addCommand(moveCommand(setExitCode));
}

/** 0 all are there, 1 refused, or some were lost before. */
function moveCommand(setExitCode: (code: number) => void): Command {
  return new Command("move")
    .description("Move the files of evidence to another EVIDENCE_STORE; while a server runs they are only copied, and it can be run again")
    .requiredOption("--to <store>", "folder, database, or s3://<bucket>/<prefix> with the variables EVIDENCE_S3_…", place)
    .action(async ({ to }: { to: EvidencePlace }) => {
      const { config } = loadConfigOrExit();
      const name = evidencePlaceName(to);
      const locks = await lockOut(config);
      try {
        const isStopped = locks !== undefined;
        const { copied, there, lost } = await withServices(({ evidence }) => evidence.moveTo(to, { isStopped, onProgress: printError }));
        print(`${name}: ${copied.toString()} files were copied, ${there.toString()} were there.`);
        for (const sha256 of lost) printError(`The file ${sha256} was not copied: its bytes are gone, or are not those that were kept.`);
        if (lost.length > 0) setExitCode(1);
        printError(
          isStopped
            ? `They are deleted where they were. Set \`EVIDENCE_STORE=${name}\`, and start the server.`
            : "A server runs, so nothing was deleted, and it goes on as before. Stop it and run this again for the rest, which is what came since.",
        );
      } finally {
        for (const lock of locks ?? []) await lock.release();
      }
    });
}

function place(text: string): EvidencePlace {
  const found = parseEvidencePlace(text);
  if (found === undefined) throw new InvalidArgumentError(`It ${evidencePlaceForm}.`);
  return found;
}

/** Keep servers from starting. @returns undefined when one runs */
async function lockOut({ dataDir, database: { url } }: Config): Promise<{ release(): unknown }[] | undefined> {
  const locks: { release(): unknown }[] = [];
  try {
    locks.push(await acquireDataLock(dataDir));
    locks.push(await acquireServerLock({ url, dataDir, logger: pino({ level: "silent" }), onLost: () => undefined }));
    return locks;
  } catch (error) {
    for (const lock of locks) await lock.release();
    if (error instanceof DatabaseError && ["data_locked", "database_served"].includes(error.reason)) return undefined;
    throw error;
  }
}

interface Options {
  once?: true;
  keep?: true;
  members?: number;
}

interface Demo {
  run(argv: string[]): Promise<number | void>;
}

/** `provost demo`: the service against a local Discord. The sandbox is loaded only here. */
function demoCommand(setExitCode: (code: number) => void): Command {
  return new Command("demo")
    .description("Play the main job against a local sandbox of Discord; needs no environment and no account")
    .option("--once", "run unattended, print the transcript and exit, non-zero on any mismatch")
    .option("--keep", "keep running afterwards")
    .option("--members <n>", "members of the seeded community", wholeNumber(1, 1_000_000))
    .action(async ({ once, keep, members }: Options) => {
      const demo: Demo = await import("../../sandbox/demo/index.ts");
      const argv = [once && "--once", keep && "--keep", ...(members === undefined ? [] : ["--members", members.toString()])];
      setExitCode((await demo.run(argv.filter((argument) => argument !== undefined))) ?? 0);
    });
}

/** `provost serve`: the server, the same as `npm start`. */
function serveCommand(): Command {
  return new Command("serve")
    .description("Run the server until it is stopped (SIGTERM or SIGINT)")
    .option("--accept-empty-database", "start with a database that does not belong to DATA_DIR")
    .option("--accept-new-secret-key", "start with another SECRET_KEY than the database was used with")
    .action(async ({ acceptEmptyDatabase, acceptNewSecretKey }: { acceptEmptyDatabase?: true; acceptNewSecretKey?: true }) => {
      const [{ serve }, { acceptFlag }, { acceptKeyFlag }] = await Promise.all([
        import("../server.ts"),
        import("../installation.ts"),
        import("../secret-key.ts"),
      ]);
      await serve([...(acceptEmptyDatabase === true ? [acceptFlag] : []), ...(acceptNewSecretKey === true ? [acceptKeyFlag] : [])]);
    });
}

/** `provost config check`: what the server would start with. */
function configCommand(): Command {
  const check = new Command("check")
    .description("Check the environment and print the settings without secrets; exits with 78 and one line per wrong variable")
    .action(() => {
      const { config, unknown } = loadConfigOrExit();
      print(inJson(config, 2));
      for (const text of [...unknown, ...configWarnings(config)]) printError(text);
      printError("The configuration is valid.");
    });
  return new Command("config").description("Look at the configuration").addCommand(check);
}

/** `provost openapi`: the document a server answers at /openapi.json; needs no environment. */
function openapiCommand(): Command {
  return new Command("openapi").description("Print the OpenAPI document").action(async () => {
    const { openApiDocument } = await import("../app/document.ts");
    print(inJson(openApiDocument(), 2));
  });
}

/** 0 done, 1 refused or failed, 2 wrong usage (for `audit verify`: could not check; for `commands diff`: something differs), 78 refused configuration. */
export const exitCodes = { done: 0, failed: 1, usage: 2 } as const;

/**
 * Run one verb of the command line.
 * @param argv the arguments after the program's own name
 * @param standIns for tests: what `commands` needs from outside
 * @returns the exit code; a refused configuration ends the process with 78 by itself
 */
export async function runCli(argv: readonly string[], standIns: Partial<CommandsMeans> = {}): Promise<number> {
  let exitCode: number = exitCodes.done;
  const program = createProgram((code) => {
    exitCode = code;
  }, standIns);
  try {
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    // Anyone who reads has enough, such as `head`.
    if (error instanceof Error && "code" in error && error.code === "EPIPE") return exitCodes.done;
    explain(error);
    return exitCodes.failed;
  }
}

function createProgram(setExitCode: (code: number) => void, standIns: Partial<CommandsMeans>): Command {
  const program = new Command("provost")
    .description("Moderation backend for Discord communities")
    .version(version, "-V, --version", "Print the version")
    .exitOverride()
    .showHelpAfterError("See `provost --help`.");
  for (const command of [
    serveCommand(),
    secretsCommand(),
    bootstrapCommand(),
    keysCommand(),
    ownersCommand(),
    usersCommand(),
    blacklistCommand(setExitCode),
    evidenceCommand(setExitCode),
    commandsCommand(setExitCode, standIns),
    configCommand(),
    doctorCommand(setExitCode),
    statusCommand(setExitCode),
    openapiCommand(),
    auditCommand(setExitCode),
    backupCommand(setExitCode),
    restoreCommand(),
    demoCommand(setExitCode),
  ])
    program.addCommand(withOverrides(command));
  return program;
}

/** Commander copies settings only to commands it creates itself. */
function withOverrides(command: Command, above = "provost"): Command {
  const line = `${above} ${command.name()}`;
  command.exitOverride().showHelpAfterError(`See \`${line} --help\`.`);
  for (const child of command.commands) withOverrides(child, line);
  return command;
}

/** One plain line for each wrong option, or one for what went wrong. */
function explain(error: unknown): void {
  const wrong = wrongFields(error);
  for (const { field, text } of wrong) printError(`${optionOf(field)}: ${text}`);
  if (wrong.length === 0) printError(operatorText(error) ?? (error instanceof Error ? error.message : String(error)));
}

function wrongFields(error: unknown): { field: string; text: string }[] {
  const errors = error instanceof ZodError ? fieldErrors(error.issues, "body") : error instanceof ProblemError ? error.errors : undefined;
  return (errors ?? []).map(({ pointer, detail }) => ({ field: pointer.split("/")[1] ?? "", text: detail }));
}

/** The option that fills a field, where it is not called the same. */
const optionNames: Readonly<Record<string, string>> = { ip_allowlist: "ip", grace_seconds: "grace" };

function optionOf(field: string): string {
  return `--${optionNames[field] ?? field.replaceAll("_", "-")}`;
}
