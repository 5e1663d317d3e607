import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { pack, type Pack } from "tar-stream";
import { ensureFolder } from "../database/folder.ts";
import { syncToDisk } from "../kernel/files.ts";
import { isThere, measure, syncTree } from "./disk.ts";
import type { BackupFile } from "./manifest.ts";

/** Files that become a backup, one after the other. */
export interface BackupWriter {
  /** Add a file from the disk, or from memory; answers what was written of it. */
  add(name: string, from: Given): Promise<BackupFile>;
  /** Give the backup its name, once all of it is on the disk. */
  finish(): Promise<void>;
  /** Take away what was written so far. */
  discard(): Promise<void>;
}

/** Photographs and videos gain nothing by more work. */
const level = 4;
const modes = { file: 0o600, folder: 0o700 };

/**
 * Begin a backup under a temporary name.
 * @param target its name in the end: a compressed archive, or a plain folder
 */
export function openWriter(target: string, temporary: string, isPlain: boolean): BackupWriter {
  return isPlain ? folderWriter(target, temporary) : archiveWriter(target, temporary);
}

/** What a file is made of. One that is deleted while it is read can still be read to its end. */
interface Content {
  bytes: number;
  chunks: AsyncIterable<Buffer>;
}

type Given = { path: string } | { text: string };

/** @throws Error of the file system when it is not there; then nothing is begun */
async function withContent<T>(from: Given, use: (content: Content) => Promise<T>): Promise<T> {
  if ("text" in from) return await use({ bytes: Buffer.byteLength(from.text), chunks: Readable.from([Buffer.from(from.text)]) });
  const file = await open(from.path, "r");
  try {
    const { size } = await file.stat();
    const chunks = file.createReadStream({ highWaterMark: 1 << 18, autoClose: false }) as AsyncIterable<Buffer>;
    return await use({ bytes: size, chunks });
  } finally {
    await file.close();
  }
}

function archiveWriter(target: string, temporary: string): BackupWriter {
  const tar = pack();
  const written = pipeline(tar, createGzip({ level }), createWriteStream(temporary, { flags: "wx", mode: modes.file }));
  // The next file that is added fails with it; until then nothing listens.
  written.catch(() => undefined);

  return {
    add: (name, from) =>
      withContent(from, async (content) => {
        const sha256 = await Promise.race([fill(tar, name, content), failure(written)]);
        return { name, bytes: content.bytes, sha256 };
      }),
    async finish() {
      tar.finalize();
      await written;
      await syncToDisk(temporary);
      await take(temporary, target);
    },
    async discard() {
      tar.destroy();
      await written.catch(() => undefined);
      await rm(temporary, { force: true });
    },
  };
}

/** Rejects when the archive cannot be written, and stays pending otherwise. */
async function failure(written: Promise<void>): Promise<never> {
  await written;
  throw new Error("the archive was ended before its last file");
}

async function fill(tar: Pack, name: string, { bytes, chunks }: Content): Promise<string> {
  let end: (error?: Error | null) => void = () => undefined;
  const done = new Promise<void>((resolve, reject) => (end = (error) => (error ? reject(error) : resolve())));
  const entry = tar.entry({ name, size: bytes, mode: modes.file, mtime: new Date() }, (error) => end(error));
  const { sha256 } = await measure(chunks, async (chunk) => {
    if (!entry.write(chunk)) await once(entry, "drain");
  });
  entry.end();
  await done;
  return sha256;
}

function folderWriter(target: string, temporary: string): BackupWriter {
  return {
    add: (name, from) =>
      withContent(from, async ({ chunks }) => {
        const path = join(temporary, name);
        await ensureFolder(dirname(path));
        return { name, ...(await writeFrom(chunks, path)) };
      }),
    async finish() {
      await mkdir(temporary, { mode: modes.folder, recursive: true });
      await syncTree(temporary);
      await take(temporary, target);
    },
    discard: () => rm(temporary, { recursive: true, force: true }),
  };
}

/** Write a new file, readable by this account alone. */
export async function writeFrom(chunks: AsyncIterable<Buffer>, path: string): Promise<{ bytes: number; sha256: string }> {
  const file = await open(path, "wx", modes.file);
  try {
    return await measure(chunks, (chunk) => file.writeFile(chunk));
  } finally {
    await file.close();
  }
}

async function take(temporary: string, target: string): Promise<void> {
  // A name that somebody else has given meanwhile is theirs.
  if (await isThere(target)) throw Object.assign(new Error("exists already"), { code: "EEXIST", path: target, syscall: "rename" });
  await rename(temporary, target);
  await syncToDisk(dirname(target));
}
