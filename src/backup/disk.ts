import { createHash } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncToDisk } from "../kernel/files.ts";

/** Wait until a folder and everything below it is on the disk. */
export async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    await (entry.isDirectory() ? syncTree(path) : syncToDisk(path));
  }
  await syncToDisk(folder);
}

/** Take a file or a folder away, so that it stays away after a power loss. */
export async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await syncToDisk(dirname(path));
}

export async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

/** Read chunks to their end, and hand each on. @returns how much it was, and its hash */
export async function measure(
  chunks: AsyncIterable<Buffer>,
  handOn: (chunk: Buffer) => Promise<void> = () => Promise.resolve(),
): Promise<{ bytes: number; sha256: string }> {
  const sha256 = createHash("sha256");
  let bytes = 0;
  for await (const chunk of chunks) {
    sha256.update(chunk);
    bytes += chunk.length;
    await handOn(chunk);
  }
  return { bytes, sha256: sha256.digest("hex") };
}
