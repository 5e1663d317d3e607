import { isHeld } from "../kernel/held.ts";
import type { Held } from "../kernel/held.ts";
import type { Page } from "../kernel/page.ts";
import { discard, type Exchange, type Reply } from "./exchange.ts";
import { annotated, isConditionalRead, mediaTypesOf, type RawAnswer, type RouteSpec } from "./route.ts";

const json = "application/json";
const noStore = ["Cache-Control", "no-store"] as const;

/** A door's presenter: what its handler answered, as a reply. */
export type Presenter = (exchange: Exchange, answer: unknown) => Reply;

/** @returns the presenter for the shape the route answers in */
export function createPresenter(spec: RouteSpec): Presenter {
  const present = presenterOf(spec);
  if (spec.confirmable !== true) return present;
  return (exchange, answer) => (isHeld(answer) ? presentHeld(answer) : present(exchange, answer));
}

function presenterOf(spec: RouteSpec): Presenter {
  const { success } = spec;
  const { status } = success;
  const isConditional = isConditionalRead(spec);
  switch (success.shape) {
    case "single":
      return (exchange, answer) => presentSingle(exchange, answer, status, isConditional);
    case "list":
      return (exchange, answer) => presentList(exchange, answer as Page<unknown>, status);
    case "flat":
      return (_exchange, answer) => presentFlat(answer, status);
    case "raw":
      return (exchange, answer) => {
        const reply = presentRaw(answer as RawAnswer, status, mediaTypesOf(success)[0]);
        return isConditional ? orNotModified(exchange, reply, (answer as RawAnswer).headers?.["ETag"]) : reply;
      };
  }
}

/** Nothing was changed yet: the change waits at the address in `Location`. */
function presentHeld({ confirmation_required: held }: Held): Reply {
  const body = JSON.stringify({ success: true, code: "confirmation_required", data: held });
  return { status: 202, type: json, body, headers: [...noStore, "Location", `/confirmations/${held.id}`] };
}

function presentSingle(exchange: Exchange, answer: unknown, successStatus: number, isConditional: boolean): Reply {
  const { view, etag = revisionTag(view), status = successStatus } = annotated(answer);
  const headers = etag === undefined ? noStore : [...noStore, "ETag", etag];
  if (isConditional && isKnown(exchange, etag)) return { status: 304, type: json, body: null, headers };
  return { status, type: json, body: `{"success":true,"data":${JSON.stringify(view)}}`, headers };
}

/** The same without its body for a caller that has it. */
function orNotModified(exchange: Exchange, reply: Reply, etag: string | undefined): Reply {
  if (!isKnown(exchange, etag)) return reply;
  discard(reply);
  return { ...reply, status: 304, body: null };
}

function presentFlat(answer: unknown, successStatus: number): Reply {
  const { view, status = successStatus } = annotated(answer);
  return { status, type: json, body: JSON.stringify(view), headers: noStore };
}

function revisionTag(view: unknown): string | undefined {
  if (typeof view !== "object" || view === null || !("revision" in view)) return undefined;
  return typeof view.revision === "number" ? `"v${view.revision}"` : undefined;
}

/** `If-None-Match` compares weakly (RFC 9110 §13.1.2). */
function isKnown({ headers }: Exchange, etag: string | undefined): boolean {
  const known = headers["if-none-match"];
  if (known === undefined || etag === undefined) return false;
  return known.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}

function presentList(exchange: Exchange, page: Page<unknown>, status: number): Reply {
  const body = JSON.stringify({
    success: true,
    data: page.data,
    page: {
      limit: page.limit,
      next_cursor: page.next_cursor,
      has_more: page.next_cursor !== null,
      ...(page.total !== undefined && { total: page.total }),
    },
    meta: { ...(page.meta ?? { as_of: new Date(exchange.now).toISOString(), stale: false }), ...page.notes },
  });
  const headers = page.next_cursor === null ? noStore : [...noStore, "Link", `<${nextAddress(exchange, page.next_cursor)}>; rel="next"`];
  return { status, type: json, body, headers };
}

/** The same list with every parameter but the cursor. */
function nextAddress(exchange: Exchange, cursor: string): string {
  const query = new URLSearchParams(exchange.search);
  query.set("cursor", cursor);
  return `${exchange.path}?${query.toString()}`;
}

function presentRaw(answer: RawAnswer, status: number, mediaType: string): Reply {
  const given = Object.entries(answer.headers ?? {});
  const headers = given.some(([name]) => name.toLowerCase() === "cache-control") ? given : [...given, noStore];
  return { status, type: answer.type ?? mediaType, body: answer.body, headers: headers.flat() };
}
