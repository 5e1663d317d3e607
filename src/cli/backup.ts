import { inJson } from "../kit/say.ts";
import { Command } from "commander";
import type { MadeBackup } from "../backup/make.ts";
import { earlierLosses } from "../backup/check-database.ts";
import { sizeText, type Manifest } from "../backup/manifest.ts";
import type { Restored } from "../backup/restore.ts";
import { loadConfigOrExit, readProcessConfig } from "../config/config.ts";
import { installationSigner, readPublicKey } from "../features/audit/sign.ts";
import { list, wholeNumber } from "./arguments.ts";
import { print, printError } from "./output.ts";
import { openInstallation } from "./services.ts";

type SetExitCode = (code: number) => void;

interface BackupCommandOptions {
  to?: string;
  keep?: number;
  plain?: true;
  verify?: true;
  json?: true;
}

/** `provost backup`: 0 made, 1 refused, failed, or made and not all of it is well. */
export function backupCommand(setExitCode: SetExitCode): Command {
  return new Command("backup")
    .description("Make a backup of database, evidence and signed positions; a server may run meanwhile")
    .option("--to <path>", "a file that ends in .tar.gz, or a folder that it goes into under its time; by default BACKUP_DIR")
    .option("--keep <number>", "keep this many backups of the folder, and delete older ones", wholeNumber(1, 1000))
    .option("--plain", "make a folder of files instead of an archive")
    .option("--verify", "look at all of it, before older ones are deleted")
    .option("--json", "print what was made as JSON")
    .action(async ({ to, keep, plain, verify, json }: BackupCommandOptions) => {
      const { config, secrets } = loadConfigOrExit();
      const place = to ?? config.backup.folder;
      if (place === null) throw new Error("Name a place for the backup: add `--to <folder>`, or set `BACKUP_DIR`.");
      const { makeBackup } = await import("../backup/make.ts");
      const made = await makeBackup({
        config,
        evidenceKeys: secrets.evidenceS3,
        to: place,
        isPlain: plain === true,
        ...(keep !== undefined && { keep }),
        ...(verify === true && { verifyWith: [installationSigner(secrets.secretKey)] }),
        onProgress: printError,
      });
      print(json === true ? inJson(madeAsJson(made)) : madeInWords(made));
      const wrong = [...made.problems, ...earlierLosses(made.manifest)];
      for (const line of wrong) printError(line);
      if (wrong.length > 0) setExitCode(1);
    })
    .addCommand(verifyCommand(setExitCode));
}

interface VerifyCommandOptions {
  databaseUrl?: string;
  publicKey?: string[];
  json?: true;
}

function verifyCommand(setExitCode: SetExitCode): Command {
  return new Command("verify")
    .description("Look at a whole backup: every hash, the database, the audit chain, the evidence; exits with 0 (whole) or 1")
    .argument("<backup>", "the archive or the folder")
    .option("--database-url <url>", "an empty PostgreSQL database, to look at the rows of a backup of PostgreSQL, too; it is filled")
    .option("--public-key <keys>", "further keys the signed positions may be signed with, separated by commas", list)
    .option("--json", "print the answer as JSON")
    .action(async (path: string, { databaseUrl, publicKey = [], json }: VerifyCommandOptions) => {
      const reading = readProcessConfig();
      const own = reading.ok ? [installationSigner(reading.secrets.secretKey)] : [];
      const { verifyBackup } = await import("../backup/verify.ts");
      const { manifest, problems } = await verifyBackup(path, {
        keys: [...own, ...publicKey.map(readPublicKey)],
        ...(databaseUrl !== undefined && { scratchUrl: databaseUrl }),
        onProgress: printError,
      });
      const all = [...problems, ...earlierLosses(manifest)];
      if (json === true) print(inJson({ ok: all.length === 0, problems: all, ...summaryOf(manifest) }));
      else if (problems.length === 0) print(`${path} is whole: ${inWords(manifest)}.`);
      if (json !== true) for (const line of all) printError(line);
      if (all.length > 0) setExitCode(1);
    });
}

interface RestoreCommandOptions {
  journal?: string[];
  json?: true;
}

/** `provost restore`: 0 restored, 1 refused or failed. */
export function restoreCommand(): Command {
  return new Command("restore")
    .description("Put a backup into an empty DATA_DIR and an empty database, and apply the deletions made after it")
    .argument("<backup>", "the archive or the folder")
    .option("--journal <files>", "further copies of the journal of deletions, separated by commas", list)
    .option("--json", "print what was done as JSON")
    .action(async (path: string, { journal = [], json }: RestoreCommandOptions) => {
      const { config, secrets } = loadConfigOrExit();
      const { restoreBackup } = await import("../backup/restore.ts");
      const restored = await restoreBackup({
        from: path,
        config,
        secrets,
        journals: journal,
        onProgress: printError,
        async applyJournal() {
          // Deletions are found by hashes that are made with this key: with another one none would be applied.
          const services = await openInstallation({ config, secrets });
          try {
            await services.evidence.adoptRestored({ onProgress: printError });
            return await services.privacy.catchUp();
          } finally {
            await services.close();
          }
        },
      });
      if (json === true) print(inJson({ deletions_applied: restored.deletions, ...summaryOf(restored.manifest) }));
      else for (const line of restoredInWords(restored)) print(line);
      for (const path of restored.cutJournals) printError(cutText(path));
      for (const line of restored.losses) printError(line);
    });
}

/** A line that was never finished is of a deletion that nobody was told is done. */
const cutText = (path: string): string =>
  `${path} ends with half a line, which was left out; all others count. If a server writes it now, stop that server and restore again with the whole file; else there is nothing to do.`;

function restoredInWords({ manifest, deletions, journalLines }: Restored): string[] {
  const journal =
    journalLines === 0
      ? "No journal of deletions was found: if you have one, put it where ERASURE_JOURNAL says before you start the server."
      : `Deletions made after the backup that were applied: ${deletions.toString()}.`;
  return [`Restored: ${inWords(manifest)}.`, journal, "Start the server, and look at `provost audit verify`."];
}

function summaryOf(manifest: Manifest) {
  const { point, program, dialect, migration, audit, files, evidence } = manifest;
  const kept = files.filter(({ name }) => name.startsWith("evidence/"));
  return { point, program, dialect, migration, audit, evidence: { files: kept.length, ...evidence } };
}

function madeAsJson({ path, manifest, problems, removed }: MadeBackup): object {
  return { path, problems, removed, ...summaryOf(manifest) };
}

function madeInWords({ path, manifest, removed }: MadeBackup): string {
  return [`Backup ${path}: ${inWords(manifest)}.`, ...removed.map((one) => `Deleted the older ${one}.`)].join("\n");
}

function inWords({ point, files, audit }: Manifest): string {
  const evidence = files.filter(({ name }) => name.startsWith("evidence/")).length;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return `everything up to ${point}, ${sizeText(bytes)}, ${evidence.toString()} files of evidence, audit up to entry ${(audit?.seq ?? 0).toString()}`;
}
