import { blacklistActions, type BlacklistAction } from "../../src/features/blacklist/side-effects.ts";
import { presentRecord } from "../../src/features/blacklist/blacklist.policy.ts";
import { rowOf } from "../../src/features/blacklist/records.ts";
import { wordRows } from "../../src/features/blacklist/changes.ts";
import type { BlacklistRecord } from "../../src/generated/sqlite/client.ts";
import type { GrowthStore } from "./list.ts";
import { arbitrary, days, few, idOf, oneOf, sentence, snowflake, timeOf } from "./values.ts";

const serversKey = Buffer.alloc(32);

/** Of the oldest ones each has a value that hardly another has; half of the others are active raiders of high severity. */
function recordOf(index: number, rows: number): BlacklistRecord {
  const isRare = index < few;
  const isUsual = arbitrary(index, 2) === 0;
  const at = timeOf(index, rows);
  const status = isRare ? "expired" : isUsual ? "active" : oneOf(["active", "expired", "revoked"], index, 1);
  const isActive = status === "active";
  const row = rowOf(
    at,
    {
      kind: "user",
      subjectId: snowflake(index),
      subjectName: `sailor${(index % 1000).toString()}`,
      scope: "network",
      category: isRare ? "doxxing" : isUsual ? "raid" : oneOf(["scam", "harassment", "hate"], index, 2),
      severity: isRare ? "critical" : isUsual ? "high" : oneOf(["low", "medium"], index, 3),
      reasonPublic: `${sentence(index, 6)}${isRare ? " zeppelin" : ""}${isUsual ? " lantern" : ""}`,
      reasonInternal: `${sentence(index, 4, 1)}${isUsual ? " buoy" : ""}`,
      tags: [oneOf(["trade", "voice", "night"], index, 4)],
      // Half of the records were not looked at when they should have been.
      reviewAt: isUsual ? days(-1) : days(30),
      expiresAt: isRare ? days(-200) : isActive && arbitrary(index, 2, 5) === 0 ? days(200) : null,
      source: "direct",
      createdBy: snowflake(7),
    },
    index + 1,
    serversKey,
  );
  const updatedAt = isRare ? days(1) : arbitrary(index, 2, 6) === 0 ? days(-0.5) : at;
  return {
    ...row,
    id: idOf(index),
    status,
    activeKey: isActive ? row.activeKey : null,
    reviewToldFor: isUsual ? row.reviewAt : null,
    updatedAt,
  };
}

const action: BlacklistAction = "blacklist.create";

export const store: GrowthStore = {
  ordinary: "moderator",
  rowsOf(index, rows) {
    const row = recordOf(index, rows);
    const change = { recordId: row.id, number: row.number, revision: 1, what: blacklistActions[action].what, kind: row.kind };
    return [
      { model: "BlacklistRecord", rows: [row] },
      {
        model: "BlacklistVersion",
        rows: [
          {
            recordId: row.id,
            revision: 1,
            snapshot: presentRecord(row, row.createdAt, new Map()),
            changedBy: row.createdBy,
            changedAt: row.createdAt,
          },
        ],
      },
      { model: "BlacklistWord", rows: wordRows(row) },
      { model: "BlacklistChange", rows: [{ ...change, seq: index + 1, category: row.category, at: row.createdAt }] },
    ];
  },
  counters: (rows) => ({ blacklist: rows, blacklist_changes: rows }),
  lists: [
    {
      path: "/blacklist",
      cases: [
        { query: "" },
        { query: "", isDeep: true },
        { query: "kind=user", note: "all" },
        { query: "kind=server", note: "none" },
        { query: "status=active", note: "two thirds" },
        { query: "status=active", note: "two thirds", isDeep: true },
        { query: "status=scheduled", note: "none" },
        { query: "status=superseded", note: "none" },
        { query: "status=expired", note: "a sixth" },
        { query: "status=revoked", note: "a sixth" },
        { query: "category=raid", note: "half" },
        { query: "category=raid", note: "half", isDeep: true },
        { query: "category=doxxing", note: "five" },
        { query: "category=exploit", note: "none" },
        { query: "severity=high", note: "half" },
        { query: "severity=critical", note: "five" },
        { query: `subject=${snowflake(3)}`, note: "one" },
        { query: "subject=1234567890123456789", note: "none" },
        { query: "review_due=true", note: "half" },
        { query: "review_due=true", note: "half", isDeep: true },
        { query: "review_due=false", note: "half" },
        { query: "review_due=true&severity=low", note: "none" },
        { query: `expires_before=${days(300).toISOString()}`, note: "a third" },
        { query: `expires_before=${days(-100).toISOString()}`, note: "five" },
        { query: `expires_before=${days(-1000).toISOString()}`, note: "none" },
        { query: `changed_since=${days(-0.6).toISOString()}`, note: "half" },
        { query: `changed_since=${days(0.5).toISOString()}`, note: "five" },
        { query: `changed_since=${days(300).toISOString()}`, note: "none" },
        { query: "q=zeppelin", note: "five" },
        { query: "q=lantern", note: "half" },
        { query: "q=buoy", note: "half, in the internal reason" },
        { query: "q=unheard", note: "none" },
        { query: "q=lantern zeppelin", note: "none, half and five" },
        { query: "q=lantern night", note: "a share of half" },
        { query: "q=BL-000003", note: "one" },
        { query: "q=lantern&status=revoked", note: "none, half and a sixth" },
        { query: "status=active&category=doxxing", note: "none, two thirds and five" },
        { query: "status=revoked&category=raid", note: "none, a sixth and half" },
        { query: "severity=low&category=raid", note: "none, a quarter and half" },
        { query: "kind=user&severity=high&status=revoked", note: "none, all, half and a sixth" },
      ],
    },
    {
      path: "/blacklist/changes",
      cases: [
        { query: "" },
        { query: "", isDeep: true },
        { query: "kind=user", note: "all" },
        { query: "kind=server", note: "none" },
        { query: "category=raid", note: "half" },
        { query: "category=doxxing", note: "five" },
        { query: "category=exploit", note: "none" },
      ],
    },
  ],
};
