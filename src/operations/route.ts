import { hash } from "node:crypto";
import type { Readable } from "node:stream";
import type { z } from "zod";
import type { Call } from "../kernel/call.ts";
import type { ProblemCode } from "../kernel/errors.ts";
import type { Held } from "../kernel/held.ts";
import type { Page } from "../kernel/page.ts";
import type { PermissionKey, RoutePermission } from "../kernel/permissions.ts";

/**
 * Who may call the route. `permission` may hold `{param}` placeholders, filled from the path (lower-cased, `_` as `-`).
 * `also` is a second permission that is needed besides, such as that of the record something hangs on.
 * `own` names the path parameter of the person whose own data this is: being that person stands in for the permission.
 * `either` names further permissions of which one does as well where an acting user is named: the service method asks for the one it needs.
 * `personal`: every acting user passes if the key holds one of them; the service method finds out whether it is their own matter.
 * `itself` names the path parameter of an API key: that key needs no acting user.
 * A public route with optional credentials still refuses wrong ones; without any, its call has neither client nor actor.
 */
export type Access =
  | { public: true; credentials?: "optional" }
  | {
      permission: RoutePermission;
      either?: readonly RoutePermission[];
      also?: PermissionKey;
      own?: string;
      personal?: true;
      itself?: string;
    };

/** The parameters of a path, as sent. */
export type PathParams = Readonly<Record<string, string>>;
export type Method = "get" | "post" | "put" | "patch" | "delete";
export type LimitClass = "read" | "write" | "authorize" | "export";

/** `single` and `list` get the envelope, `flat` leaves as it is, `raw` is anything that is not JSON. */
export type Shape = "single" | "list" | "flat" | "raw";

/** A view with what its answer carries besides it. */
export interface Annotated<View> {
  readonly [annotation]: { etag?: string; status?: number };
  view: View;
}
const annotation = Symbol("annotation");

/** Answer `view` with `ETag: "<tag>"`; views with a numeric `revision` are tagged `"v<revision>"` without it. */
export function withEtag<View>(view: View, tag: string): Annotated<View> {
  return { [annotation]: { etag: `"${tag}"` }, view };
}

/** For views that show more than their record, such as names from Discord: the tag changes with either, and `If-Match` reads the revision. */
export function withContentEtag<View extends { revision: number }>(view: View): Annotated<View> {
  return withEtag(view, `v${view.revision}-${hash("sha256", JSON.stringify(view), "base64url").slice(0, 16)}`);
}

/** Answer `view` with one of the route's `otherStatuses`. */
export function withStatus<View>(view: View, status: number): Annotated<View> {
  return { [annotation]: { status }, view };
}

/** Take a handler's answer apart; a bare view has no annotations. */
export function annotated(answer: unknown): { view: unknown; etag?: string; status?: number } {
  if (typeof answer !== "object" || answer === null || !(annotation in answer)) return { view: answer };
  const { [annotation]: notes, view } = answer as Annotated<unknown>;
  return { view, ...notes };
}

/** An answer that is not JSON: a file, an export, a stream of events. A body nobody reads to its end is destroyed. */
export interface RawAnswer {
  /** The media type; the first one of the route by default. */
  type?: string;
  headers?: Readonly<Record<string, string>>;
  body: string | Buffer | Readable;
  /** The same, compressed beforehand, for clients that take it. */
  gzip?: Buffer;
}

type Answers<View> = {
  single: View | Annotated<View>;
  list: Page<View>;
  flat: View | Annotated<View>;
  raw: RawAnswer;
};

/** How a route takes a file. */
export interface UploadSpec {
  /** The name of the part that is the file. */
  field: string;
  /** The text fields beside it; what they parse to counts as the body. */
  fields: z.ZodObject;
  /** The most bytes the file holds. */
  maxBytes: () => number;
  /** Where the file is kept while the request is answered. */
  folder: () => string;
}

/** A file that came with a request. It is deleted when the request is answered, unless it was moved away. */
export interface UploadedFile {
  path: string;
  /** As the client says; neither a path nor free of odd characters. */
  name: string;
  bytes: number;
  /** Hexadecimal. */
  sha256: string;
}

/** The most bytes a body holds, unless the route says. */
export const bodyLimit = 256 * 1024;

export interface RequestSpec<Params extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType> {
  params?: Params;
  query?: Query;
  body?: Body;
  /** Refuses what the schema lets pass and the service method does not, by the content alone. @throws ZodError */
  understand?: (body: z.output<Body>) => void;
  /** A request without a body counts as `{}`: for bodies whose fields are all optional. */
  bodyOptional?: boolean;
  /** The most bytes a body holds; `bodyLimit` unless said. */
  bodyLimit?: number;
  /** Lists of the body whose entries the service judges one by one: no entry refuses the others, whatever it holds. */
  byLine?: readonly string[];
  /** A body of this media type, in UTF-8, counts as `{ [field]: text }`. */
  textBody?: { type: "text/csv"; field: string };
  /** A `multipart/form-data` body with one file is taken, too. */
  upload?: UploadSpec;
  /** An example of the body for the document. */
  example?: unknown;
}

