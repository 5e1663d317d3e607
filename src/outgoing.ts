import { say } from "./kit/say.ts";
import { lookup as systemLookup } from "node:dns";
import { Agent as HttpAgent, request as requestHttp, type ClientRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { createAddressRanges, isPublicAddress } from "./kernel/addresses.ts";
import { version } from "./version.ts";

/** Why an address did not answer; said to people, so it holds no secret. */
export class OutgoingFailed extends Error {
  override name = "OutgoingFailed";
}

export interface OutgoingOptions {
  /** Private addresses and networks that may be asked, also by plain http. */
  allowed: readonly string[];
  /** Ends what is under way. */
  stopping: AbortSignal;
  /** For all of it, from the name to the end of the answer. */
  timeoutMs?: number;
  /** Connections that are kept open between two requests, and all there are at once. None is kept by default. */
  connections?: { kept: number; all: number };
  /** For tests: who says what a name stands for. */
  lookup?: typeof systemLookup;
}

export interface Outgoing {
  /** Refuse an address by what it says alone; what its name stands for is looked at when it is asked. @throws OutgoingFailed */
  requireAskable(address: string): void;
  /**
   * Read an address.
   * @throws OutgoingFailed when the address is refused, or does not answer in time or in size
   */
  get(
    address: string,
    options: {
      key?: string | undefined;
      maxBytes: number;
    },
  ): Promise<{
    status: number;
    text: string;
  }>;
  /**
   * Send JSON to an address. Of the answer nothing is kept but its status and `Retry-After`.
   * @throws OutgoingFailed when the address is refused, or does not answer in time
   */
  post(
    address: string,
    options: {
      body: string;
      headers: Readonly<Record<string, string>>;
      maxBytes: number;
      signal?: AbortSignal;
    },
  ): Promise<{
    status: number;
    retryAfter: string | undefined;
  }>;
  /** Close the connections that are kept. */
  close(): void;
}

interface Sent {
  method: "GET" | "POST";
  headers: Readonly<Record<string, string>>;
  body?: string;
  maxBytes: number;
  signal?: AbortSignal | undefined;
}

interface Answered {
  status: number;
  headers: IncomingMessage["headers"];
  /** Undefined where it is longer than it may be: the rest was left. */
  text: string | undefined;
}

const keptMs = 60_000;

/**
 * Asks addresses that people name, and none inside the network of this service that the operator has not allowed. Redirects are not
 * followed, as they may lead anywhere.
 */
export function createOutgoing({ allowed, stopping, timeoutMs = 15_000, connections, lookup = systemLookup }: OutgoingOptions): Outgoing {
  const isAllowed = createAddressRanges(allowed);
  const agents = connections === undefined ? undefined : agentsOf(connections);

  function requireReachable(address: string, protocol: string): void {
    if (isAllowed(address)) return;
    if (!isPublicAddress(address)) throw new OutgoingFailed(say("service.the-address-leads-into-a-private-network"));
    if (protocol !== "https:") throw new OutgoingFailed(say("service.the-address-has-to-begin-with-https"));
  }

  /** What is checked is what is connected to: a name cannot lead elsewhere in between. */
  const lookupFor =
    (protocol: string): LookupFunction =>
    (host, options, done) => {
      lookup(host, { ...options, all: true }, (error, found) => {
        if (error !== null) return done(new OutgoingFailed(say("service.the-name-of-the-address-is-not")), []);
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

  /** Everything that an address says by itself. @throws OutgoingFailed */
  function checked(address: string): { url: URL; isNamed: boolean } {
    const url = new URL(address);
    requireUsual(url);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const isNamed = isIP(host) === 0;
    if (!isNamed) requireReachable(host, url.protocol);
    return { url, isNamed };
  }

  /** @throws OutgoingFailed when the address is refused, or does not answer in time */
  async function send(address: string, { method, headers, body, maxBytes, signal: given }: Sent): Promise<Answered> {
    const { url } = checked(address);
    const isSecure = url.protocol === "https:";
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs), ...(given === undefined ? [] : [given])]);
    const options = {
      method,
      headers: { "accept-encoding": "identity", "user-agent": `provost/${version}`, ...headers },
      signal,
      lookup: lookupFor(url.protocol),
      agent: agents === undefined ? (false as const) : isSecure ? agents.https : agents.http,
    };
    let asked: ClientRequest | undefined;
    const once = (): Promise<Answered> =>
      new Promise((resolve, reject) => {
        asked = (isSecure ? requestHttps : requestHttp)(url, options, (answer) => {
          const { statusCode: status = 0, headers } = answer;
          collect(answer, maxBytes).then((text) => resolve({ status, headers, text }), reject);
        });
        asked.on("error", reject);
        asked.end(body);
      });
    try {
      return await once().catch((error: unknown) => {
        // A kept connection may have been closed by the other side in this very moment: nobody has read what was sent on it.
        if (asked?.reusedSocket === true && (error as NodeJS.ErrnoException).code === "ECONNRESET") return once();
        throw error;
      });
    } catch (error) {
      if (error instanceof OutgoingFailed) throw error;
      throw new OutgoingFailed(
        signal.aborted ? say("service.the-address-did-not-answer-in-time") : say("service.the-address-cannot-be-reached"),
      );
    }
  }

  return {
    requireAskable(address: string): void {
      const { url, isNamed } = checked(address);
      if (isNamed && allowed.length === 0 && url.protocol !== "https:")
        throw new OutgoingFailed(say("service.the-address-has-to-begin-with-https"));
    },

    async get(
      address: string,
      { key, maxBytes }: { key?: string | undefined; maxBytes: number },
    ): Promise<{ status: number; text: string }> {
      const headers = {
        accept: "application/json, text/csv, application/x-ndjson",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      };
      const { status, text } = await send(address, { method: "GET", headers, maxBytes });
      if (text === undefined) throw new OutgoingFailed(say("service.the-answer-is-too-long"));
      return { status, text };
    },

    async post(
      address: string,
      {
        body,
        headers,
        maxBytes,
        signal,
      }: { body: string; headers: Readonly<Record<string, string>>; maxBytes: number; signal?: AbortSignal },
    ): Promise<{ status: number; retryAfter: string | undefined }> {
      const length = Buffer.byteLength(body).toString();
      const sent = { ...headers, "content-type": "application/json", "content-length": length };
      const answered = await send(address, { method: "POST", headers: sent, body, maxBytes, signal });
      return { status: answered.status, retryAfter: answered.headers["retry-after"] };
    },

    close(): void {
      agents?.http.destroy();
      agents?.https.destroy();
    },
  };
}

function agentsOf({ kept, all }: { kept: number; all: number }) {
  const options = { keepAlive: true, maxFreeSockets: kept, maxTotalSockets: all, timeout: keptMs };
  return { http: new HttpAgent(options), https: new HttpsAgent(options) };
}

/** Whether a port is one of web servers: 80 and 443, or one that needs no privileges. What listens on others takes a request for something else. */
function isWebPort(port: string): boolean {
  return port === "" || port === "80" || port === "443" || Number(port) >= 1024;
}

/** @throws OutgoingFailed */
function requireUsual({ protocol, port, username, password }: URL): void {
  if (protocol !== "https:" && protocol !== "http:") throw new OutgoingFailed(say("service.the-address-has-to-begin-with-https"));
  if (username !== "" || password !== "") throw new OutgoingFailed(say("kernel.leave-names-passwords-and-out-of-the"));
  if (!isWebPort(port)) throw new OutgoingFailed(say("service.the-port-of-the-address-has-to"));
}

async function collect(answer: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxBytes) {
      answer.destroy();
      return undefined;
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
