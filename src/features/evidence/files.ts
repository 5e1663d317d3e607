import { createHash, randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Tx } from "../../database/database.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { fileProblem } from "../../kernel/files.ts";
import { forEachIsolated, requireNoneFailed, type FailedItem, type Isolation } from "../../kernel/isolated.ts";
import { arrivingFolder, olderEntries, prepareFolder } from "./stores/folder.ts";
import type { EvidenceStore, LooseFile } from "./stores/store.ts";

export interface EvidenceFiles {
  /** Where a file is while it arrives. */
  loose: string;
  pin(sha256: string): () => void;
  removeUnless(
    hashes: readonly string[],
    isKept: (hashes: readonly string[]) => Promise<ReadonlySet<string>>,
    removeOne: RemoveOne,
  ): Promise<number>;
  has(sha256: string, bytes: number): Promise<boolean>;
  /**
   * Make ready the store, and the folder in which files arrive.
   * @throws OperatorError naming what cannot be used
   * @returns why the store cannot be reached now; undefined when all is well
   */
  prepare(): Promise<string | undefined>;
  /**
   * Write what arrives to a file of its own. Nothing stays of it when that fails.
   * @throws ProblemError body_too_large beyond `maxBytes`, storage_full, storage_readonly; what the source fails with
   */
  receive(source: Readable, maxBytes: number, signal: AbortSignal): Promise<LooseFile>;
  /**
   * Keep a file; it survives a power loss from then on. Pin it before and until a committed row refers to it.
   * @throws ProblemError storage_busy, storage_full, storage_readonly
   */
  keep(file: LooseFile): Promise<void>;
  /** The bytes of a file, which fail to end when they are not those that were kept; undefined when it is gone or of another size. */
  read(sha256: string, bytes: number, onChanged: () => void): Promise<Readable | undefined>;
  /** Delete old files nothing refers to, and old leftovers. Answers how many. */
  sweep(now: Date, removeUnreferred: (hashes: readonly string[]) => Promise<number>): Promise<number>;
}

/** Files nobody refers to, and leftovers, are deleted once they are this old. */
const graceMs = 3_600_000;

/** Deletes a file, perhaps in a transaction, unless something refers to it. @returns whether it did */
export type RemoveOne = (sha256: string, remove: (tx?: Tx) => Promise<boolean>) => Promise<boolean>;

/** The files of evidence as one process handles them: on their way in, kept in a store, and compared with their hash on their way out. */
export function createEvidenceFiles(dataDir: string, store: EvidenceStore, logger: Isolation<unknown>["logger"]): EvidenceFiles {
  const loose = arrivingFolder(dataDir);
  const pinned = new Map<string, number>();
  const removing = new Map<string, Promise<unknown>>();
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

  /** A file that is kept again waits until it is gone. */
  async function remove(sha256: string, tx?: Tx): Promise<boolean> {
    if (pinned.has(sha256)) return false;
    const removed = store.remove(sha256, tx).finally(() => removing.delete(sha256));
    removing.set(
      sha256,
      removed.catch(() => undefined),
    );
    return removed;
  }

  /**
   * Delete files nothing refers to.
   * @param isKept answers which of some hashes are referred to
   * @param removeOne looks once more, where other processes keep files, too
   */
  async function removeUnless(
    hashes: readonly string[],
    isKept: (hashes: readonly string[]) => Promise<ReadonlySet<string>>,
    removeOne: RemoveOne,
  ): Promise<number> {
    const before = pins;
    const kept = await isKept(hashes);
    // Something was added meanwhile: it may be one of these. The sweep comes again.
    if (pins !== before) return 0;
    let removed = 0;
    const work = async (sha256: string): Promise<void> => {
      if (!kept.has(sha256) && (await removeOne(sha256, (tx) => remove(sha256, tx)))) removed += 1;
    };
    const failure = "a file of evidence nothing refers to was not deleted";
    requireNoneFailed(await forEachIsolated(hashes, work, { logger, failure, idsOf: (sha256) => ({ sha256 }) }));
    return removed;
  }

  return {
    loose,
    pin,
    removeUnless,
    has: store.has,

    async prepare(): Promise<string | undefined> {
      await prepareFolder(dataDir);
      return store.prepare();
    },

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

    async keep(file: LooseFile): Promise<void> {
      await removing.get(file.sha256);
      await store.keep(file);
    },

    async read(sha256: string, bytes: number, onChanged: () => void): Promise<Readable | undefined> {
      const found = await store.read(sha256, bytes);
      return found === undefined ? undefined : verified(found, sha256, onChanged);
    },

    async sweep(now: Date, removeUnreferred: (hashes: readonly string[]) => Promise<number>): Promise<number> {
      const before = new Date(now.getTime() - graceMs);
      let removed = 0;
      const isolation = { logger, failure: "old files of evidence were not all deleted; they are looked for again in ten minutes" };
      const leftover = async (name: string): Promise<void> => {
        await rm(join(loose, name), { force: true });
        removed += 1;
      };
      const failed: FailedItem<unknown>[] = await forEachIsolated(await olderEntries(loose, before), leftover, {
        ...isolation,
        idsOf: (file) => ({ file }),
      });
      const part = async (hashes: readonly string[]): Promise<void> => void (removed += await removeUnreferred(hashes));
      failed.push(...(await forEachIsolated(store.olderThan(before), part, { ...isolation, idsOf: ({ length }) => ({ files: length }) })));
      requireNoneFailed(failed);
      return removed;
    },
  };
}

/** The last piece is held back until the hash is known, so that nobody takes changed bytes for whole ones. */
export function verified(source: Readable, sha256: string, onChanged: () => void): Readable {
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
