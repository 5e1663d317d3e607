import { Command, CommanderError } from "commander";
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
import { configCommand } from "./config.ts";
import { demoCommand } from "./demo.ts";
import { doctorCommand } from "./doctor.ts";
import { evidenceCommand } from "./evidence.ts";
import { keysCommand } from "./keys.ts";
import { openapiCommand } from "./openapi.ts";
import { printError } from "./output.ts";
import { secretsCommand } from "./secrets.ts";
import { serveCommand } from "./serve.ts";
import { statusCommand } from "./status.ts";
import { usersCommand } from "./users.ts";

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
