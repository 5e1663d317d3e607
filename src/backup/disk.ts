import { open, readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Wait until a file or a folder is on the disk: a name in a folder is there after a power loss only with the folder. */
export async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Wait until a folder and everything below it is on the disk. */
export async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    await (entry.isDirectory() ? syncTree(path) : sync(path));
  }
  await sync(folder);
}

/** Take a file or a folder away, so that it stays away after a power loss. */
export async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await sync(dirname(path));
}

export async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
