import { createWriteStream } from "node:fs";
import { readFile, rm, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Config } from "../config/config.ts";
import type { S3Keys } from "../config/secrets.ts";
import { parseEvidencePlace } from "../config/values.ts";
import { dialectOf, sqliteFile } from "../database/dialect.ts";
import { ensureFolder } from "../database/folder.ts";
import type { PublicKey } from "../features/audit/sign.ts";
import { createOutsideStore } from "../features/evidence/stores/create-store.ts";
import { evidencePath } from "../features/evidence/stores/folder.ts";
import { ifMissing, syncToDisk } from "../kernel/files.ts";
import { fileError, OperatorError, operatorText } from "../kernel/operator-errors.ts";
import { version } from "../version.ts";
import { isThere } from "./disk.ts";
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
import {
  isEvidenceNamed,
  openSource,
  type NamedEvidence,
  type Source,
  evidenceNamed,
  evidenceNotInside,
  factsOf,
  readSqlite,
  type Facts,
} from "./source.ts";
import { verifyBackup, type VerifyOptions } from "./verify.ts";
import { openWriter, type BackupWriter } from "./writer.ts";
import { databaseRefusal } from "../database/refusals.ts";
import { requireTool, runTool } from "./postgres-tools.ts";

/** What one moment of the database was. */
interface Snapshot extends Facts {
  /** The files of evidence that its rows name, and that are not in it. */
  evidence: NamedEvidence[];
  /** Where they are to be in it, and are not: the hashes of files. */
  missing: string[];
}

async function snapshotOf(source: Source): Promise<Snapshot> {
  const facts = await factsOf(source);
  const isInside = facts.evidence_store === "database";
  return { ...facts, evidence: isInside ? [] : await evidenceNamed(source), missing: isInside ? await evidenceNotInside(source) : [] };
}

/**
 * Copy a database as it is in one moment, beside everything that writes it.
 * @param file where the copy goes: a SQLite database, or an archive of `pg_dump`
 * @throws Error in words for the operator
 */
async function copyDatabase(url: string, file: string): Promise<Snapshot> {
  try {
    return await (dialectOf(url) === "sqlite" ? copySqlite(sqliteFile(url), file) : copyPostgres(url, file));
  } catch (error) {
    throw databaseRefusal(url, error);
  }
}

/**
 * `VACUUM INTO` reads in one transaction, so that writers go on and the copy is of one moment. The online backup of SQLite begins anew whenever
 * another process writes, and with 200 writes a second it never ends. The copy also leaves out free pages, and with them what was deleted.
 */
async function copySqlite(from: string, file: string): Promise<Snapshot> {
  const db = readSqlite(from);
  try {
    db.prepare("VACUUM INTO ?").run(file);
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    db.close();
  }
  await syncToDisk(file);
  const copy = await openSource(`file:${file}`);
  try {
    return await snapshotOf(copy);
  } finally {
    await copy.close();
  }
}

/** The transaction that reads the facts hands its moment on to `pg_dump`. */
async function copyPostgres(url: string, file: string): Promise<Snapshot> {
  const source = await openSource(url);
  try {
    const [server] = await source.query("SELECT current_setting('server_version_num') AS version");
    await requireTool("pg_dump", url, Number(server?.["version"]));
    await source.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const [exported] = await source.query("SELECT pg_export_snapshot() AS id");
    const snapshot = await snapshotOf(source);
    const argv = ["--format=custom", "--no-owner", "--no-privileges", `--snapshot=${String(exported?.["id"])}`, `--file=${file}`];
    await runTool("pg_dump", argv, url);
    await source.query("COMMIT");
    return snapshot;
  } finally {
    await source.close();
  }
}

/**
 * Add to a copy of the journal of deletions what it does not have yet. A line that is being written while this reads is left for the next time; the
 * journal itself is never touched, as a running server writes it.
 * @returns how many lines the copy has
 */
