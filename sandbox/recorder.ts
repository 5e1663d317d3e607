import type { Signal } from "./signal.ts";

/** One REST call as it went over the wire; bodies are there only while recording. */
export type Exchange = {
  at: number;
  method: string;
  /** Below the API version, such as `/guilds/1/members`. */
  path: string;
  /** The route's template as in Discord's OpenAPI document, or null for an unknown route. */
  route: string | null;
  query: Record<string, string>;
  /** Without `authorization` and `cookie`. */
  requestHeaders: Record<string, string>;
  requestBody: unknown;
  status: number;
  responseBody: unknown;
};

/** One gateway message; `in` is from the client. */
export type GatewayEntry = {
  at: number;
  direction: "in" | "out" | "open" | "close";
  session: string | null;
  op: number | null;
  t: string | null;
  d: unknown;
};

const kept = 20_000;

export type Recorder = ReturnType<typeof createRecorder>;

/**
 * What happened on the wire, newest last; the oldest go when 22,000 of a kind are there.
 * @param bodies whether bodies and gateway data are kept
 */
export function createRecorder(now: () => number, bodies: boolean, signal: Signal) {
  const exchanges: Exchange[] = [];
  const gatewayLog: GatewayEntry[] = [];
  const unhandled: { method: string; path: string }[] = [];
  const downloads: { path: string; status: number }[] = [];
  const callers: { path: string; userAgent: string }[] = [];

  function keep<T>(list: T[], entry: T): void {
    list.push(entry);
    // In blocks, so that a full list costs nothing per entry.
    if (list.length > kept * 1.1) list.splice(0, list.length - kept);
    signal.notify();
  }

  return {
    exchanges,
    gatewayLog,
    unhandled,
    downloads,
    callers,
    exchange(entry: Omit<Exchange, "at">): void {
      keep(exchanges, {
        ...entry,
        at: now(),
        ...(!bodies && { requestBody: undefined, responseBody: undefined }),
      });
    },
    gateway(entry: Omit<GatewayEntry, "at">): void {
      keep(gatewayLog, { ...entry, at: now(), ...(!bodies && { d: undefined }) });
    },
    download(path: string, status: number): void {
      keep(downloads, { path, status });
    },
    called(path: string, userAgent: string): void {
      keep(callers, { path, userAgent });
    },
    unhandledRoute(method: string, path: string): void {
      keep(unhandled, { method, path });
    },
  };
}
