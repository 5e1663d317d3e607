import { Readable } from "node:stream";
import type { Exchange, Reply } from "./exchange.ts";
import { apiVersion } from "./negotiation.ts";

const defaultPolicy = "default-src 'none'; frame-ancestors 'none'";

/**
 * Headers of every answer, flat names and values.
 * @param publicUrl how browsers reach the service; HSTS is sent only where that is https
 */
export function commonHeaders(publicUrl: string | undefined): readonly string[] {
  const headers = ["Api-Version", apiVersion, "X-Content-Type-Options", "nosniff", "Referrer-Policy", "no-referrer"];
  headers.push("Cross-Origin-Resource-Policy", "same-origin");
  if (publicUrl?.startsWith("https:") === true) headers.push("Strict-Transport-Security", "max-age=31536000");
  return headers;
}

/** The policy every answer has unless it brings its own. */
export const defaultPolicyHeaders = ["Content-Security-Policy", defaultPolicy] as const;

/** All headers of a reply, flat. */
export function replyHeaders(common: readonly string[], exchange: Exchange, reply: Reply): string[] {
  const headers = [...common, "X-Request-Id", exchange.requestId, ...exchange.replyHeaders, ...reply.headers];
  if (!hasName(reply.headers, "content-security-policy")) headers.push(...defaultPolicyHeaders);
  if (reply.body === null) return headers;
  headers.push("Content-Type", reply.type);
  if (!(reply.body instanceof Readable)) headers.push("Content-Length", String(Buffer.byteLength(reply.body)));
  return headers;
}

function hasName(flat: readonly string[], name: string): boolean {
  for (let index = 0; index < flat.length; index += 2) {
    const given = flat[index];
    if (given?.length === name.length && given.toLowerCase() === name) return true;
  }
  return false;
}
