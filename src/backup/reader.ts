import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { fileError, OperatorError } from "../kernel/operator-errors.ts";

/** A file of a backup. Its chunks have to be read before the next file is asked for. */
export interface Entry {
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
