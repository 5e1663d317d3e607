import { createHash } from "node:crypto";
import { readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Config } from "../config/config.ts";
import type { Secrets } from "../config/secrets.ts";
import { acquireDataLock } from "../database/data-lock.ts";
import { dialectOf, sqliteFile } from "../database/dialect.ts";
import { ensureFolder } from "../database/folder.ts";
import { readMigrations } from "../database/migrate-sqlite.ts";
import { placeOf } from "../database/refusals.ts";
import { installationSigner } from "../features/audit/sign.ts";
import { createOutsideStore } from "../features/evidence/stores/create-store.ts";
import { evidenceFolder } from "../features/evidence/stores/folder.ts";
import { createJournal, readJournal } from "../features/privacy/journal/journal.ts";
import { fileError, OperatorError } from "../kernel/operator-errors.ts";
import { syncToDisk } from "../kernel/files.ts";
import { fingerprintOf } from "../secret-key.ts";
import { checkDatabase, earlierLosses } from "./check-database.ts";
import { isThere, syncTree } from "./disk.ts";
import { dropEverything, requireEmpty, requireEmptyFolder } from "./empty.ts";
import { checkpointsName, databaseNames, instanceName, journalName, keyMarksName, type Manifest } from "./manifest.ts";
import { findMarker, removeMarker, writeMarker, type Begun } from "./marker.ts";
import { restorePostgres } from "./postgres-tools.ts";
import { entriesOf, verifyBackup } from "./verify.ts";
import { writeFrom } from "./writer.ts";

export interface RestoreOptions {
  /** The backup. */
  from: string;
  config: Config;
  secrets: Secrets;
  /** Further journals of deletions, beside that of the backups' folder and the configured one. */
  journals?: readonly string[];
  /** Carries out, on the restored database, what the journal says and the database does not know. @returns how many deletions */
  applyJournal: () => Promise<number>;
  onProgress?: (text: string) => void;
}

export interface Restored {
  manifest: Manifest;
  /** Deletions made after the backup that were carried out again. */
  deletions: number;
  /** Lines of the journals that were found; 0: nothing is known of later deletions. */
  journalLines: number;
  /** Journals that end with half a line, which was left out. */
  cutJournals: string[];
  /** What the data folder had lost before the backup was made, in sentences. */
  losses: string[];
}

/**
 * Put a backup into an empty data folder and an empty database. A marker keeps the server from starting until all of it is there; the same call
 * begins a restore that was cut off anew.
 * @throws Error in words for the operator; what was there before is untouched
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { from, config, secrets, onProgress = () => undefined } = options;
  const { dataDir, database } = config;
  const keys = [installationSigner(secrets.secretKey)];
  await requireJournals(options);
  const begun = await findMarker(dataDir);
  const goesOn = begun?.database === placeOf(database.url);
  if (begun === undefined) await requireEmptyFolder(config);
  if (!goesOn) await requireEmpty(database.url);
  const { manifest, problems } = await verifyBackup(from, { keys, onProgress });
  requireWhole(problems, from);
  await requireFits(manifest, config);
  if (begun === undefined) await requireEmptyBucket(manifest, options);
  requireKey(manifest, secrets.secretKey);
  const begin = { from: resolve(from), backup: idOf(manifest), database: placeOf(database.url) };
  requireSame(begun, begin, dataDir);
  const lock = await acquireDataLock(dataDir);
  try {
    await writeMarker(dataDir, begin);
    if (begun !== undefined) await clear(config, goesOn);
    onProgress("writing the database and the evidence");
    await place(options, manifest);
    if (manifest.dialect === "postgres") requireWhole(await checkDatabase({ url: database.url, manifest, keys }), from);
    const journal = await gatherJournal(options);
    onProgress("applying the deletions made after the backup");
    const deletions = await options.applyJournal();
    if (manifest.dialect === "sqlite") await syncToDisk(sqliteFile(database.url));
    await removeMarker(dataDir);
    return { manifest, deletions, ...journal, losses: earlierLosses(manifest) };
  } catch (error) {
    throw fileError(error);
  } finally {
    lock.release();
  }
}

/** A journal that was named and is not there would leave deletions undone. @throws OperatorError that names it */
async function requireJournals({ journals = [] }: RestoreOptions): Promise<void> {
  for (const path of journals)
    await readFile(path).catch((error: unknown) => {
      throw fileError(error, { path });
    });
}

