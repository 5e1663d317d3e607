import { hash } from "node:crypto";
import { ProblemError } from "../../kernel/errors.ts";
import { createSemaphore } from "../../kernel/semaphore.ts";
import { parseFile, parseJson, parseJsonByLine } from "../../kernel/parsing.ts";
import { header, type HttpContext } from "../context.ts";
import { type Body, readBody, streamBody } from "./body-stream.ts";
import { announcesBody, type BodyForm, checkBodyHeaders, jsonForm, multipartForm, textForm } from "./media.ts";
import { bodyLimit, type RouteSpec, type UploadSpec } from "../../operations/route.ts";
import { receiveUpload, uploadLimit } from "./upload.ts";

/** A route's reader of bodies. */
export type BodyReader = (c: HttpContext) => Promise<Body>;

const noBytes = Buffer.alloc(0);
/** Of a request without a body, where none is needed. */
export const noBody: Body = bodyOf(noBytes, () => ({}));
/** Of a request without a body, where it would be read as a change to nothing. */
const missingBody: Body = bodyOf(noBytes, () => {
  throw new ProblemError("malformed_request", { detail: "This request needs a body." });
});

/**
 * @returns a reader of the media types the route takes; where a body is optional, a request without one counts as `{}`
 * @throws (the reader) ProblemError body_too_large, unsupported_media_type
 */
export function createBodyReader({ request = {} }: RouteSpec): BodyReader {
  const { bodyLimit: limit = bodyLimit, textBody, upload, byLine } = request;
  const takesBody = request.body !== undefined || upload !== undefined;
  const absent = takesBody && request.bodyOptional !== true ? missingBody : noBody;
  const parsers = new Map<BodyForm, (raw: Buffer) => unknown>([[jsonForm, parseJson]]);
  if (textBody !== undefined) parsers.set(textForm(textBody.type), (raw) => ({ [textBody.field]: parseFile(raw) }));
  const forms = [...parsers.keys(), ...(upload === undefined ? [] : [multipartForm])];
  const receive = upload === undefined ? undefined : createReceiver(upload);

  return async (c) => {
    const request = c.get("request");
    if (!announcesBody(request)) return absent;
    const form = checkBodyHeaders(request, forms, (given) =>
      upload !== undefined && given === multipartForm ? uploadLimit(upload) : limit,
    );
    if (form === multipartForm && receive !== undefined) return receive(c);
    const raw = await readBody(c, limit);
    if (raw.length === 0) return absent;
    return form === jsonForm && byLine !== undefined ? preparedBody(raw, byLine) : bodyOf(raw, parsers.get(form) ?? parseJson);
  };
}

/** Files arrive on the disk: only so many at once. */
const maxUploads = 16;

function createReceiver(upload: UploadSpec): (c: HttpContext) => Promise<Body> {
  const places = createSemaphore({
    places: maxUploads,
    waiting: 0,
    refusal: "overloaded",
    detail: "Too many files arrive at once.",
    retryAfter: 5,
  });
  return async (c) => {
    const release = await places.acquire();
    try {
      return await receiveUpload(streamBody(c), header(c.get("request"), "content-type") ?? "", upload);
    } finally {
      release();
    }
  };
}

/** A body of JSON with lists that may be long. */
function preparedBody(raw: Buffer, byLine: readonly string[]): Body {
  let content: unknown;
  return {
    ...bodyOf(raw, () => content),
    async prepare() {
      content = await parseJsonByLine(raw, byLine);
    },
  };
}

function bodyOf(raw: Buffer, parse: (raw: Buffer) => unknown): Body {
  return { digest: () => hash("sha256", raw, "base64url"), fingerprint: () => hash("sha256", raw), parse: () => parse(raw) };
}
