import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Make a folder and those above it. Node's own recursive form never ends where the file system refuses new entries, as in `/proc`.
 * @throws Error of the file system
 */
export async function ensureFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(folder) === folder) throw error;
    await ensureFolder(dirname(folder));
    await mkdir(folder);
  }
}
