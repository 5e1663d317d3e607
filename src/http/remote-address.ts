import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

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
  const trusted = new BlockList();
  for (const entry of trustedProxies) {
    const [address = "", bits] = entry.split("/");
    if (bits === undefined) trusted.addAddress(address, familyOf(address));
    else trusted.addSubnet(address, Number(bits), familyOf(address));
  }
  const isTrusted = (address: string): boolean => isIP(address) !== 0 && trusted.check(address, familyOf(address));

  return (request) => {
    const nearest = plain(socketAddress(request));
    if (!isTrusted(nearest)) return nearest;
    const forwarded = [request.headers["x-forwarded-for"] ?? []].flat().join(",").split(",");
    const hops = forwarded.map((hop) => plain(hop.trim())).filter((hop) => isIP(hop) !== 0);
    return hops.findLast((hop) => !isTrusted(hop)) ?? nearest;
  };
}

/** An IPv4 address as the dual-stack socket tells it is the IPv4 address. */
function plain(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
