import { readFile, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Config } from "../config/config.ts";
import { dialectOf } from "../database/dialect.ts";
import { ensureFolder } from "../database/folder.ts";
import type { PublicKey } from "../features/audit/sign.ts";
import { evidencePath } from "../features/evidence/stores/folder.ts";
import { ifMissing } from "../kernel/files.ts";
import { fileError, OperatorError, operatorText } from "../kernel/operator-errors.ts";
import { version } from "../version.ts";
import { isThere } from "./disk.ts";
import { growJournalCopy } from "./journal-copy.ts";
import {
  checkpointsName,
  databaseNames,
  instanceName,
  journalName,
  keyMarksName,
  manifestName,
  sizeText,
  type BackupFile,
  type Manifest,
} from "./manifest.ts";
import { backupName, partialName, removeLeftovers, thinOut } from "./shelf.ts";
import { copyDatabase, type Snapshot } from "./snapshot.ts";
import { isEvidenceNamed, openSource, type Source } from "./source.ts";
import { verifyBackup, type VerifyOptions } from "./verify.ts";
import { openWriter, type BackupWriter } from "./writer.ts";

export interface BackupOptions {
  config: Pick<Config, "dataDir" | "database" | "auditCheckpoints" | "erasureJournal" | "erasureJournalCopy">;
  /** A file that ends in `.tar.gz`, or a folder that a backup with its time as a name goes into. */
  to: string;
  /** A folder instead of an archive. */
  isPlain?: boolean;
  /** Of the folder's backups, how many stay. */
  keep?: number;
  /** Look at all of it when it is made; signed positions may be signed with these keys. */
  verifyWith?: readonly PublicKey[];
  onProgress?: (text: string) => void;
}

export interface MadeBackup {
  path: string;
  manifest: Manifest;
  /** What is wrong with it, where it was looked at: a sentence for each. */
  problems: string[];
  /** Older ones that were deleted; none where something is wrong with this one. */
  removed: string[];
}

/**
 * Make a backup, beside a running server or without one.
 *
 * The order keeps what belongs together: signed positions first, so that the chain has all of them; then the database; then the evidence, which is
 * written before the row that names it. What is deleted meanwhile is named in the manifest. The journal of deletions comes last, and stands beside
 * the backup.
 * Older ones go last, as this one may not be whole.
 * @throws Error in words for the operator; then nothing that looks like a backup is left
 */
export async function makeBackup(options: BackupOptions): Promise<MadeBackup> {
  const { config, isPlain = false, keep, verifyWith, onProgress = () => undefined } = options;
  const point = new Date();
  const { folder, path } = placeOf(options, point);
  const temporary = join(folder, partialName(basename(path)));
  try {
    await ensureFolder(folder);
    await removeLeftovers(folder);
    if (await isThere(path)) throw Object.assign(new Error("exists already"), { code: "EEXIST", path });
    const manifest = await write({ config, point, temporary, path, isPlain, onProgress });
    await growJournalCopy(join(folder, journalName), [
      config.erasureJournal,
      ...(config.erasureJournalCopy === null ? [] : [config.erasureJournalCopy]),
    ]);
    const problems = verifyWith === undefined ? [] : await problemsOf(path, { keys: verifyWith, scratch: folder, onProgress });
    const isThinned = keep !== undefined && problems.length === 0;
    return { path, manifest, problems, removed: isThinned ? await thinOut(folder, keep) : [] };
  } catch (error) {
    throw fileError(error);
  }
}

/** A backup that cannot be looked at now, such as for want of space, may be whole all the same. */
async function problemsOf(path: string, options: VerifyOptions): Promise<string[]> {
  try {
    return (await verifyBackup(path, options)).problems;
  } catch (error) {
    return [`It could not be looked at: ${operatorText(error) ?? String(error)}`];
  }
}

