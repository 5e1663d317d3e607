/**
 * For a change that is to happen only if the record is still as it was read; otherwise the service answers `412 precondition_failed`.
 * @param read a record, or the answer it came in
 * @returns for `params.header`
 */
export function ifMatch(read: { revision: number } | Response): { "If-Match": string } {
  if (!(read instanceof Response)) return { "If-Match": `"v${read.revision.toString()}"` };
  const tag = read.headers.get("etag");
  if (tag === null) throw new TypeError("The answer has no ETag: name the record itself, or the answer of a route that has one");
  return { "If-Match": tag };
}
