import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { createAddressRanges, plainAddress } from "../kernel/addresses.ts";

/** The address limits and allow-lists go by. */
export type AddressReader = (request: IncomingMessage) => string;

/**
 * Behind a reverse proxy every connection comes from the proxy: the last address in `X-Forwarded-For` that is none of ours is then
 * the caller's. Without a trusted proxy the header counts nothing, since anybody can write it.
 * @param trustedProxies addresses and networks (`10.0.0.0/8`)
 */
export function createAddressReader(trustedProxies: readonly string[]): AddressReader {
  const socketAddress: AddressReader = ({ socket }) => socket.remoteAddress ?? "";
  if (trustedProxies.length === 0) return socketAddress;
  const isTrusted = createAddressRanges(trustedProxies);

  return (request) => {
    const nearest = plainAddress(socketAddress(request));
    if (!isTrusted(nearest)) return nearest;
    const forwarded = [request.headers["x-forwarded-for"] ?? []].flat().join(",").split(",");
    const hops = forwarded.map((hop) => plainAddress(hop.trim())).filter((hop) => isIP(hop) !== 0);
    return hops.findLast((hop) => !isTrusted(hop)) ?? nearest;
  };
}
