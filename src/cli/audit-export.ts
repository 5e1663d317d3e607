import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { Command, InvalidArgumentError } from "commander";
import { withServices } from "./services.ts";

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
