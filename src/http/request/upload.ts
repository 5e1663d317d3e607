import { createHash, hash, randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Transform, type Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ProblemError, type FieldError } from "../../kernel/errors.ts";
import { fileProblem } from "../../kernel/files.ts";
import type { Body } from "./body-stream.ts";
import { check, pointer } from "../../kernel/validation.ts";
import { bodyTooLarge } from "./media.ts";
import type { UploadedFile, UploadSpec } from "../../operations/route.ts";
import { Busboy } from "@fastify/busboy";

/** What parts, their headers and their text fields may take besides the file. */
const overhead = 256 * 1024;

/** The most bytes a whole multipart body holds. */
export function uploadLimit({ maxBytes }: UploadSpec): number {
  return maxBytes() + overhead;
}

/**
 * Receive a multipart body. The file goes to the disk while it arrives, readable by the service alone; it is gone after `discard`, and
 * at once when anything goes wrong.
 * @param stream the bytes as sent; destroyed when not needed to their end
 * @param type the whole `Content-Type`
 * @throws ProblemError malformed_request, body_too_large, storage_full, storage_readonly, and what the stream fails with
 */
export async function receiveUpload(stream: Readable, type: string, spec: UploadSpec): Promise<Body> {
  const stop = new AbortController();
  const meter = createMeter(() => bodyTooLarge(uploadLimit(spec)), uploadLimit(spec));
  const written: Promise<unknown>[] = [];
  const got: Received = { texts: new Map(), errors: [], file: undefined };
  const fail = (error: unknown): void => stop.abort(error);
  const sink: PartSink = {
    text: (name, value) => void got.texts.set(name, value),
    error: (error) => void got.errors.push(error),
    file(name, part) {
      const file = { path: join(spec.folder(), `upload-${randomUUID()}`), name, sha256: "", bytes: 0 };
      got.file = file;
      part.once("limit", () => fail(tooLarge(spec)));
      written.push(writePart(part, file, stop.signal).catch(fail));
    },
  };
  try {
    const parts = createParts(type, spec, sink);
    await pipeline(stream, meter.stream, parts, { signal: stop.signal });
    await Promise.all(written);
    if (stop.signal.aborted) throw stop.signal.reason;
  } catch (error) {
    fail(error);
    await Promise.allSettled(written);
    await discard(got);
    throw asProblem(stop.signal.reason);
  }
  return bodyOf(got, meter.digest(), spec);
}

interface Received {
  texts: Map<string, string>;
  errors: FieldError[];
  file: UploadedFile | undefined;
}

/** Write what arrives to the path of a file, and note its size and its hash. */
export async function writePart(part: Readable, file: UploadedFile, signal: AbortSignal): Promise<void> {
  const sha256 = createHash("sha256");
  const counted = async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      sha256.update(chunk);
      file.bytes += chunk.length;
      yield chunk;
    }
  };
  await pipeline(part, counted, createWriteStream(file.path, { flags: "wx", mode: 0o600 }), { signal });
  file.sha256 = sha256.digest("hex");
}

/** The same content counts as the same request whatever text a client put between the parts. */
function bodyOf(got: Received, digest: string, spec: UploadSpec): Body {
  const { file, texts, errors } = got;
  const fields = Object.fromEntries(texts);
  return {
    digest: () => digest,
    fingerprint: () => hash("sha256", JSON.stringify([sorted(texts), file?.name ?? null, file?.sha256 ?? null])),
    parse(found) {
      if (file === undefined && errors.length === 0)
        found.push({ pointer: `/${spec.field}`, in: "body", code: "required", detail: "Send the file as a part of this name." });
      found.push(...errors);
      return check(spec.fields, fields, "body", found);
    },
    ...(file !== undefined && { file }),
    discard: () => discard(got),
  };
}

function sorted(texts: ReadonlyMap<string, string>): [string, string][] {
  return [...texts].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

async function discard({ file }: Received): Promise<void> {
  if (file !== undefined) await rm(file.path, { force: true }).catch(() => undefined);
}

function tooLarge({ maxBytes }: UploadSpec): ProblemError {
  return new ProblemError("body_too_large", { detail: `A file holds at most ${maxBytes().toString()} bytes.` });
}

/** What the parser of parts complains about is the body's own fault. */
export function asProblem(error: unknown): unknown {
  const problem = fileProblem(error);
  if (problem instanceof ProblemError || (problem instanceof Error && "code" in problem)) return problem;
  return new ProblemError("malformed_request", { detail: "The body is not valid multipart/form-data.", cause: error });
}

/** Hashes what passes and refuses what is too much. */
function createMeter(refusal: () => Error, limit: number) {
  const sha256 = createHash("sha256");
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > limit) return done(refusal());
      sha256.update(chunk);
      done(null, chunk);
    },
  });
  return {
    stream,
    /** Base64url SHA-256 of everything that passed. */
    digest: (): string => sha256.digest("base64url"),
  };
}

/** Where the parts of a multipart body go. */
export interface PartSink {
  text(name: string, value: string): void;
  /** The one file, before its bytes; `name` is what the client says. */
  file(name: string, part: Readable): void;
  /** Something that can be said only once the whole body has been read. */
  error(error: FieldError): void;
}

const maxFields = 20;
const fieldBytes = 16 * 1024;

/**
 * A writable that takes a multipart body apart. A second file and fields that repeat are told to the sink; their bytes are dropped.
 * @throws Error when the type names no boundary
 */
export function createParts(type: string, { field, maxBytes }: UploadSpec, sink: PartSink): Writable {
  const seen = new Set<string>();
  const wrong = (name: string, code: string, detail: string): void => sink.error({ pointer: pointer([name]), in: "body", code, detail });
  const parts = new Busboy({
    headers: { "content-type": type },
    limits: { fileSize: maxBytes(), files: maxFields, fields: maxFields, fieldSize: fieldBytes, parts: maxFields, headerPairs: 20 },
    isPartAFile: (name, _type, fileName) => fileName !== undefined || name === field,
  });
  parts.on("file", (name, part, fileName) => {
    if (name === field && !seen.has(name)) {
      seen.add(name);
      // Listened to before the bytes come: a body that ends in the middle says so here, too.
      part.on("error", (error) => parts.destroy(error));
      return sink.file(typeof fileName === "string" ? fileName : "", part);
    }
    if (name === field) wrong(name, "too_many", "Send one file.");
    else wrong(name, "unknown_field", `The only file taken here is the part named "${field}".`);
    part.on("error", () => undefined);
    part.resume();
  });
  parts.on("field", (name, value, _nameCut, isCut) => {
    if (seen.has(name)) return wrong(name, "too_many", "This field is sent more than once.");
    seen.add(name);
    if (isCut) return wrong(name, "too_long", `A field holds at most ${fieldBytes.toString()} bytes.`);
    sink.text(name, value);
  });
  parts.once("partsLimit", () => wrong("", "too_many", `Send at most ${maxFields.toString()} parts.`));
  return parts;
}
