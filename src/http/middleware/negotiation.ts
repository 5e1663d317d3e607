import { parseAccept } from "hono/utils/accept";
import { ProblemError } from "../../kernel/errors.ts";
import { header, type RequestInfo } from "../context.ts";
import { apiVersion } from "../headers.ts";

/**
 * Refuse a version or an answer format that is not offered.
 * @param mediaTypes what the route can answer
 * @throws ProblemError unsupported_version or not_acceptable
 */
export function negotiate(request: RequestInfo, mediaTypes: readonly string[]): void {
  const version = header(request, "api-version");
  if (version !== undefined && version.trim().split(".")[0] !== apiVersion) {
    throw new ProblemError("unsupported_version", { detail: `This service speaks version ${apiVersion}.` });
  }
  const { accept } = request.headers;
  if (typeof accept !== "string" || accept === "*/*" || accept === mediaTypes[0]) return;
  if (!mediaTypes.some((mediaType) => accepts(accept, mediaType)))
    throw new ProblemError("not_acceptable", { detail: `This route answers ${mediaTypes.join(" or ")}.` });
}

/** Whether somebody asks for a page rather than for JSON, as browsers do. */
export function prefersHtml({ headers: { accept } }: RequestInfo): boolean {
  if (typeof accept !== "string" || !accept.includes("text/html")) return false;
  const qualities = qualitiesIn(accept);
  return (qualities.get("text/html") ?? 0) > (qualities.get("application/json") ?? 0);
}

/** The most specific range decides, and `q=0` refuses (RFC 9110 §12.5.1). */
function accepts(accept: string, mediaType: string): boolean {
  const [group = ""] = mediaType.split("/");
  const ranges = [mediaType, `${group}/*`, "*/*"];
  const qualities = qualitiesIn(accept);
  for (const range of ranges) {
    const quality = qualities.get(range);
    if (quality !== undefined) return quality > 0;
  }
  return accept.trim() === "";
}

const qualitiesIn = (accept: string): ReadonlyMap<string, number> =>
  new Map(parseAccept(accept.toLowerCase()).map(({ type, q }) => [type, q]));
