import { Command, CommanderError } from "commander";
import { ZodError } from "zod";
import { ProblemError } from "../kernel/errors.ts";
import { auditCommand } from "./audit.ts";
import { blacklistCommand } from "./blacklist-import.ts";
import { bootstrapCommand, ownersCommand } from "./owners.ts";
import { commandsCommand, type CommandsMeans } from "./commands.ts";
import { configCommand } from "./config.ts";
import { demoCommand } from "./demo.ts";
import { keysCommand } from "./keys.ts";
import { openapiCommand } from "./openapi.ts";
import { printError } from "./output.ts";
import { secretsCommand } from "./secrets.ts";
import { serveCommand } from "./serve.ts";
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
    .exitOverride()
    .showHelpAfterError("(add --help for the options)");
  for (const command of [
    serveCommand(),
    secretsCommand(),
    bootstrapCommand(),
    keysCommand(),
    ownersCommand(),
    usersCommand(),
    blacklistCommand(setExitCode),
    commandsCommand(setExitCode, standIns),
    configCommand(),
    openapiCommand(),
    auditCommand(setExitCode),
    demoCommand(setExitCode),
  ])
    program.addCommand(withOverrides(command));
  return program;
}

/** Commander copies settings only to commands it creates itself. */
function withOverrides(command: Command): Command {
  command.exitOverride().showHelpAfterError("(add --help for the options)");
  for (const child of command.commands) withOverrides(child);
  return command;
}

/** One plain line for what went wrong, and one per wrong field. */
function explain(error: unknown): void {
  if (error instanceof ZodError) {
    for (const issue of error.issues) printError(`${issue.path.join("/")}: ${issue.message}`);
    return;
  }
  printError(error instanceof Error ? error.message : String(error));
  if (error instanceof ProblemError) for (const field of error.errors ?? []) printError(`${field.pointer.slice(1)}: ${field.detail}`);
}
