import type { Readable, Writable } from "node:stream";
import { Busboy } from "@fastify/busboy";
import type { FieldError } from "../../kernel/errors.ts";
import type { UploadSpec } from "../../operations/route.ts";
import { pointer } from "../../kernel/validation.ts";

/** Where the parts of a multipart body go. */
export interface PartSink {
  text(name: string, value: string): void;
  /** The one file, before its bytes; `name` is what the client says. */
  file(name: string, part: Readable): void;
  /** Something that can be said only once the whole body has been read. */
  error(error: FieldError): void;
}

const mostFields = 20;
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
    limits: { fileSize: maxBytes(), files: mostFields, fields: mostFields, fieldSize: fieldBytes, parts: mostFields, headerPairs: 20 },
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
  parts.once("partsLimit", () => wrong("", "too_many", `Send at most ${mostFields.toString()} parts.`));
  return parts;
}
