import type { ReadClient, Tx } from "../../database/database.ts";
import type { EvidenceStore } from "./store.ts";

export type EvidenceBytes = ReturnType<typeof createEvidenceBytes>;

/** The stored files, as far as rows refer to them. */
export function createEvidenceBytes(store: EvidenceStore, read: ReadClient, onFailed: (error: unknown) => void) {
  const removing = new Set<Promise<unknown>>();

  async function keptOf(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await read.evidenceFile.findMany({
      where: { sha256: { in: [...hashes] }, status: "stored" },
      select: { sha256: true },
      distinct: ["sha256"],
    });
    return new Set(rows.flatMap(({ sha256 }) => (sha256 === null ? [] : [sha256])));
  }

  return {
    keptOf,

    /** Once this transaction is committed, delete the files nothing refers to any more; what fails is left to the sweep. */
    removeLater(tx: Tx, files: readonly { sha256: string | null }[]): void {
      const hashes = [...new Set(files.flatMap(({ sha256 }) => (sha256 === null ? [] : [sha256])))];
      if (hashes.length === 0) return;
      tx.afterCommit(() => {
        const removed: Promise<unknown> = store
          .removeUnless(hashes, keptOf)
          .catch(onFailed)
          .finally(() => removing.delete(removed));
        removing.add(removed);
      });
    },

    /** Settles when nothing is being deleted. */
    drained: async (): Promise<void> => void (await Promise.all(removing)),
  };
}
