import { chmod, lstat, mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";

/** What no other account of the machine may do with a file or a folder. */
const others = 0o077;

/**
 * Make a folder and those above it. Node's own recursive form never ends where the file system refuses new entries, as in `/proc`.
 * @throws Error of the file system, also when a file is in its place
 */
export async function ensureFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return requireFolder(folder);
    if (code !== "ENOENT" || dirname(folder) === folder) throw error;
    await ensureFolder(dirname(folder));
    await mkdir(folder, { mode: 0o700 });
  }
}

async function requireFolder(path: string): Promise<void> {
  if (!(await stat(path)).isDirectory()) throw Object.assign(new Error("a file is in its place"), { code: "ENOTDIR", path });
}

/** A path that other accounts of the machine could open, and what became of it. */
export interface Loose {
  path: string;
  /** Whether it is closed now; else it belongs to somebody else, and they have to close it. */
  isMended: boolean;
}

/**
 * Close a folder, and the files right in it, to other accounts of the machine. What lies deeper is behind the folder.
 * @param files further ones, such as a database in another place; what is not there is passed over
 * @returns what was open
 */
export async function keepPrivate(folder: string, files: readonly string[] = []): Promise<Loose[]> {
  return Promise.all((await findLoose(folder, files)).map(mended));
}

/** The folder, and those of its files and of the further ones, that other accounts of the machine can open. */
export async function findLoose(folder: string, files: readonly string[] = []): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return findLooseFiles([folder, ...names.map((name) => join(folder, name)), ...files]);
}

/** Of some files, those that other accounts of the machine can open. */
export async function findLooseFiles(files: readonly string[]): Promise<string[]> {
  if (process.platform === "win32") return [];
  const paths = [...new Set(files.map((path) => normalize(path)))];
  const areLoose = await Promise.all(paths.map(isLoose));
  return paths.filter((_, index) => areLoose[index]);
}

async function isLoose(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found !== undefined && !found.isSymbolicLink() && (found.mode & others) !== 0;
}

async function mended(path: string): Promise<Loose> {
  const isMended = await stat(path)
    .then(({ mode }) => chmod(path, mode & 0o700))
    .then(
      () => true,
      () => false,
    );
  return { path, isMended };
}
