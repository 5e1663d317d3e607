import type { Database, Tx } from "../../database/database.ts";
import { systemCall } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { EvidenceFiles, RemoveOne } from "./files.ts";

export interface EvidenceBytes {
  removeUnreferred(hashes: readonly string[]): Promise<number>;
  /**
   * In the transaction that refers to files: make sure that no other process has deleted one since it was kept.
   * @throws ProblemError storage_busy when one has: the same request keeps it again
   */
  holdInTx(
    tx: Tx,
    drafts: readonly {
      sha256: string | null;
      bytes: number;
    }[],
  ): Promise<void>;
  /** Once this transaction is committed, delete the files nothing refers to any more; what fails is left to the sweep. */
  removeLater(
    tx: Tx,
    rows: readonly {
      sha256: string | null;
    }[],
  ): void;
  /** Settles when nothing is being deleted. */
  drained(): Promise<void>;
}

interface BytesDeps {
  files: EvidenceFiles;
  database: Pick<Database, "read" | "write">;
  /** Whether other processes keep and delete files, too. */
  isShared: boolean;
  onFailed: (error: unknown) => void;
}

const lockOf = (sha256: string): string => `evidence:${sha256}`;

/** The stored files, as far as rows refer to them. */
export function createEvidenceBytes({ files, database, isShared, onFailed }: BytesDeps): EvidenceBytes {
  const running = new Set<Promise<unknown>>();

  async function keptOf(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await database.read.evidenceFile.findMany({
      where: { sha256: { in: [...hashes] }, status: "stored" },
      select: { sha256: true },
      distinct: ["sha256"],
    });
    return new Set(rows.flatMap(({ sha256 }) => (sha256 === null ? [] : [sha256])));
  }

  /** Delete those of some files that nothing refers to. Answers how many. */
  const removeUnreferred = (hashes: readonly string[]): Promise<number> =>
    files.removeUnless(hashes, keptOf, isShared ? removeAlone : (_sha256, remove) => remove());

  /** Whoever holds the lock of a file sees, outside of the transaction, what the others have committed; nobody refers to it meanwhile. */
  const removeAlone: RemoveOne = (sha256, remove) =>
    database.write(systemCall("job", uuid7()), async (tx) => {
      await tx.lock(lockOf(sha256));
      return !(await keptOf([sha256])).has(sha256) && (await remove(tx));
    });

  return {
    removeUnreferred,

    async holdInTx(tx: Tx, drafts: readonly { sha256: string | null; bytes: number }[]): Promise<void> {
      if (!isShared) return;
      const held = drafts.flatMap(({ sha256, bytes: size }) => (sha256 === null ? [] : [{ sha256, size }]));
      await tx.lock(...held.map(({ sha256 }) => lockOf(sha256)).toSorted());
      for (const { sha256, size } of held) if (!(await files.has(sha256, size))) throw new ProblemError("storage_busy", { retryAfter: 1 });
    },

    removeLater(tx: Tx, rows: readonly { sha256: string | null }[]): void {
      const hashes = [...new Set(rows.flatMap(({ sha256 }) => (sha256 === null ? [] : [sha256])))];
      if (hashes.length === 0) return;
      tx.afterCommit(() => {
        const removed: Promise<unknown> = removeUnreferred(hashes)
          .catch(onFailed)
          .finally(() => running.delete(removed));
        running.add(removed);
      });
    },

    drained: async (): Promise<void> => void (await Promise.all(running)),
  };
}
