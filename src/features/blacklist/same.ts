import type { BlacklistRecord } from "../../generated/sqlite/client.ts";

/** The same text for the same content: PostgreSQL keeps the fields of JSON in an order of its own. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner) && !(inner instanceof Date)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** What a record says that a caller without `blacklist.read_confidential` may not even compare. */
const hidden = ["reasonInternal", "exemptUserIds"] as const satisfies readonly (keyof BlacklistRecord)[];
const plain = [
  "subjectName",
  "category",
  "severity",
  "reasonPublic",
  "recommendedAction",
  "memberPolicy",
  "gracePeriod",
  "includeAlts",
] as const satisfies readonly (keyof BlacklistRecord)[];

/** What a line left to the moment at which it is read. */
export interface Untold {
  startsAt: boolean;
  reviewAt: boolean;
}

/**
 * Whether two records of a subject and scope say the same.
 * @param line what a line of an import would make; its end is a point in time
 * @param readsConfidential whether the caller may know of a difference in what is confidential
 */
export function saysTheSame(holder: BlacklistRecord, line: BlacklistRecord, untold: Untold, readsConfidential: boolean): boolean {
  const names = [...plain, ...(readsConfidential ? hidden : [])];
  const isEqual = (name: keyof BlacklistRecord) => comparable(holder[name]) === comparable(line[name]);
  return (
    names.every(isEqual) &&
    comparable(holder.serverIds) === comparable(line.serverIds) &&
    comparable(holder.tags) === comparable(line.tags) &&
    evidenceOf(holder) === evidenceOf(line) &&
    isEqual("expiresAt") &&
    (untold.reviewAt || isEqual("reviewAt")) &&
    (untold.startsAt ? hasBegun(holder, line.startsAt) : isEqual("startsAt"))
  );
}

/** One that two imports make at the same instant may begin a moment after the other one's time. */
function hasBegun({ status, startsAt }: BlacklistRecord, now: Date): boolean {
  return status === "active" || startsAt <= now;
}

/** Lists are sets here. */
function comparable(value: unknown): string {
  return canonical(Array.isArray(value) ? value.map(canonical).toSorted() : value);
}

function evidenceOf({ evidence }: BlacklistRecord): string {
  return comparable((evidence as object[]).map((piece) => ({ kind: "text", ...piece })));
}
