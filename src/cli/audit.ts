import { Command } from "commander";
import { print, printError } from "./output.ts";
import { withServices } from "./services.ts";

/** `provost audit verify`: 0 the chain is whole, 1 it was tampered with, 2 it could not be checked. */
export function auditCommand(setExitCode: (code: number) => void): Command {
  const verify = new Command("verify")
    .description("Check every entry of the audit chain; exits with 0 (whole), 1 (tampered with) or 2 (could not be checked)")
    .action(async () => {
      try {
        const result = await withServices((services, call) => services.audit.verify(call));
        if (result.ok) print(`${result.entries.toString()} entries, chain ok`);
        else print(`chain broken at entry ${result.first_bad_seq?.toString() ?? "?"}: ${result.kind ?? "unknown"}`);
        setExitCode(result.ok ? 0 : 1);
      } catch (error) {
        printError(error instanceof Error ? error.message : String(error));
        setExitCode(2);
      }
    });
  return new Command("audit").description("Look at the audit chain").addCommand(verify);
}
