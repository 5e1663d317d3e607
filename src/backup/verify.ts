import { mkdir, rm, readdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { OperatorError, fileError } from "../kernel/operator-errors.ts";
import type { PublicKey } from "../features/audit/sign.ts";
import { requireEmpty } from "./empty.ts";
import { restorePostgres, runTool } from "./postgres-tools.ts";
import { checkDatabase } from "./check-database.ts";
import { measure } from "./disk.ts";
import { checkpointsName, databaseNames, evidenceHash, Manifest, manifestName, type BackupFile } from "./manifest.ts";
import { partialName } from "./shelf.ts";
import { writeFrom } from "./writer.ts";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";

/** A file of a backup. Its chunks have to be read before the next file is asked for. */
interface Entry {
  name: string;
  chunks: AsyncIterable<Buffer>;
}

/**
 * Every file of a backup, in the order in which it was written; of a plain folder in the order of names.
 * @throws OperatorError when there is no such backup, or when the archive is damaged or cut off
 */
export async function* entriesOf(path: string): AsyncGenerator<Entry, void, void> {
  const found = await stat(path).catch((error: unknown) => {
    throw fileError(error, { path });
  });
  yield* found.isDirectory() ? ofFolder(path) : ofArchive(path);
}

async function* ofFolder(path: string): AsyncGenerator<Entry, void, void> {
  const files = (await readdir(path, { recursive: true, withFileTypes: true })).filter((entry) => !entry.isDirectory());
  for (const file of files.map(({ parentPath, name }) => join(parentPath, name)).toSorted())
    yield { name: relative(path, file), chunks: createReadStream(file, { highWaterMark: 1 << 18 }) };
}

async function* ofArchive(path: string): AsyncGenerator<Entry, void, void> {
  const tar = extract();
  const read = pipeline(createReadStream(path, { highWaterMark: 1 << 18 }), createGunzip(), tar);
  // A failure reaches the reader by the archive; this only keeps it from ending the process before.
  read.catch(() => undefined);
  try {
    for await (const entry of tar) {
      if (entry.header.type === "directory") entry.resume();
      else yield { name: entry.header.name, chunks: wordedFailures(path, entry) };
    }
    await read;
  } catch (error) {
    throw damaged(path, error);
  } finally {
    tar.destroy();
  }
}

/** An archive that ends too early fails where a file of it is read. */
async function* wordedFailures(path: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  try {
    yield* chunks;
  } catch (error) {
    throw damaged(path, error);
  }
}

function damaged(path: string, error: unknown): OperatorError {
  if (error instanceof OperatorError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new OperatorError(`${path} is damaged or was cut off (${why}). Take another backup.`, { cause: error });
}

export interface VerifyOptions {
  /** Keys the signed positions may be signed with. */
  keys?: readonly PublicKey[];
  /** The folder in which the database is unpacked; that of temporary files unless told. */
  scratch?: string;
  /** An empty PostgreSQL database, to put a backup of PostgreSQL into and look at all of it. */
  scratchUrl?: string;
  onProgress?: (text: string) => void;
}

export interface VerifiedBackup {
  manifest: Manifest;
  /** A sentence for each thing that is wrong. */
  problems: string[];
}

/**
 * Look at a whole backup: each file against its hash, the database, the audit chain, and the evidence against the rows that name it.
 * @throws OperatorError when it is none, or cannot be read to its end
 */
export async function verifyBackup(path: string, options: VerifyOptions = {}): Promise<VerifiedBackup> {
  const { scratch = tmpdir(), onProgress = () => undefined } = options;
  const folder = join(scratch, partialName("provost-verify"));
  try {
    await mkdir(folder, { mode: 0o700 });
    onProgress("reading the backup");
    const { manifest, found } = await readAll(path, folder);
    const problems = differences(manifest, found);
    if (problems.length > 0) return { manifest, problems };
    onProgress("checking the database and the audit chain");
    const url = await openableDatabase(manifest, folder, options);
    if (url !== undefined) {
      const checkpoints = found.some(({ name }) => name === checkpointsName) ? join(folder, checkpointsName) : undefined;
      problems.push(
        ...(await checkDatabase({ url, manifest, keys: options.keys ?? [], ...(checkpoints !== undefined && { checkpoints }) })),
      );
    }
    return { manifest, problems };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Only what is looked into is kept on the disk. */
async function readAll(path: string, folder: string): Promise<{ manifest: Manifest; found: BackupFile[] }> {
  const found: BackupFile[] = [];
  let manifest: Manifest | undefined;
  for await (const { name, chunks } of entriesOf(path)) {
    if (name === manifestName) manifest = await readManifest(path, chunks);
    else if (name === checkpointsName || Object.values<string>(databaseNames).includes(name))
      found.push({ name, ...(await writeFrom(chunks, join(folder, name))) });
    else found.push({ name, ...(await measure(chunks)) });
  }
  if (manifest === undefined) throw new OperatorError(`${path} has no manifest, so it is no whole backup. Take another one.`);
  return { manifest, found };
}

const maxManifestBytes = 1 << 29;

/** @throws OperatorError when it is not one this version knows */
async function readManifest(path: string, chunks: Entry["chunks"]): Promise<Manifest> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) if ((bytes += chunk.length) <= maxManifestBytes) parts.push(chunk);
  try {
    return Manifest.parse(JSON.parse(Buffer.concat(parts).toString("utf8")));
  } catch (error) {
    throw new OperatorError(
      `The manifest of ${path} cannot be read by this version. Take another backup, or a newer version of the program.`,
      {
        cause: error,
      },
    );
  }
}

/** What was found against what the manifest says. */
function differences(manifest: Manifest, found: readonly BackupFile[]): string[] {
  const byName = new Map(found.map((file) => [file.name, file]));
  const known = new Set(manifest.files.map(({ name }) => name));
  const problems: string[] = [];
  for (const { name, bytes, sha256 } of manifest.files) {
    const there = byName.get(name);
    if (there === undefined) problems.push(`The file ${name} is missing from the backup.`);
    else if (there.bytes !== bytes || there.sha256 !== sha256)
      problems.push(`The file ${name} is not as it was written: it was changed or damaged.`);
  }
  for (const { name } of found) if (!known.has(name)) problems.push(`The file ${name} is not in the manifest: it was added later.`);
  if (found.length > byName.size) problems.push("The backup has two files of one name.");
  if (!known.has(databaseNames[manifest.dialect])) problems.push("The manifest names no database.");
  const changed = new Set(manifest.evidence.changed);
  for (const { name, sha256 } of manifest.files) {
    const kept = evidenceHash(name);
    if (kept !== undefined && kept !== sha256 && !changed.has(kept))
      problems.push(`The file ${name} is not the evidence that was kept under this hash.`);
  }
  return problems;
}

/** @returns the address of a database that can be looked into; undefined when only the list of a PostgreSQL archive could be read */
async function openableDatabase(
  manifest: Manifest,
  folder: string,
  { scratchUrl, onProgress }: VerifyOptions,
): Promise<string | undefined> {
  const file = join(folder, databaseNames[manifest.dialect]);
  if (manifest.dialect === "sqlite") return `file:${file}`;
  await runTool("pg_restore", ["--list", file]);
  if (scratchUrl === undefined) {
    onProgress?.("the rows of a PostgreSQL backup are only looked at in an empty database: add `--database-url`");
    return undefined;
  }
  await requireEmpty(scratchUrl);
  await restorePostgres(file, scratchUrl);
  return scratchUrl;
}
