import type { Tx } from "../../database/database.ts";
import { insertRows } from "../../database/insert.ts";
import { textColumns, wordRows } from "./words.ts";

/** Take the locks of the records about a person, in one order: whoever changes one of them takes its lock before any matches. */
export async function lockRecordsOf(tx: Tx, userId: string): Promise<void> {
  const about = { kind: "user", subjectId: userId };
  const rows = await tx.db.blacklistRecord.findMany({ where: about, select: { id: true }, orderBy: { id: "asc" } });
  for (const { id } of rows) await tx.lock(`blacklist:${id}`);
}

/**
 * Take a person's name out of the records about them: out of the record, its versions and the words it is found by.
 * @param older which records, by when they were made
 * @returns from how many records
 */
export async function dropNamesOf(tx: Tx, userId: string, older: { lte?: Date }): Promise<number> {
  const about = { kind: "user", subjectId: userId, createdAt: older };
  const named = await tx.db.blacklistRecord.findMany({ where: { ...about, subjectName: { not: null } }, select: textColumns });
  const ids = { in: named.map(({ id }) => id) };
  await tx.db.blacklistRecord.updateMany({ where: { id: ids }, data: { subjectName: null } });
  await tx.db.blacklistWord.deleteMany({ where: { recordId: ids } });
  await insertRows(
    tx,
    "blacklist_words",
    named.flatMap((row) => wordRows({ ...row, subjectName: null })),
  );
  const versions = await tx.db.blacklistVersion.findMany({ where: { record: about } });
  for (const { recordId, revision, snapshot } of versions) {
    if (typeof snapshot !== "object" || snapshot === null || Array.isArray(snapshot) || snapshot["subject_snapshot"] === null) continue;
    await tx.db.blacklistVersion.update({
      where: { recordId_revision: { recordId, revision } },
      data: { snapshot: { ...snapshot, subject_snapshot: null } },
    });
  }
  return named.length;
}
