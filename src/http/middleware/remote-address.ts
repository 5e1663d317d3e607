import type { HttpBindings } from "@hono/node-server";
import { addressIn, createAddressRanges, plainAddress } from "../../kernel/addresses.ts";

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