function placeOf({ to, isPlain = false, keep }: BackupOptions, point: Date): { folder: string; path: string } {
  if (!/\.(tar\.gz|tgz)$/.test(to)) return { folder: resolve(to), path: join(resolve(to), backupName(point, isPlain)) };
  if (isPlain) throw new OperatorError(`${to} is the name of an archive. Name a folder for a plain backup.`);
  if (keep !== undefined) throw new OperatorError(`Older backups can only be counted in a folder. Name a folder instead of ${to}.`);
  return { folder: dirname(resolve(to)), path: resolve(to) };
}

interface Work extends Required<Pick<BackupOptions, "config" | "isPlain" | "onProgress">> {
  point: Date;
  temporary: string;
  path: string;
}

async function write(work: Work): Promise<Manifest> {
  const { config, point, temporary, path, isPlain, onProgress } = work;
  const { dataDir, database } = config;
  const copy = join(dirname(path), partialName("database"));
  const dialect = dialectOf(database.url);
  // Before the writer: what cannot be copied begins no backup.
  const texts = await readTexts(config);
  try {
    onProgress("copying the database");
    const snapshot = await copyDatabase(database.url, copy);
    const writer = openWriter(path, temporary, isPlain);
    try {
      const files: BackupFile[] = [];
      files.push(await writer.add(databaseNames[dialect], { path: copy }));
      onProgress(`database: ${sizeText(files[0]?.bytes ?? 0)}`);
      for (const [name, text] of texts) files.push(await writer.add(name, { text }));
      const evidence = await addEvidence(writer, files, snapshot, { url: database.url, dataDir, onProgress });
      const { evidence: _named, ...facts } = snapshot;
      const said = { program: version, point: point.toISOString(), dialect, ...facts, evidence, files };
      const manifest: Manifest = { format: "provost-backup/1", ...said };
      await writer.add(manifestName, { text: `${JSON.stringify(manifest, null, 2)}\n` });
      await writer.finish();
      return manifest;
    } catch (error) {
      await writer.discard();
      throw error;
    }
  } finally {
    await rm(copy, { force: true });
  }
}

/** Small files of the installation; those that are not there are left out. */
async function readTexts({ dataDir, auditCheckpoints }: Work["config"]): Promise<[string, string][]> {
  const paths = [
    [checkpointsName, auditCheckpoints],
    [instanceName, join(dataDir, instanceName)],
    [keyMarksName, join(dataDir, keyMarksName)],
  ] as const;
  const found: [string, string][] = [];
  for (const [name, path] of paths) {
    const text = await readFile(path, "utf8").catch(ifMissing(undefined));
    // A line that is being written is not signed yet for anybody who reads the copy.
    if (text !== undefined) found.push([name, text.slice(0, text.lastIndexOf("\n") + 1)]);
  }
  return found;
}

const progressEvery = 500;

interface EvidencePlace {
  url: string;
  dataDir: string;
  onProgress: (text: string) => void;
}

async function addEvidence(writer: BackupWriter, files: BackupFile[], snapshot: Snapshot, place: EvidencePlace) {
  const { url, dataDir, onProgress } = place;
  const found: Manifest["evidence"] = { deleted: [], missing: [], changed: [] };
  let live: Source | undefined;
  let bytes = 0;
  try {
    for (const [index, sha256] of snapshot.evidence.entries()) {
      const name = evidencePath(sha256);
      const file = await addIfThere(writer, name, join(dataDir, name));
      if (file === undefined) {
        live ??= await openSource(url);
        found[(await isEvidenceNamed(live, sha256)) ? "missing" : "deleted"].push(sha256);
        continue;
      }
      files.push(file);
      if (file.sha256 !== sha256) found.changed.push(sha256);
      bytes += file.bytes;
      const isLast = index === snapshot.evidence.length - 1;
      if (isLast || index % progressEvery === progressEvery - 1)
        onProgress(`evidence: ${(index + 1).toString()} of ${snapshot.evidence.length.toString()} files, ${sizeText(bytes)}`);
    }
  } finally {
    await live?.close();
  }
  return found;
}

async function addIfThere(writer: BackupWriter, name: string, path: string): Promise<BackupFile | undefined> {
  try {
    return await writer.add(name, { path });
  } catch (error) {
    const { code, path: at } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && at === path) return undefined;
    throw error;
  }
}
