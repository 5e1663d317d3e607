import type { HttpBindings } from "@hono/node-server";
import { isIP } from "node:net";
import { createAddressRanges, plainAddress } from "../../kernel/addresses.ts";

/** The address limits and allow-lists go by. */
export type AddressReader = (request: Pick<HttpBindings["incoming"], "socket" | "headers">) => string;

/**
 * Behind a reverse proxy every connection comes from the proxy. `X-Forwarded-For` is then read from the right, as each proxy appends
 * whom it was called by: the caller is the first hop that is no trusted proxy. A hop that cannot be read ends the reading, too, as what
 * stands before it may have been written by anybody. Without a trusted proxy the header counts nothing.
 * @param trustedProxies addresses and networks (`10.0.0.0/8`)
 * @param onIgnored called once, when the header arrives and no proxy is trusted
 */
export function createAddressReader(trustedProxies: readonly string[], onIgnored: () => void = () => undefined): AddressReader {
  const isTrusted = createAddressRanges(trustedProxies);
  let isTold = false;

  return ({ socket, headers }) => {
    const nearest = plainAddress(socket.remoteAddress ?? "");
    const forwarded = headers["x-forwarded-for"];
    if (forwarded === undefined) return nearest;
    if (trustedProxies.length === 0) {
      if (!isTold) onIgnored();
      isTold = true;
      return nearest;
    }
    let caller = nearest;
    for (const hop of [forwarded].flat().join(",").split(",").toReversed()) {
      const before = isTrusted(caller) ? addressIn(hop.trim()) : undefined;
      if (before === undefined) return caller;
      caller = before;
    }
    return caller;
  };
}

/** Some proxies name the port as well: `203.0.113.9:51234`, `[2001:db8::1]:51234`. */
const withPort = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;

function addressIn(hop: string): string | undefined {
  const [, bracketed, beforePort] = withPort.exec(hop) ?? [];
  const address = plainAddress(bracketed ?? beforePort ?? hop);
  return isIP(address) === 0 ? undefined : address;
}
