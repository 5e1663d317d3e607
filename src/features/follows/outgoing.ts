import { lookup as systemLookup } from "node:dns";
import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { createAddressRanges, isPublicAddress } from "../../kernel/addresses.ts";
import { version } from "../../version.ts";

/** Why a list could not be read this time; said to people, so it holds no key. */
export class ReadingFailed extends Error {
  override name = "ReadingFailed";
}

export interface Outgoing {
  /**
   * Read an address. Redirects are not followed, as they may lead anywhere.
   * @throws ReadingFailed when the address is refused, or does not answer in time or in size
   */
  get(address: string, options: { key?: string | undefined; maxBytes: number }): Promise<{ status: number; text: string }>;
}

export interface OutgoingOptions {
  /** Private addresses and networks that may be asked, also by plain http. */
  allowed: readonly string[];
  /** Ends what is under way. */
  stopping: AbortSignal;
  timeoutMs?: number;
}

/** Reads addresses that people name, and none inside the network of this service that the operator has not allowed. */
export function createOutgoing({ allowed, stopping, timeoutMs = 15_000 }: OutgoingOptions): Outgoing {
  const isAllowed = createAddressRanges(allowed);

  function requireReachable(address: string, protocol: string): void {
    if (isAllowed(address)) return;
    if (!isPublicAddress(address)) throw new ReadingFailed("The address leads into a private network, which the operator has not allowed.");
    if (protocol !== "https:") throw new ReadingFailed("The address has to begin with https.");
  }

  /** What is checked is what is connected to: a name cannot lead elsewhere in between. */
  const lookupFor =
    (protocol: string): LookupFunction =>
    (host, options, done) => {
      systemLookup(host, { ...options, all: true }, (error, found) => {
        if (error !== null) return done(new ReadingFailed("The name of the address is not known."), []);
        try {
          for (const { address } of found) requireReachable(address, protocol);
        } catch (refusal) {
          return done(refusal as Error, []);
        }
        const [first] = found;
        if (options.all === true) return done(null, found);
        done(null, first?.address ?? "", first?.family);
      });
    };

  return {
    async get(given, { key, maxBytes }) {
      const url = new URL(given);
      const host = url.hostname.replace(/^\[|\]$/g, "");
      if (isIP(host) !== 0) requireReachable(host, url.protocol);
      const headers = {
        accept: "application/json, text/csv, application/x-ndjson",
        "accept-encoding": "identity",
        "user-agent": `provost/${version}`,
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      };
      const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
      const send = url.protocol === "https:" ? requestHttps : requestHttp;
      try {
        return await new Promise((resolve, reject) => {
          const asked = send(url, { headers, signal, agent: false, lookup: lookupFor(url.protocol) }, (answer) => {
            collect(answer, maxBytes).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject);
          });
          asked.on("error", reject);
          asked.end();
        });
      } catch (error) {
        if (error instanceof ReadingFailed) throw error;
        throw new ReadingFailed(signal.aborted ? "The address did not answer in time." : "The address cannot be reached.");
      }
    },
  };
}

async function collect(answer: IncomingMessage, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxBytes) {
      answer.destroy();
      throw new ReadingFailed("The answer is too long.");
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
