import { ProblemError } from "./errors.ts";

/** `If-Match: *` as a revision: whichever there is. */
export const anyRevision = -2;
/** A tag that is none of ours as a revision, which no record has. */
export const noRevision = -1;

/** Whether a record is in the revision a caller means. @param found the stored revision; null if there is no record */
export function isRevision(expected: number | undefined, found: number | null): boolean {
  return expected === undefined || (expected === anyRevision ? found !== null : expected === (found ?? 0));
}

/**
 * Refuse a change that is based on another revision of the record than the stored one. It comes before anything that answers without a
 * change.
 * @param expected the revision the caller read (`If-Match`); undefined if the caller named none
 * @param found the stored revision; null if there is no record
 * @throws ProblemError precondition_failed with `current_etag`
 */
export function requireRevision(expected: number | undefined, found: number | null): void {
  if (isRevision(expected, found)) return;
  throw new ProblemError("precondition_failed", { extra: { current_etag: found === null ? null : `"v${found.toString()}"` } });
}
