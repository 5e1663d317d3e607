import { inJson } from "../kit/say.ts";
import { parseAccept } from "hono/utils/accept";
import { isHeld, type Held } from "../kernel/held.ts";
import type { Page } from "../kernel/page.ts";
import { discard, type Reply, type RequestInfo } from "./context.ts";
import { annotated, isConditionalRead, mediaTypesOf, type RawAnswer, type RouteSpec } from "../operations/route.ts";

const json = "application/json";
const noStore = { "cache-control": "no-store" } as const;

/** A route's presenter: what its handler answered, as a reply. */
export type Presenter = (request: RequestInfo, answer: unknown) => Reply;

/** @returns the presenter for the shape the route answers in */
export function createPresenter(spec: RouteSpec): Presenter {
  const present = presenterOf(spec);
  if (spec.confirmable !== true) return present;
  return (request, answer) => (isHeld(answer) ? presentHeld(answer) : present(request, answer));
}

function presenterOf(spec: RouteSpec): Presenter {
  const { success } = spec;
  const { status } = success;
  const isConditional = isConditionalRead(spec);
  switch (success.shape) {
    case "single":
      return (request, answer) => presentSingle(request, answer, status, isConditional);
    case "list":
      return (request, answer) => presentList(request, answer as Page<unknown>, status);
    case "flat":
      return (_request, answer) => presentFlat(answer, status);
    case "raw":
      return (request, answer) => {
        const reply = presentRaw(request, answer as RawAnswer, status, mediaTypesOf(success)[0]);
        return isConditional ? orNotModified(request, reply) : reply;
      };
  }
}

/** Nothing was changed yet: the change waits at the address in `Location`. */
function presentHeld({ confirmation_required: held }: Held): Reply {
  const body = inJson({ success: true, code: "confirmation_required", data: held });
  return { status: 202, type: json, body, headers: { ...noStore, location: `/confirmations/${held.id}` } };
}

function presentSingle(request: RequestInfo, answer: unknown, successStatus: number, isConditional: boolean): Reply {
  const { view, etag = revisionTag(view), status = successStatus } = annotated(answer);
  const headers = etag === undefined ? noStore : { ...noStore, etag };
  if (isConditional && isKnown(request, etag)) return { status: 304, type: json, body: null, headers };
  return { status, type: json, body: `{"success":true,"data":${inJson(view)}}`, headers };
}

/** The same without its body for a caller that has it. */
function orNotModified(request: RequestInfo, reply: Reply): Reply {
  if (!isKnown(request, reply.headers["etag"])) return reply;
  discard(reply);
  return { ...reply, status: 304, body: null };
}

/** A page's answer that is no page but a file. */
export function presentFile(request: RequestInfo, answer: RawAnswer & { type: string }): Reply {
  return orNotModified(request, presentRaw(request, answer, 200, answer.type));
}

function presentFlat(answer: unknown, successStatus: number): Reply {
  const { view, status = successStatus } = annotated(answer);
  return { status, type: json, body: inJson(view), headers: noStore };
}

function revisionTag(view: unknown): string | undefined {
  if (typeof view !== "object" || view === null || !("revision" in view)) return undefined;
  return typeof view.revision === "number" ? `"v${view.revision}"` : undefined;
}

/** `If-None-Match` compares weakly (RFC 9110 §13.1.2). */
function isKnown({ headers }: RequestInfo, etag: string | undefined): boolean {
  const known = headers["if-none-match"];
  if (typeof known !== "string" || etag === undefined) return false;
  return known.split(",").some((tag) => tag.trim() === "*" || strong(tag.trim()) === strong(etag));
}

const strong = (tag: string): string => tag.replace(/^W\//, "");

function presentList(request: RequestInfo, page: Page<unknown>, status: number): Reply {
  const body = inJson({
    success: true,
    data: page.data,
    page: {
      limit: page.limit,
      next_cursor: page.next_cursor,
      has_more: page.next_cursor !== null,
      ...(page.total !== undefined && { total: page.total }),
    },
    meta: { ...(page.meta ?? { as_of: new Date(request.now).toISOString(), stale: false }), ...page.notes },
  });
  const headers = page.next_cursor === null ? noStore : { ...noStore, link: `<${nextAddress(request, page.next_cursor)}>; rel="next"` };
  return { status, type: json, body, headers };
}

/** The same list with every parameter but the cursor. */
function nextAddress(request: RequestInfo, cursor: string): string {
  const query = new URLSearchParams(request.search);
  query.set("cursor", cursor);
  return `${request.path}?${query.toString()}`;
}

function presentRaw({ headers: asked }: RequestInfo, answer: RawAnswer, status: number, mediaType: string): Reply {
  const given = Object.entries(answer.headers ?? {}).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const headers = { ...noStore, ...Object.fromEntries(given) };
  const type = answer.type ?? mediaType;
  if (answer.gzip === undefined || !takesGzip(asked["accept-encoding"])) return { status, type, body: answer.body, headers };
  return { status, type, body: answer.gzip, headers: { ...headers, "content-encoding": "gzip" } };
}

function takesGzip(header: string | string[] | undefined): boolean {
  return typeof header === "string" && parseAccept(header).some(({ type, q }) => type === "gzip" && q > 0);
}
