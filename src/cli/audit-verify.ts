import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { Command } from "commander";
import { loadConfigOrExit, readProcessConfig } from "../config/config.ts";
import { installationSigner, readPublicKey, type PublicKey } from "../features/audit/sign.ts";
import type { AuditVerification } from "../features/audit/audit.schema.ts";
import { verifyOutside } from "../features/audit/outside.ts";
import { operatorText } from "../kernel/operator-errors.ts";
import { list, wholeNumber } from "./arguments.ts";
import { print, printError } from "./output.ts";

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
export function auditVerifyCommand(setExitCode: (code: number) => void): Command {
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
        print(options.json === true ? JSON.stringify(answer) : inWords(answer));
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
