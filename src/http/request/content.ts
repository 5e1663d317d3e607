import { z } from "zod";
import type { Call } from "../../kernel/call.ts";
import { type FieldError, ProblemError, validationProblem } from "../../kernel/errors.ts";
import { isSnowflake } from "../../kernel/fields.ts";
import type { Body } from "./body-stream.ts";
import { anyRevision, noRevision } from "../../kernel/revision.ts";
import { check } from "../../kernel/validation.ts";
import { header, type RequestInfo } from "../context.ts";
import { readQuery } from "../../operations/query.ts";
import { isConditionalWrite, type RouteInput, type RouteSpec } from "../../operations/route.ts";

/** A transport's reader of everything a caller can get wrong in content. `body` is undefined for methods without a body. */
export type ContentReader = (
  request: RequestInfo,
  params: Readonly<Record<string, string>>,
  body: Body | undefined,
  call: Call,
) => RouteInput;

const noFields = z.strictObject({});
const idempotencyForm = /^[\x20-\x7e]{8,255}$/;
const revisionTag = /^"v(\d{1,15})(?:-[\w-]{1,64})?"$/;

/** @param requireIfMatch whether PUT, PATCH and DELETE must say which revision they mean */
export function createContentReader(spec: RouteSpec, requireIfMatch: boolean): ContentReader {
  const { params: paramsSchema, query: querySchema } = spec.request ?? {};
  const bodySchema = spec.request?.body ?? noFields;
  const isConditional = requireIfMatch && ["put", "patch", "delete"].includes(spec.method);
  const refusesUnknown = spec.success.shape === "list" || spec.success.shape === "raw";
  const hasActor = !("public" in spec.access) || spec.access.credentials === "optional";

  return (request, pathParams, body, call) => {
    const errors: FieldError[] = [];
    const content = body?.parse(errors);
    const isReadable = errors.length === 0;
    const params = paramsSchema === undefined ? pathParams : check(paramsSchema, pathParams, "path", errors);
    const query = readQuery(request.search, querySchema, refusesUnknown, errors);
    if (spec.method !== "get") headerErrors(spec, request, errors);
    else if (hasActor && request.headers["x-acting-user"] !== undefined) actingUserErrors(request, errors);
    const parsed = body === undefined || !isReadable ? undefined : check(bodySchema, content, "body", errors, spec.request?.byLine);
    if (errors.length > 0) throw validationProblem(errors);
    if (isConditional && request.headers["if-match"] === undefined && !createsOnly(request))
      throw new ProblemError("precondition_required", {
        detail: "Send If-Match with the ETag you read, or If-None-Match: * to create what is not there yet.",
      });
    return {
      call,
      params: params as RouteInput["params"],
      query: query as RouteInput["query"],
      body: spec.request?.body === undefined ? undefined : parsed,
      file: body?.file,
      ifMatch: spec.method === "get" ? undefined : ifMatch(request),
      ifNoneMatch: header(request, "if-none-match"),
      lastEventId: header(request, "last-event-id"),
    };
  };
}

function headerErrors(spec: RouteSpec, request: RequestInfo, errors: FieldError[]): void {
  // Whoever names a condition is never served as if there were none.
  if (request.headers["if-match"] !== undefined && !isConditionalWrite(spec)) {
    errors.push({
      pointer: "/If-Match",
      in: "header",
      code: "not_supported",
      detail: "This operation compares no revision: send it without If-Match.",
    });
  }
  const key = header(request, "idempotency-key");
  if (key !== undefined && !idempotencyForm.test(key)) {
    errors.push({
      pointer: "/Idempotency-Key",
      in: "header",
      code: "invalid_idempotency_key",
      detail: "Send 8 to 255 printable ASCII characters.",
    });
  }
  actingUserErrors(request, errors);
}

function actingUserErrors(request: RequestInfo, errors: FieldError[]): void {
  const id = header(request, "x-acting-user");
  if (id !== undefined && !isSnowflake(id)) {
    errors.push({
      pointer: "/X-Acting-User",
      in: "header",
      code: "invalid_snowflake",
      detail: "Send the id of a Discord user: 17–20 digits without a zero in front.",
    });
  }
}

/** `If-None-Match: *` asks for a record that is not there yet (RFC 9110 §13.1.2): its revision is 0. */
function createsOnly(request: RequestInfo): boolean {
  return header(request, "if-none-match")?.trim() === "*";
}

/** What is none of our entity tags, or several of them, is the revision of nothing. */
function ifMatch(request: RequestInfo): number | undefined {
  const tag = header(request, "if-match")?.trim();
  if (createsOnly(request)) return 0;
  if (tag === undefined) return undefined;
  if (tag === "*") return anyRevision;
  const revision = revisionTag.exec(tag)?.[1];
  return revision === undefined ? noRevision : Number(revision);
}
