import { Command } from "commander";
import { auditExportCommand } from "./audit-export.ts";
import { auditVerifyCommand } from "./audit-verify.ts";
import { print } from "./output.ts";
import { withServices } from "./services.ts";

/** `provost audit …`: verify, sign and export the chain. */
export function auditCommand(setExitCode: (code: number) => void): Command {
  const checkpoint = new Command("checkpoint")
    .description("Sign the head of the audit chain now; prints the newest signed position and the public key")
    .action(async () => {
      print(JSON.stringify(await withServices((services, call) => services.audit.signHead(call))));
    });
  return new Command("audit")
    .description("Look at the audit chain")
    .addCommand(auditVerifyCommand(setExitCode))
    .addCommand(checkpoint)
    .addCommand(auditExportCommand());
}
