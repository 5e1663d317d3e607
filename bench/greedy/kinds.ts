import { createKeyText, formatKey } from "../../src/features/keys/secrets.ts";
import { type Attack, type Cause, credentialsOf, headOf } from "./cause.ts";
import { gather } from "./crowd.ts";
import { flood } from "./flood.ts";
import { trickle } from "./trickle.ts";

/** Each kind of hostile client, with what it holds and sends at most. A flood is 8 connections and 3000 requests a second. */
export const kinds = {
  /** 4 connections that ask 500 times at once and read nothing; each is replaced after a second: 2000 requests a second. */
  "pipelining, unread": (cause) => hold(cause, { connections: 4, lifeMs: 1000, times: 500, text: documentOf(cause) }),
  /** 200 heads and 200 bodies, half of these with a key, that come a byte at a time: 4000 bytes a second. */
  "slow heads and bodies": trickle,
  /** 100 connections that ask for the document and read nothing; each is replaced after a second. */
  "big answers, unread": (cause) => hold(cause, { connections: 100, lifeMs: 1000, times: 1, text: documentOf(cause) }),
  /** A flood of keys that nobody has, three of four with the right check digits. */
  "bad keys": (cause) => flood(cause.port, badKeys(cause)),
  /** A flood for the document, plain and compressed, and `/health`. */
  documents: (cause) => flood(cause.port, documents(cause)),
  /** A flood for addresses that are none. */
  "unknown addresses": (cause) => flood(cause.port, unknown(cause)),
  /** 100 connections that begin to upload a file and send no more; one that is refused is opened again after a quarter of a second. */
  "stalled uploads": (cause) => hold(cause, { connections: 100, times: 1, text: uploadOf(cause) }),
} as const satisfies Readonly<Record<string, (cause: Cause) => Attack>>;
export type KindName = keyof typeof kinds;

const different = 2048;
const range = (length: number): number[] => Array.from({ length }, (_, index) => index);

const documentOf = (cause: Cause): string => headOf(cause, "GET /openapi.json");

function uploadOf(cause: Cause): string {
  const head = headOf(cause, "POST /blacklist/BL-000001/evidence", {
    ...credentialsOf(cause),
    "Content-Type": "multipart/form-data; boundary=greedy",
    "Content-Length": "1000000",
  });
  const part = `Content-Disposition: form-data; name="file"; filename="proof.png"\r\nContent-Type: image/png`;
  return `${head}--greedy\r\n${part}\r\n\r\n${"x".repeat(20_000)}`;
}

function badKeys(cause: Cause): Buffer[] {
  return range(different).map((index) => {
    const good = formatKey(createKeyText());
    const key = index % 4 === 0 ? `${good.slice(0, -1)}!` : good;
    return Buffer.from(headOf(cause, `GET /staff/${cause.actor}/access`, { Authorization: `Bearer ${key}` }));
  });
}

function documents(cause: Cause): Buffer[] {
  const zipped = headOf(cause, "GET /openapi.json", { "Accept-Encoding": "gzip" });
  return [documentOf(cause), zipped, headOf(cause, "GET /health")].map((text) => Buffer.from(text));
}

function unknown(cause: Cause): Buffer[] {
  return range(different).map((index) => Buffer.from(headOf(cause, `GET /nowhere/${index.toString()}`)));
}

interface Held {
  connections: number;
  lifeMs?: number;
  /** How often each asks. */
  times: number;
  text: string;
}

/** Connections that say their text and no more. Those that live until they are cut read, so that they see it. */
function hold({ port }: Cause, { connections, lifeMs, times, text }: Held): Attack {
  const bytes = Buffer.from(text.repeat(times));
  let asked = 0;
  const crowd = gather({
    port,
    connections,
    reads: lifeMs === undefined,
    ...(lifeMs !== undefined && { lifeMs }),
    onOpen(socket) {
      asked += times;
      socket.write(bytes);
    },
  });
  return { requests: () => asked, close: crowd.close };
}
