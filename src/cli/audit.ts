import { inJson } from "../kit/say.ts";
import { Command, InvalidArgumentError } from "commander";
import { print, printError } from "./output.ts";
import { withServices } from "./services.ts";
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { loadConfigOrExit, readProcessConfig } from "../config/config.ts";
import { installationSigner, readPublicKey, type PublicKey } from "../features/audit/sign.ts";
import type { AuditVerification } from "../features/audit/audit.schema.ts";
import { verifyOutside } from "../features/audit/outside.ts";
import { operatorText } from "../kernel/operator-errors.ts";
import { list, wholeNumber } from "./arguments.ts";

interface VerifyOptions {
  from?: number;
  to?: number;
  checkpoints?: string;
  publicKey?: string[];
  file?: string;
  database?: string;
  backup?: boolean;
  json?: boolean;
}

const position = wholeNumber(1, 999_999_999);
/** Entries between two lines of progress. */
const progressEvery = 50_000;

/** `provost audit verify`: 0 the chain is whole, 1 it was tampered with, 2 it could not be checked. */
function auditVerifyCommand(setExitCode: (code: number) => void): Command {
  return new Command("verify")
    .description("Check every entry of the audit chain; exits with 0 (whole), 1 (tampered with) or 2 (could not be checked)")
    .option("--from <position>", "the first entry to check", position)
    .option("--to <position>", "the last entry to check", position)
    .option("--checkpoints <file>", "the signed positions; by default those of this installation")
    .option("--public-key <keys>", "further keys the positions may be signed with, separated by commas", list)
    .option("--file <export>", "check an export instead of the database")
    .option("--database <file or url>", "check this database instead of the configured one")
    .option("--backup", "the database is a backup: it may end before the newest signed position")
    .option("--json", "print the whole answer as JSON")
    .action(async (options: VerifyOptions) => {
      // Anyone who checks a copy may have no configuration; everybody else is told what is wrong with theirs.
      const place = options.file === undefined && options.database === undefined ? loadConfigOrExit() : configurationIfAny();
      try {
        const answer = await verify(options, place);
        print(options.json === true ? inJson(answer) : inWords(answer));
        if (options.json !== true)
          for (const line of warnings(answer, options.from === undefined && options.to === undefined)) printError(line);
        setExitCode(answer.ok ? 0 : 1);
      } catch (error) {
        printError(operatorText(error) ?? (error instanceof Error ? error.message : String(error)));
        setExitCode(2);
      }
    });
}

type Place = ReturnType<typeof loadConfigOrExit> | undefined;

function configurationIfAny(): Place {
  const reading = readProcessConfig();
  return reading.ok ? reading : undefined;
}

async function verify(options: VerifyOptions, place: Place): Promise<AuditVerification> {
  const { from, to, file, database, publicKey = [], backup } = options;
  if (from !== undefined && to !== undefined && from > to) throw new Error("--from is greater than --to, so there is nothing to check.");
  // One that is not there yet is an installation without signed positions; one that was named is a slip.
  if (options.checkpoints !== undefined) await access(options.checkpoints);
  const checkpoints = options.checkpoints ?? place?.config.auditCheckpoints;
  const own: PublicKey[] = place === undefined ? [] : [installationSigner(place.secrets.secretKey)];
  let next = progressEvery;
  const answer = await verifyOutside({
    from: file === undefined ? { database: addressOf(database ?? place?.config.database.url ?? "") } : { file },
    keys: [...own, ...publicKey.map(readPublicKey)],
    isBackup: backup === true,
    ...(checkpoints !== undefined && { checkpoints }),
    ...(from !== undefined && { first: from }),
    ...(to !== undefined && { last: to }),
    onProgress(entries) {
      if (entries < next) return;
      printError(`${grouped(entries)} entries so far`);
      next += progressEvery;
    },
  });
  if (answer.ok && answer.entries === 0 && from !== undefined) throw new Error(`There is no entry from ${from.toString()} on.`);
  return answer;
}

/** A path alone means a file of SQLite. */
function addressOf(database: string): string {
  return /^(file:|postgres(ql)?:)/.test(database) ? database : `file:${resolve(database)}`;
}

function inWords({ ok, entries, checkpoints, first_bad_seq: seq, kind }: AuditVerification): string {
  if (!ok) return `chain broken at entry ${seq?.toString() ?? "?"}: ${kind ?? "unknown"}`;
  const signed = checkpoints === 1 ? "1 checkpoint" : `${grouped(checkpoints)} checkpoints`;
  return `${grouped(entries)} ${entries === 1 ? "entry" : "entries"}, ${signed}, chain ok`;
}

type Warning = NonNullable<AuditVerification["checkpoint_warnings"]>[number];

const warningTexts: Readonly<Record<Warning["kind"], string>> = {
  other_key: "are signed with a key that is not at hand (--public-key)",
  other_installation: "are of another installation",
  unreadable_line: "cannot be read",
  newer_than_copy: "are newer than the copy",
  restored: "were left behind when a backup was put back",
};

function warnings({ ok, entries, checkpoints, checkpoint_warnings: all = [] }: AuditVerification, isWhole: boolean): string[] {
  const isUnproved = ok && isWhole && entries > 0 && checkpoints === 0;
  const unproved = isUnproved
    ? ["no signed position was compared: a chain that was computed anew would look the same (--checkpoints)"]
    : [];
  const told = all.map(({ kind, count }) => `${grouped(count)} of the signed positions ${warningTexts[kind]}`);
  return [...told, ...unproved];
}

function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

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
        print(inJson(await withServices((services, call) => services.audit.signHead(call))));
        return;
      }
      if (reason === undefined) throw new Error("A reason is needed: add `--reason <text>`.");
      await withServices(async ({ audit }, call) => {
        const { count, since, from, to } = await audit.leftBehind(call);
        printError(`Signed positions the chain does not have: ${count.toString()}, from ${since} on.`);
        printError(`The chain goes on after entry ${to.seq.toString()}; entry ${from.toString()} was signed before.`);
        if (yes !== true) throw new Error("Nothing was accepted. It cannot be undone: add `--yes` if you put a backup back.");
        print(inJson(await audit.acceptRestore(call, { reason })));
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
