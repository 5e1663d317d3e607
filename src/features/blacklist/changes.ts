import type { Database, Tx } from "../../database/database.ts";
import type { BlacklistChange, Prisma, BlacklistRecord } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { toPage, withTotal, type Cursors, type Page } from "../../kernel/page.ts";
import { referenceOf, recordsFor } from "./blacklist.policy.ts";
import { kinds, ListBlacklistChangesQuery, type BlacklistChangeView, type BlacklistView } from "./blacklist.schema.ts";
import { insertRows } from "../../database/insert.ts";
import { textsOf } from "../../kernel/parsing.ts";
import { wordsOf } from "../../kernel/words.ts";

type Texts = Pick<BlacklistRecord, "id" | "reasonPublic" | "reasonInternal" | "revokeReason" | "subjectName" | "tags" | "evidence">;

/** What {@link wordRows} needs of a record. */
export const textColumns = {
  id: true,
  reasonPublic: true,
  reasonInternal: true,
  revokeReason: true,
  subjectName: true,
  tags: true,
  evidence: true,
} as const satisfies Record<keyof Texts, true>;

/** The words by which a record is found; those that stand only in its internal reason are hidden. */
export function wordRows(row: Texts): { recordId: string; word: string; isHidden: boolean }[] {
  const open = wordsOf(openTexts(row).join(" "));
  const known = new Set(open);
  const hidden = wordsOf(row.reasonInternal ?? "").filter((word) => !known.has(word));
  return [
    ...open.map((word) => ({ recordId: row.id, word, isHidden: false })),
    ...hidden.map((word) => ({ recordId: row.id, word, isHidden: true })),
  ];
}

/** Everything that words come from, to tell whether it changed. */
export function textOf(row: Texts): string {
  return JSON.stringify([openTexts(row), row.reasonInternal]);
}

function openTexts({ reasonPublic, revokeReason, subjectName, tags, evidence }: Texts): (string | null)[] {
  return [reasonPublic, subjectName, revokeReason, ...textsOf(tags), ...notesOf(evidence)];
}

function notesOf(evidence: unknown): string[] {
  return Array.isArray(evidence) ? evidence.flatMap((item: { title?: unknown; note?: unknown }) => textsOf([item.title, item.note])) : [];
}

/** After these a record does not count any more. */
const endings: ReadonlySet<string> = new Set(["superseded", "revoked", "expired", "purged"]);

type Filters = Pick<ReturnType<typeof ListBlacklistChangesQuery.parse>, "kind" | "category">;

/** @returns the feed of changes, oldest first, which can be followed without end */
export function createChanges({ database, cursors }: { database: Database; cursors: Cursors }) {
  /** The records as they stood after some changes, by record and revision. */
  async function snapshotsOf(rows: readonly BlacklistChange[]): Promise<Map<string, BlacklistView>> {
    const revisions = new Map<string, number[]>();
    for (const { recordId, revision } of rows) revisions.set(recordId, [...(revisions.get(recordId) ?? []), revision]);
    if (revisions.size === 0) return new Map();
    const wanted = [...revisions].map(([recordId, some]) => ({ recordId, revision: { in: some } }));
    const versions = await database.read.blacklistVersion.findMany({ where: { OR: wanted } });
    return new Map(versions.map((row) => [keyOf(row), row.snapshot as unknown as BlacklistView]));
  }

  return async (call: Call, query: ListBlacklistChangesQuery): Promise<Page<BlacklistChangeView>> => {
    requirePermission(call, "blacklist.read");
    const { limit, cursor, count, ...filters } = ListBlacklistChangesQuery.parse(query);
    const after = cursor === undefined ? 0 : Number(cursors.decode("blacklist_changes", filters, cursor)[0]);
    const parts = partsOf(filters);
    const found = await Promise.all(
      parts.map((part) =>
        database.read.blacklistChange.findMany({ where: { ...part, seq: { gt: after } }, orderBy: { seq: "asc" }, take: limit + 1 }),
      ),
    );
    const rows = found
      .flat()
      .toSorted((a, b) => a.seq - b.seq)
      .slice(0, limit + 1);
    const snapshots = await snapshotsOf(rows);
    const cursorAt = (seq: number): string => cursors.encode("blacklist_changes", filters, [seq, ""]);
    const visible = recordsFor(call);
    const page = toPage(
      rows,
      limit,
      (row) => present(row, snapshots.get(keyOf(row)), filters, visible),
      (last) => cursorAt(last.seq),
    );
    const notes = { resume_cursor: cursorAt(page.data.at(-1)?.seq ?? after) };
    return withTotal({ ...page, notes }, { count }, () =>
      database.read.blacklistChange.count({ where: parts.length > 1 ? { OR: parts } : { AND: parts } }),
    );
  };
}

/**
 * The changes the filters ask for, in parts that an index holds in their order. That a record was purged is told to everybody: nothing
 * is left that says which category it was in.
 */
function partsOf({ kind, category }: Filters): Prisma.BlacklistChangeWhereInput[] {
  if (category === undefined) return [kind === undefined ? {} : { kind }];
  return (kind === undefined ? kinds : [kind]).flatMap((one) => [
    { kind: one, category },
    { kind: one, category: null, what: "purged" },
  ]);
}

function keyOf({ recordId, revision }: { recordId: string; revision: number }): string {
  return `${recordId}:${revision.toString()}`;
}

/** @param snapshot absent when the record was purged, by this change or since */
function present(
  row: BlacklistChange,
  snapshot: BlacklistView | undefined,
  { category }: Filters,
  visible: ReturnType<typeof recordsFor>,
): BlacklistChangeView {
  const hasLeft = snapshot === undefined || (category !== undefined && snapshot.category !== category);
  return {
    seq: row.seq,
    at: row.at.toISOString(),
    change: row.what as BlacklistChangeView["change"],
    retract: hasLeft || endings.has(row.what),
    record_id: row.recordId,
    number: referenceOf(row),
    revision: row.revision,
    record: snapshot === undefined ? null : visible(snapshot),
  };
}

/** Take the locks of the records about a person, in one order: anyone who changes one of them takes its lock before any matches. */
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
    "BlacklistWord",
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