/** @throws OperatorError with the first problem */
function requireWhole([problem]: readonly string[], from: string): void {
  if (problem !== undefined) throw new OperatorError(`${from} is not put back, as it is not whole. ${problem} Take another backup.`);
}

const idOf = (manifest: Manifest): string => createHash("sha256").update(JSON.stringify(manifest)).digest("hex");

/** @throws OperatorError when a restore of another backup was begun here */
function requireSame(begun: Begun | undefined, begin: Begun, dataDir: string): void {
  if (begun === undefined || begun.backup === "" || begun.backup === begin.backup) return;
  throw new OperatorError(
    `The restore of ${begun.from} into ${dataDir} did not finish. Finish it with \`provost restore ${begun.from}\`, or empty the folder and the database first.`,
  );
}

/** @throws OperatorError when it is of the other dialect or of a newer program */
async function requireFits(
  { dialect, migration, program, evidence_store }: Manifest,
  { database: { url }, evidenceStore }: Config,
): Promise<void> {
  const own = dialectOf(url);
  const names = { sqlite: "SQLite", postgres: "PostgreSQL" };
  if (own !== dialect)
    throw new OperatorError(
      `The backup is of ${names[dialect]}, and \`DATABASE_URL\` names a database of ${names[own]}. Name an empty one of ${names[dialect]}.`,
    );
  if (evidence_store === "database" && evidenceStore.kind !== "database")
    throw new OperatorError(
      "The files of evidence are in the database of this backup: set `EVIDENCE_STORE=database` to put it back. `provost evidence move` moves them afterwards.",
    );
  const known = await readMigrations(dialect);
  if (!known.some(({ name }) => name === migration))
    throw new OperatorError(`The backup was made by version ${program}, which is newer than this one. Restore it with that version.`);
}

/** What is in a bucket and in no row would be deleted later, such as what another server has added since. @throws OperatorError when there is something */
async function requireEmptyBucket({ instance: instanceId }: Manifest, { config, secrets }: RestoreOptions): Promise<void> {
  if (config.evidenceStore.kind !== "s3") return;
  const store = createOutsideStore(config.evidenceStore, { config, evidenceKeys: secrets.evidenceS3, instanceId });
  const away = await store.tryOut();
  if (away !== undefined) throw new OperatorError(away);
  for await (const { length } of store.olderThan(new Date(Date.now() + 86_400_000)))
    if (length > 0)
      throw new OperatorError(
        `\`EVIDENCE_STORE\`: ${store.name} has files of evidence. A backup is only put into an empty place: name another prefix.`,
      );
}

/** @throws OperatorError when the API keys, grants and deletions of the backup could not be read with this key */
function requireKey({ secret_key, instance }: Manifest, secretKey: Buffer): void {
  if (secret_key === null || secret_key === fingerprintOf(secretKey, instance)) return;
  throw new OperatorError(
    "`SECRET_KEY` is another one than the backup was made with. Put the one of that installation into `.env`, and run the command again; nothing was put back.",
  );
}

const placesOf = ({ dataDir, auditCheckpoints, database: { url } }: Config, dialect: Manifest["dialect"]): Record<string, string> => ({
  [checkpointsName]: auditCheckpoints,
  [instanceName]: join(dataDir, instanceName),
  [keyMarksName]: join(dataDir, keyMarksName),
  [databaseNames[dialect]]: dialect === "sqlite" ? sqliteFile(url) : join(dataDir, databaseNames.postgres),
});

