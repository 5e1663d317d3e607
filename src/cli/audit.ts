import { Command, InvalidArgumentError } from "commander";
import { auditVerifyCommand } from "./audit-verify.ts";
import { print, printError } from "./output.ts";
import { withServices } from "./services.ts";
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";

/** `provost audit …`: verify, sign and export the chain. */
export function auditCommand(setExitCode: (code: number) => void): Command {
  return new Command("audit")
    .description("Look at the audit chain")
    .addCommand(auditVerifyCommand(setExitCode))
    .addCommand(checkpointCommand())
    .addCommand(auditExportCommand());
}

interface CheckpointOptions {
  afterRestore?: true;
  reason?: string;
  yes?: true;
}

function checkpointCommand(): Command {
  return new Command("checkpoint")
    .description("Sign the head of the audit chain now; prints the newest signed position and the public key")
    .option("--after-restore", "say that a backup was put back: signed positions that the chain lost with it count no longer")
    .option("--reason <text>", "why; kept in the audit and in the file of signed positions")
    .option("--yes", "accept the loss; without this it is only shown")
    .action(async ({ afterRestore, reason, yes }: CheckpointOptions) => {
      if (afterRestore !== true) {
        print(JSON.stringify(await withServices((services, call) => services.audit.signHead(call))));
        return;
      }
      if (reason === undefined) throw new Error("A reason is needed: add `--reason <text>`.");
      await withServices(async ({ audit }, call) => {
        const { count, since, from, to } = await audit.leftBehind(call);
        printError(`Signed positions the chain does not have: ${count.toString()}, from ${since} on.`);
        printError(`The chain goes on after entry ${to.seq.toString()}; entry ${from.toString()} was signed before.`);
        if (yes !== true) throw new Error("Nothing was accepted. It cannot be undone: add `--yes` if you put a backup back.");
        print(JSON.stringify(await audit.acceptRestore(call, { reason })));
      });
    });
}

interface ExportOptions {
  from?: string;
  to?: string;
  out?: string;
}

/** `provost audit export`: the audit as lines of JSON. */
export function auditExportCommand(): Command {
  return new Command("export")
    .description("Write the audit as lines of JSON, oldest first; without times it is complete and can be verified without the database")
    .option("--from <time>", "not before this time (RFC 3339)", time)
    .option("--to <time>", "before this time", time)
    .option("--out <file>", "write it to this file instead, readable by you alone; it must not exist yet")
    .action(async ({ from, to, out }: ExportOptions) => {
      await withServices(async (services, call) => {
        const lines = await services.audit.export(call, { ...(from !== undefined && { from }), ...(to !== undefined && { to }) });
        await pipeline(lines, out === undefined ? process.stdout : createWriteStream(out, { mode: 0o600, flags: "wx" }), {
          end: out !== undefined,
        });
      });
    });
}

function time(text: string): string {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw new InvalidArgumentError("It must be a time such as 2026-11-20T10:00:00Z.");
  return at.toISOString();
}
