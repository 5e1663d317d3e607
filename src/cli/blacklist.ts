import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { Command, Option } from "commander";
import { importCommand } from "./blacklist-import.ts";
import { printError } from "./output.ts";
import { withServices } from "./services.ts";

/** `provost blacklist …`: records in bulk, beside a running server or without one. */
export function blacklistCommand(setExitCode: (code: number) => void): Command {
  return new Command("blacklist")
    .description("Import and export blacklist records")
    .addCommand(importCommand(setExitCode))
    .addCommand(exportCommand());
}

function exportCommand(): Command {
  return new Command("export")
    .description("Print every blacklist record, in the form in which an import reads it again")
    .addOption(new Option("--format <format>", "csv or ndjson").choices(["csv", "ndjson"] as const).default("csv" as const))
    .option("--out <file>", "write it to this file instead, readable by you alone; it must not exist yet")
    .action(async ({ format, out }: { format: "csv" | "ndjson"; out?: string }) => {
      await withServices(async ({ blacklistTransfer }, call) => {
        const { body } = await blacklistTransfer.export(call, { format });
        if (out === undefined) await pipeline(body, process.stdout, { end: false });
        else {
          await pipeline(body, createWriteStream(out, { mode: 0o600, flags: "wx" }));
          printError(`Written to ${out}.`);
        }
      });
    });
}
