import { Readable } from "node:stream";
import type { Reply } from "../discord/command.ts";
import { mediaTypesOf, type RawAnswer, type RouteSpec } from "../operations/route.ts";
import { ProblemError } from "../kernel/errors.ts";
import type { Say } from "./texts.ts";

/** A message of a bot takes files of ten megabytes in all. */
const mostBytes = 9 * 1024 * 1024;

const endings: Readonly<Record<string, string>> = { "text/csv": "csv", "application/x-ndjson": "ndjson", "application/json": "json" };

/** An answer that is a file: an export, evidence. @throws ProblemError unsupported_operation when it is too large for Discord */
export async function rawReply(answer: unknown, { operationId, success }: RouteSpec, say: Say): Promise<Reply> {
  const { body, type = mediaTypesOf(success)[0], headers = {} } = answer as RawAnswer;
  const content = await bytesOf(body);
  const media = type.split(";")[0] ?? "";
  const disposition = headers["Content-Disposition"] ?? "";
  const real = /filename\*=UTF-8''([^;]+)/.exec(disposition)?.[1];
  const named = real === undefined ? /filename="([^"]+)"/.exec(disposition)?.[1] : decodeURIComponent(real);
  return { content: say("say file"), files: [{ name: named ?? `${operationId}.${endings[media] ?? "bin"}`, content }] };
}

/** @throws ProblemError unsupported_operation when it is too large for a message */
export async function bytesOf(body: RawAnswer["body"]): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body instanceof Readable ? body : [body]) {
    const piece = Buffer.from(part as Buffer | string);
    bytes += piece.length;
    if (bytes > mostBytes) {
      if (body instanceof Readable) body.destroy();
      throw new ProblemError("unsupported_operation", {
        detail: "This is too large for a message. Take it over HTTP or the command line.",
      });
    }
    parts.push(piece);
  }
  return Buffer.concat(parts);
}
