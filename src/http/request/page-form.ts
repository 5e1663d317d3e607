import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy } from "@fastify/busboy";
import { createSemaphore } from "../../kernel/semaphore.ts";
import type { UploadedFile } from "../../operations/route.ts";
import { header, type HttpContext } from "../context.ts";
import { streamBody } from "./body-stream.ts";
import { bodyTooLarge, checkBodyHeaders, multipartForm } from "./media.ts";
import { asProblem, writePart } from "./upload.ts";

/** The files that a form of a page takes, all under one name. */
export interface FormFiles {
  field: string;
  /** 0: whatever comes is dropped. */
  most: number;
  /** The most bytes of each. */
  maxBytes: number;
  /** Where they arrive. */
  folder: string;
}

/** A form with files, as a browser sent it. */
export interface SentForm {
  texts: Readonly<Record<string, string>>;
  files: readonly UploadedFile[];
  /** What was dropped: files beyond the most, and files that are too large, by their names. */
  dropped: { many: boolean; large: readonly string[] };
  /** Delete what was not moved away. */
  discard(): Promise<void>;
}

const maxFields = 20;
const fieldBytes = 32 * 1024;
const overhead = maxFields * fieldBytes;
/** So many files beyond what is taken still arrive, so that the person is told beside the field. */
const spare = 3;
/** Files arrive on the disk: only so many forms at once. */
const arriving = createSemaphore({
  places: 8,
  waiting: 0,
  refusal: "overloaded",
  detail: "Too many files arrive at once.",
  retryAfter: 5,
});

/**
 * Receive a form with files. What is wrong with its files is told and not thrown, so that the page can keep what was typed.
 * @throws ProblemError body_too_large, unsupported_media_type, malformed_request, overloaded, request_timeout, storage_full, storage_readonly
 */
export async function receiveForm(c: HttpContext, files: FormFiles): Promise<SentForm> {
  const request = c.get("request");
  const limit = (files.most + spare) * files.maxBytes + overhead;
  checkBodyHeaders(request, [multipartForm], () => limit);
  const release = await arriving.acquire();
  try {
    return await receive(streamBody(c), header(request, "content-type") ?? "", files, limit);
  } finally {
    release();
  }
}

async function receive(stream: Readable, type: string, files: FormFiles, limit: number): Promise<SentForm> {
  const stop = new AbortController();
  const texts = new Map<string, string>();
  const got: { file: UploadedFile; isLarge: boolean }[] = [];
  const written: Promise<unknown>[] = [];
  let isMany = false;
  const discard = async (): Promise<void> => {
    await Promise.all(got.map(({ file }) => rm(file.path, { force: true }).catch(() => undefined)));
  };

  function take(part: Readable, name: string): void {
    const one = { file: { path: join(files.folder, `form-${randomUUID()}`), name, sha256: "", bytes: 0 }, isLarge: false };
    got.push(one);
    part.once("limit", () => void (one.isLarge = true));
    written.push(writePart(part, one.file, stop.signal).catch((error: unknown) => stop.abort(error)));
  }

  try {
    const parts = new Busboy({
      headers: { "content-type": type },
      limits: {
        fileSize: files.maxBytes,
        fields: maxFields,
        fieldSize: fieldBytes,
        files: maxFields,
        parts: maxFields * 2,
        headerPairs: 20,
      },
    });
    parts.on("file", (field, part, fileName) => {
      const name = typeof fileName === "string" ? fileName : "";
      part.on("error", (error) => parts.destroy(error));
      // A browser sends a field in which nothing was chosen as a file without a name.
      const isTaken = field === files.field && name !== "";
      if (isTaken && got.length < files.most) return take(part, name);
      isMany ||= isTaken && files.most > 0;
      part.resume();
    });
    parts.on("field", (field, value) => void texts.set(field, value.replaceAll("\r\n", "\n")));
    await pipeline(counted(stream, limit), parts, { signal: stop.signal });
    await Promise.all(written);
    if (stop.signal.aborted) throw stop.signal.reason;
  } catch (error) {
    stop.abort(error);
    await Promise.allSettled(written);
    await discard();
    throw asProblem(stop.signal.reason);
  }
  const large = got.filter(({ isLarge }) => isLarge);
  return {
    texts: Object.fromEntries(texts),
    files: got.filter(({ isLarge }) => !isLarge).map(({ file }) => file),
    dropped: { many: isMany, large: large.map(({ file }) => file.name) },
    discard,
  };
}

async function* counted(stream: Readable, limit: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > limit) throw bodyTooLarge(limit);
    yield chunk;
  }
}
