import { rowOf } from "../../src/features/blacklist/records.ts";
import type { WorkflowKind } from "../../src/kernel/vocabulary.ts";
import type { GrowthStore } from "./list.ts";
import { arbitrary, few, idOf, oneOf, sentence, snowflake, timeOf } from "./values.ts";

const serversKey = Buffer.alloc(32);

/** A record about a server; those who are not rare are on the blacklist by a third. */
function recordOf(index: number, at: Date) {
  const subject = { kind: "server", subjectId: snowflake(index), scope: "network", category: "raid", severity: "high" } as const;
  return { ...rowOf(at, { ...subject, source: "direct", createdBy: snowflake(7) }, index + 1, serversKey), id: idOf(index, 1) };
}

/** A registered server, perhaps with a record about it, and a suggested request. */
export const store: GrowthStore = {
  ordinary: "senior",
  rowsOf(index, rows) {
    const isRare = index < few;
    const isUsual = !isRare && arbitrary(index, 2) === 0;
    const createdAt = timeOf(index, rows);
    const record = recordOf(index, createdAt);
    const isBlacklisted = !isRare && arbitrary(index, 3, 2) === 0;
    const type: WorkflowKind = isRare ? "appeal" : isUsual ? "punishment" : "blacklist-user";
    return [
      {
        model: "Server",
        rows: [
          {
            id: snowflake(index),
            hash: record.subjectHash,
            name: `${sentence(index, 2)}${isRare ? " zeppelin" : ""}${isUsual ? " lantern" : ""}`,
            status: isRare ? "watched" : isUsual ? "known" : oneOf(["partner", "member"], index, 1),
            contacts: [],
            tags: [],
            createdAt,
            updatedAt: createdAt,
          },
        ],
      },
      ...(isBlacklisted ? [{ model: "BlacklistRecord" as const, rows: [record] }] : []),
      {
        model: "RequestDraft",
        rows: [
          {
            id: idOf(index),
            type,
            payload: {},
            subjectKind: "user",
            subjectId: isUsual ? snowflake(5) : snowflake(index + 100),
            cause: "Points.",
            status: isRare ? "filed" : isUsual ? "open" : "dismissed",
            createdAt,
          },
        ],
      },
    ];
  },
  lists: [
    {
      path: "/servers",
      cases: [
        { query: "" },
        { query: "", isDeep: true },
        { query: "q=zeppelin", note: "five" },
        { query: "q=lantern", note: "half" },
        { query: "q=unheard", note: "none" },
        { query: "status=known", note: "a third" },
        { query: "status=known", note: "a third", isDeep: true },
        { query: "status=watched", note: "five" },
        { query: "status=merged", note: "none" },
        { query: "status=blacklisted", note: "a third" },
        { query: "status=blacklisted", note: "a third", isDeep: true },
        { query: "status=blacklisted&q=lantern", note: "a sixth" },
      ],
    },
    {
      path: "/workflows/drafts",
      cases: [
        { query: "" },
        { query: "", isDeep: true },
        { query: "status=all" },
        { query: "status=all", isDeep: true },
        { query: "status=filed", note: "five" },
        { query: "type=punishment", note: "half" },
        { query: "type=appeal&status=all", note: "five" },
        { query: "type=poach", note: "none" },
        { query: `subject=${snowflake(5)}`, note: "half" },
        { query: `subject=${snowflake(103)}&status=all`, note: "one" },
        { query: "subject=1234567890123456789", note: "none" },
      ],
    },
  ],
};