export interface SuccessSpec<Kind extends Shape, View extends z.ZodType> {
  status: 200 | 201 | 202;
  shape: Kind;
  /** Of the view, of one entry of the list, or of the whole flat body. */
  schema: View;
  /** Of a list: further members of its `meta`. */
  notes?: z.ZodObject;
  description: string;
  example?: unknown;
  /** Further statuses that answer the same schema, each with what it means. */
  otherStatuses?: Readonly<Record<number, string>>;
  /** The media type of a raw answer, or the ones it can have: then each answer says which. */
  mediaType?: string | readonly string[];
  /** Whether a raw answer has an `ETag` and can be 304; single ones always have one. */
  hasEtag?: true;
}

/** One JSON operation: its rights, its limits, its schemas and what it does. */
export interface Operation<
  Kind extends Shape,
  View extends z.ZodType,
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
> extends OperationSpec<Kind, View, Params, Query, Body> {
  /** Gets the parsed request and answers the view, the page of views or the flat body. */
  handle: (input: RouteInput<Params, Query, Body>) => Promise<Answers<z.output<View>>[Kind] | Held>;
}

interface OperationSpec<
  Kind extends Shape = Shape,
  View extends z.ZodType = z.ZodType,
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
> {
  summary: string;
  description?: string;
  access: Access;
  /** Whether passing counts as a write: needs an acting user and fresh guild state. Every method but GET does unless said. */
  write?: boolean;
  /** A health probe is neither kept waiting nor refused while the service shuts down, nor limited unless it says how. */
  probe?: boolean;
  /** `read` for GET and `write` for the rest, unless said; none for a probe. */
  limit?: LimitClass;
  /** A further key of the limit, such as the person a call is about; asked after the request is parsed. */
  limitSubject?: (input: RouteInput<Params, Query, Body>) => string;
  /** The optional capability this route belongs to, such as `callsigns.next`. */
  capability?: string;
  request?: RequestSpec<Params, Query, Body>;
  success: SuccessSpec<Kind, View>;
  /** Whether the service method may hold its change back until it is confirmed: `202 confirmation_required`. */
  confirmable?: boolean;
  /** Said where `precondition_failed` is about something else than the revision in `If-Match`. */
  comparesRevision?: false;
  /** Problem codes this route can answer with beyond those every route has. */
  refusals?: readonly ProblemCode[];
}

/** What a handler gets: who asks, and the parsed parts of the request. */
export interface RouteInput<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
> {
  call: Call;
  params: z.output<Params>;
  query: z.output<Query>;
  body: z.output<Body>;
  /** The file of a multipart body. */
  file: UploadedFile | undefined;
  /** The revision of `If-Match: "v7"`; undefined when absent, 0 for a record that is not there yet (`If-None-Match: *`), `anyRevision` for `*`, `noRevision` for a tag that is none of ours. */
  ifMatch: number | undefined;
  ifNoneMatch: string | undefined;
  /** Where a client that follows a stream stood when it was cut off. */
  lastEventId: string | undefined;
}

/** What a route can answer with, the usual first. */
export function mediaTypesOf({ shape, mediaType = "application/octet-stream" }: RouteSpec["success"]): readonly [string, ...string[]] {
  if (shape !== "raw") return ["application/json"];
  const [first = "application/octet-stream", ...rest] = typeof mediaType === "string" ? [mediaType] : mediaType;
  return [first, ...rest];
}

/** Whether asking takes a token of a limit. */
export function isLimited({ probe, limit }: RouteSpec): boolean {
  return probe !== true || limit !== undefined;
}

/** Whether a write happens only in the revision that `If-Match` names: every PUT, PATCH and DELETE, and each POST that can be refused for it. */
export function isConditionalWrite({ method, refusals, comparesRevision }: RouteSpec): boolean {
  return ["put", "patch", "delete"].includes(method) || (comparesRevision !== false && refusals?.includes("precondition_failed") === true);
}

/** Whether a read honours `If-None-Match`. */
export function isConditionalRead({ method, success }: RouteSpec): boolean {
  return method === "get" && (success.shape === "single" || success.hasEtag === true);
}

/** An operation with its address and its place in the document. */
export interface RouteSpec extends OperationSpec {
  method: Method;
  /** Such as `/users/{discord_user_id}/servers`. */
  path: string;
  operationId: string;
  tags: string[];
}

/** A route whose types have been checked; transports pass these to the app. */
export interface Route {
  spec: RouteSpec;
  handle(input: RouteInput): Promise<unknown>;
}

/**
 * Describe the JSON operations of one part of the API: `get("/cases", "listCases", { … })`. The types of what `handle` gets and answers
 * come from the schemas beside it.
 * @param tags under which the document lists them
 */
export function routesFor(...tags: string[]) {
  const route =
    (method: Method) =>
    <
      Kind extends Shape,
      View extends z.ZodType,
      Params extends z.ZodObject = z.ZodObject<Record<never, never>>,
      Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
      Body extends z.ZodType = z.ZodUndefined,
    >(
      path: string,
      operationId: string,
      { handle, ...spec }: Operation<Kind, View, Params, Query, Body>,
    ): Route => ({ spec: { method, path, operationId, tags, ...spec }, handle });
  return { get: route("get"), post: route("post"), put: route("put"), patch: route("patch"), del: route("delete") };
}
