import type { Tx } from "../../database/database.ts";
import type { EntryChange } from "./overrides.ts";
import type { Override, AccessDirectory } from "./access/access-directory.ts";

/** The stored entries of one person, whose every change counts one revision. */
export function createUserRows(access: Pick<AccessDirectory, "readOverrides" | "setOverrides">) {
  return {
    /**
     * The entries under their lock, expired ones and a suspension too. Memory has them after the commit, also where they are as wanted.
     * @returns revision 0 where nothing was ever written
     */
    async open(tx: Tx, userId: string): Promise<{ rows: Override[]; revision: number }> {
      await tx.lock(`user-permissions:${userId}`);
      const set = await tx.db.userPermissionSet.findUnique({ where: { userId } });
      const [rows, revision] = [await access.readOverrides(tx.db, userId), set?.revision ?? 0];
      tx.afterCommit(() => access.setOverrides(userId, rows, revision));
      return { rows, revision };
    },

    /** @returns the new revision; memory follows the commit */
    async save(tx: Tx, userId: string, change: EntryChange) {
      await tx.db.userPermission.deleteMany({ where: { id: { in: change.gone.map(({ id }) => id) } } });
      await tx.db.userPermission.createMany({ data: change.fresh.map((entry) => ({ userId, ...entry })) });
      const { revision } = await tx.db.userPermissionSet.upsert({
        where: { userId },
        create: { userId, updatedAt: tx.now },
        update: { revision: { increment: 1 }, updatedAt: tx.now },
      });
      tx.afterCommit(() => access.setOverrides(userId, change.rows, revision));
      return revision;
    },
  };
}
