import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, unlinkSync } from "node:fs";
import { chmod, mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ProblemError } from "../../kernel/errors.ts";
import { fileProblem, syncToDisk } from "../../kernel/files.ts";
import { fileError } from "../../kernel/operator-errors.ts";

/** A file that is not kept yet. */
export interface LooseFile {
  path: string;
  bytes: number;
  sha256: string;
}

/** The folder of the data folder that the files are in. */
export const evidenceFolder = "evidence";

/** Where the bytes of a piece are, in the data folder and in a backup. */
export const evidencePath = (sha256: string): string => `${evidenceFolder}/${sha256.slice(0, 2)}/${sha256}`;

export type EvidenceStore = ReturnType<typeof createEvidenceStore>;

/** Files nobody refers to, and leftovers, are deleted once they are this old. */
const graceMs = 3_600_000;
const checkedAtOnce = 200;
const hashForm = /^[0-9a-f]{64}$/;

/**
 * The files of evidence, by the SHA-256 of their bytes: equal bytes are there once, and no name a person gave is ever a path.
 * One process uses a folder.
 */
export function createEvidenceStore(dataDir: string) {
  const folder = join(dataDir, evidenceFolder);
  const loose = join(folder, "arriving");
  const pathOf = (sha256: string): string => join(dataDir, evidencePath(sha256));
  const pinned = new Map<string, number>();
  let pins = 0;

  /** Nothing pinned is deleted. @returns ends it */
  function pin(sha256: string): () => void {
    pins += 1;
    pinned.set(sha256, (pinned.get(sha256) ?? 0) + 1);
    return () => {
      const left = (pinned.get(sha256) ?? 1) - 1;
      if (left === 0) pinned.delete(sha256);
      else pinned.set(sha256, left);
    };
  }

  /** Delete files nothing refers to. @param isKept answers which of some hashes are referred to */
  async function removeUnless(
    hashes: readonly string[],
    isKept: (hashes: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Promise<number> {
    const before = pins;
    const kept = await isKept(hashes);
    // Something was added meanwhile: it may be one of these. The sweep comes again.
    if (pins !== before) return 0;
    let removed = 0;
    for (const sha256 of hashes) {
      if (kept.has(sha256) || pinned.has(sha256)) continue;
      try {
        unlinkSync(pathOf(sha256));
        removed += 1;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    }
    return removed;
  }

  async function oldEntries(directory: string, now: Date): Promise<string[]> {
    const old: string[] = [];
    for (const name of await readdir(directory)) {
      const { mtimeMs } = await stat(join(directory, name)).catch(() => ({ mtimeMs: Infinity }));
      if (now.getTime() - mtimeMs > graceMs) old.push(name);
    }
    return old;
  }

  return {
    /** Where a file is while it arrives. */
    loose,
    pin,
    removeUnless,

    /**
     * Make the folder, private to the service, and see that it can be written.
     * @throws Error naming the folder
     */
    async prepare(): Promise<void> {
      const probe = join(loose, `probe-${randomUUID()}`);
      try {
        await mkdir(folder, { mode: 0o700 }).catch(unlessThere);
        await mkdir(loose, { mode: 0o700 }).catch(unlessThere);
        await chmod(folder, 0o700);
        const file = await open(probe, "wx", 0o600);
        await file.close();
        await rm(probe);
      } catch (error) {
        throw fileError(error, { path: folder, variable: "DATA_DIR", kind: "folder" });
      }
    },

    /**
     * Write what arrives to a file of its own. Nothing stays of it when that fails.
     * @throws ProblemError body_too_large beyond `maxBytes`, storage_full, storage_readonly; what the source fails with
     */
    async receive(source: Readable, maxBytes: number, signal: AbortSignal): Promise<LooseFile> {
      const path = join(loose, `capture-${randomUUID()}`);
      const sha256 = createHash("sha256");
      let bytes = 0;
      const meter = new Transform({
        transform(chunk: Buffer, _encoding, done) {
          bytes += chunk.length;
          if (bytes > maxBytes) return done(new ProblemError("body_too_large"));
          sha256.update(chunk);
          done(null, chunk);
        },
      });
      try {
        await pipeline(source, meter, createWriteStream(path, { flags: "wx", mode: 0o600 }), { signal });
      } catch (error) {
        await rm(path, { force: true });
        throw fileProblem(error);
      }
      return { path, bytes, sha256: sha256.digest("hex") };
    },

    /**
     * Move a file to its place; it survives a power loss from then on. Pin it before and until a committed row refers to it.
     * @throws ProblemError storage_full, storage_readonly
     */
    async keep({ path, bytes, sha256 }: LooseFile): Promise<void> {
      const place = pathOf(sha256);
      try {
        const there = await stat(place).catch(() => undefined);
        if (there?.size === bytes) {
          const now = new Date();
          await utimes(place, now, now);
          return await rm(path, { force: true });
        }
        await mkdir(dirname(place), { mode: 0o700 }).catch(unlessThere);
        await syncToDisk(path);
        await rename(path, place);
        await syncToDisk(dirname(place));
      } catch (error) {
        throw fileProblem(error);
      }
    },

    /** The bytes of a file, which fail to end when they are not those that were kept; undefined when it is gone or of another size. */
    async read(sha256: string, bytes: number, onChanged: () => void): Promise<Readable | undefined> {
      if (!hashForm.test(sha256)) return undefined;
      const there = await stat(pathOf(sha256)).catch(() => undefined);
      if (there?.size !== bytes) return undefined;
      return verified(createReadStream(pathOf(sha256)), sha256, onChanged);
    },

    /** Delete old files nothing refers to, and old leftovers. Answers how many. */
    async sweep(now: Date, isKept: (hashes: readonly string[]) => Promise<ReadonlySet<string>>): Promise<number> {
      let removed = 0;
      for (const name of await oldEntries(loose, now)) {
        await rm(join(loose, name), { force: true });
        removed += 1;
      }
      for (const directory of (await readdir(folder)).filter((name) => /^[0-9a-f]{2}$/.test(name))) {
        const old = (await oldEntries(join(folder, directory), now)).filter((name) => hashForm.test(name));
        for (let from = 0; from < old.length; from += checkedAtOnce)
          removed += await removeUnless(old.slice(from, from + checkedAtOnce), isKept);
      }
      return removed;
    },
  };
}

function unlessThere(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
}

/** The last piece is held back until the hash is known, so that nobody takes changed bytes for whole ones. */
function verified(source: Readable, sha256: string, onChanged: () => void): Readable {
  const found = createHash("sha256");
  let held: Buffer | undefined;
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      found.update(chunk);
      const ready = held;
      held = chunk;
      done(null, ready);
    },
    flush(done) {
      if (found.digest("hex") === sha256) return done(null, held);
      onChanged();
      done(new Error("the file is not what was kept"));
    },
  });
  source.on("error", (error) => check.destroy(error));
  check.on("close", () => source.destroy());
  return source.pipe(check);
}