async function growJournalCopy(copy: string, journals: readonly string[]): Promise<number> {
  const kept = await linesOf(copy);
  const before = kept.size;
  for (const journal of journals) for (const line of await linesOf(journal)) kept.add(line);
  if (kept.size === before && before > 0) return before;
  const partial = `${copy}.partial`;
  await writeFile(partial, [...kept].map((line) => `${line}\n`).join(""), { mode: 0o600 });
  await syncToDisk(partial);
  await rename(partial, copy);
  await syncToDisk(dirname(copy));
  return kept.size;
}

async function linesOf(path: string): Promise<Set<string>> {
  const text = await readFile(path, "utf8").catch(ifMissing(""));
  return new Set(
    text
      .slice(0, text.lastIndexOf("\n") + 1)
      .split("\n")
      .filter((line) => line !== ""),
  );
}

export interface BackupOptions {
  config: Pick<Config, "dataDir" | "database" | "auditCheckpoints" | "erasureJournal" | "erasureJournalCopy" | "evidenceS3">;
  /** The keys of the bucket that the evidence is in. */
  evidenceKeys: S3Keys | null;
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
  const { config, evidenceKeys, isPlain = false, keep, verifyWith, onProgress = () => undefined } = options;
  const point = new Date();
  const { folder, path } = placeOf(options, point);
  const temporary = join(folder, partialName(basename(path)));
  try {
    await ensureFolder(folder);
    await removeLeftovers(folder);
    if (await isThere(path)) throw Object.assign(new Error("exists already"), { code: "EEXIST", path });
    const manifest = await write({ config, evidenceKeys, point, temporary, path, isPlain, onProgress });
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

interface Work extends Required<Pick<BackupOptions, "config" | "evidenceKeys" | "isPlain" | "onProgress">> {
  point: Date;
  temporary: string;
  path: string;
}

async function write(work: Work): Promise<Manifest> {
  const { config, evidenceKeys, point, temporary, path, isPlain, onProgress } = work;
  const { database } = config;
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
      const evidence = await addEvidence(writer, files, snapshot, {
        config,
        evidenceKeys,
        loose: join(dirname(path), partialName("evidence")),
        onProgress,
      });
      const { evidence: _named, missing: _missing, ...facts } = snapshot;
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

interface Gathering extends Pick<Work, "config" | "evidenceKeys" | "onProgress"> {
  /** Where a file of a bucket is before it is added. */
  loose: string;
}

async function addEvidence(writer: BackupWriter, files: BackupFile[], snapshot: Snapshot, gathering: Gathering) {
  const { config, onProgress } = gathering;
  const found: Manifest["evidence"] = { deleted: [], missing: snapshot.missing, changed: [] };
  const add = adderOf(writer, snapshot, gathering);
  let live: Source | undefined;
  let bytes = 0;
  try {
    for (const [index, named] of snapshot.evidence.entries()) {
      const { sha256 } = named;
      const file = await add(named);
      if (file === undefined) {
        live ??= await openSource(config.database.url);
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

type Add = (named: NamedEvidence) => Promise<BackupFile | undefined>;

/** Adds a file of evidence from where it is; undefined when it is not there. */
function adderOf(writer: BackupWriter, snapshot: Snapshot, { config, evidenceKeys, loose }: Gathering): Add {
  const place = parseEvidencePlace(snapshot.evidence_store);
  if (place?.kind !== "s3") return ({ sha256 }) => addIfThere(writer, evidencePath(sha256), join(config.dataDir, evidencePath(sha256)));
  const store = createOutsideStore(place, { config, evidenceKeys, instanceId: snapshot.instance });
  return async ({ sha256, bytes }) => {
    const source = await store.read(sha256, bytes);
    if (source === undefined) return undefined;
    try {
      await pipeline(source, createWriteStream(loose, { flags: "wx", mode: 0o600 }));
      return await writer.add(evidencePath(sha256), { path: loose });
    } finally {
      await rm(loose, { force: true });
    }
  };
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