/** Signed positions in a place of their own outlive a data folder, and prove more than those of the backup. */
const isKeptApart = ({ dataDir, auditCheckpoints }: Config): boolean => !resolve(auditCheckpoints).startsWith(`${resolve(dataDir)}/`);

/** Take away what a restore that was cut off has left. */
async function clear(config: Config, hasOwnDatabase: boolean): Promise<void> {
  const { dataDir, database } = config;
  const dialect = dialectOf(database.url);
  const { [databaseNames[dialect]]: file = "", [checkpointsName]: checkpoints = "", ...places } = placesOf(config, dialect);
  const left = [...Object.values(places), join(dataDir, evidenceFolder), ...(isKeptApart(config) ? [] : [checkpoints])];
  if (dialect === "postgres") left.push(file);
  else if (hasOwnDatabase) left.push(file, `${file}-wal`, `${file}-shm`);
  for (const path of left) await rm(path, { recursive: true, force: true });
  if (dialect === "postgres" && hasOwnDatabase) await dropEverything(database.url);
}

async function place({ from, config }: RestoreOptions, manifest: Manifest): Promise<void> {
  const { dataDir, database } = config;
  const hashes = new Map(manifest.files.map(({ name, sha256 }) => [name, sha256]));
  const places = placesOf(config, manifest.dialect);
  const keepsCheckpoints = isKeptApart(config) && (await isThere(config.auditCheckpoints));
  for await (const { name, chunks } of entriesOf(from)) {
    const hash = hashes.get(name);
    // The manifest itself has no hash; any other file without one was refused before.
    if (hash === undefined || (name === checkpointsName && keepsCheckpoints)) await skip(chunks);
    else await placeFile(places[name] ?? join(dataDir, name), chunks, hash);
  }
  if (manifest.dialect === "postgres") {
    const archive = join(dataDir, databaseNames.postgres);
    await restorePostgres(archive, database.url);
    await rm(archive);
  }
  await ensureFolder(join(dataDir, evidenceFolder));
  await syncTree(join(dataDir, evidenceFolder));
  await syncToDisk(dataDir);
}

async function skip(chunks: AsyncIterable<Buffer>): Promise<void> {
  const rest = chunks[Symbol.asyncIterator]();
  while ((await rest.next()).done !== true);
}

/** A file has its name once all of it is on the disk. */
async function placeFile(path: string, chunks: AsyncIterable<Buffer>, hash: string): Promise<void> {
  const folder = dirname(resolve(path));
  await ensureFolder(folder);
  const partial = `${path}.restoring`;
  await rm(partial, { force: true });
  const { sha256 } = await writeFrom(chunks, partial);
  if (sha256 !== hash) throw new OperatorError(`The backup changed while it was read (${path}). Run the command again.`);
  await syncToDisk(partial);
  await rename(partial, path);
  await syncToDisk(folder);
}

/** Bring together the journals that can be found, as the server reads it. A running server may be writing the others: they stay as they are. */
async function gatherJournal({ from, config, journals = [] }: RestoreOptions): Promise<Pick<Restored, "journalLines" | "cutJournals">> {
  const own = createJournal(config.erasureJournal);
  const { lines } = await own.read();
  const known = new Set(lines.map(({ id }) => id));
  const cutJournals: string[] = [];
  const beside = [join(dirname(resolve(from)), journalName), ...(config.erasureJournalCopy === null ? [] : [config.erasureJournalCopy])];
  for (const path of [...journals, ...beside]) {
    if (!(await isThere(path))) continue;
    const found = await readJournal(path);
    if (found.isCut) cutJournals.push(path);
    const fresh = found.lines.filter(({ id }) => !known.has(id));
    await own.append(fresh);
    for (const { id } of fresh) known.add(id);
  }
  return { journalLines: known.size, cutJournals };
}
