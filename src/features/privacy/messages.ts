import type { Database } from "../../database/database.ts";
import type { EvidenceItem, Prisma } from "../../generated/sqlite/client.ts";

/** Rows that are looked through together. */
const slice = 500;

/**
 * Captured messages a person wrote, newest first: those the service fetched itself, that were not redacted and are not kept
 * confidential, nor on a record the person may not know of.
 * @param hiddenRequests ids of requests the person may not know of
 */
export async function messagesBy(
  { read, dialect }: Pick<Database, "dialect" | "read">,
  userId: string,
  { hiddenRequests, take }: { hiddenRequests: readonly string[]; take: number },
): Promise<EvidenceItem[]> {
  const isHidden = new Set(hiddenRequests);
  const found: EvidenceItem[] = [];
  for (let before: string | undefined; found.length < take;) {
    const rows = await read.evidenceItem.findMany({
      where: {
        kind: "message",
        isVerified: true,
        isConfidential: false,
        redactedAt: null,
        message: writtenBy(dialect, userId),
        ...(before !== undefined && { id: { lt: before } }),
      },
      orderBy: { id: "desc" },
      take: slice,
    });
    const secret = await confidentialCases(read, rows);
    found.push(...rows.filter((row) => !secret.has(row.recordId) && !isHidden.has(row.recordId)));
    if (rows.length < slice) break;
    before = rows.at(-1)?.id;
  }
  return found.slice(0, take);
}

/** Each database has its own way to name a part of JSON. */
function writtenBy(dialect: Database["dialect"], userId: string): Prisma.JsonNullableFilter {
  const path = dialect === "sqlite" ? "$.author_id" : ["author_id"];
  return { path, equals: userId } as Prisma.JsonNullableFilter;
}

async function confidentialCases(read: Database["read"], rows: readonly EvidenceItem[]): Promise<Set<string>> {
  const ids = rows.flatMap(({ recordKind, recordId }) => (recordKind === "case" ? [recordId] : []));
  const cases = await read.case.findMany({ where: { id: { in: [...new Set(ids)] }, isConfidential: true }, select: { id: true } });
  return new Set(cases.map(({ id }) => id));
}
