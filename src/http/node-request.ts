import type { IncomingMessage, ServerResponse } from "node:http";
import { ProblemError } from "../kernel/errors.ts";
import { bodyTooLarge } from "./json-body.ts";

/** What Node's parser lets through although two readers may understand it differently. */
export function findAmbiguity({ rawHeaders, headers, httpVersion }: IncomingMessage): string | undefined {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  if (hosts > 1) return "The request has more than one Host header.";
  if (httpVersion === "1.0") return headers["transfer-encoding"] === undefined ? undefined : "HTTP/1.0 knows no Transfer-Encoding.";
  return hosts === 0 ? "The request has no Host header." : undefined;
}

/** The body of a request, counted while it arrives. Rejects with ProblemError body_too_large, or malformed_request when it breaks off. */
export function readNodeBody(request: IncomingMessage, response: ServerResponse, limit: number): Promise<Buffer> {
  if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limit) chunks.push(chunk);
      else {
        request.pause();
        reject(bodyTooLarge(limit));
      }
    });
    request.on("end", () => {
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
    });
    const onBroken = (): void => {
      reject(new ProblemError("malformed_request", { detail: "The body did not arrive completely." }));
    };
    request.on("error", onBroken);
    request.on("close", onBroken);
  });
}
