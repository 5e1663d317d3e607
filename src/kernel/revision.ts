import { ProblemError } from "./errors.ts";

/**
 * Refuse a change that is based on another revision of the record than the stored one.
 * @param expected the revision the caller read (`If-Match`); undefined if the caller named none
 * @param found the stored revision; null if there is no record
 * @throws ProblemError precondition_failed with `current_etag`
 */
export function requireRevision(expected: number | undefined, found: number | null): void {
  if (expected === undefined || expected === (found ?? 0)) return;
  throw new ProblemError("precondition_failed", { extra: { current_etag: found === null ? null : `"v${found.toString()}"` } });
}
