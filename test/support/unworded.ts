import { ServerResponse } from "node:http";
import { afterEach } from "vitest";
import type { Sandbox } from "../../sandbox/index.ts";

/** What stands around what is said until it is worded (`src/kit/say.ts`), also as JSON or a header writes it. */
const unworded = /[\ufdd0\ufdd1]|\\ufdd[01]|%ef%b7%9[01]/i;
/** The first two bytes of both. */
const beginning = Buffer.from([0xef, 0xb7]);

const found: string[] = [];

/** Notes a text that somebody outside of the service reads; the test fails if it holds something that is not worded. */
export function judgeWords(where: string, text: string): void {
  const at = text.search(unworded);
  if (at !== -1) found.push(`${where}: ${text.slice(Math.max(0, at - 200), at + 300)}`);
}

/** Everything that went to Discord: messages, forms, suggestions, names, reasons for the audit log, and files. */
export function judgeCalls({ exchanges, inside }: Pick<Sandbox, "exchanges" | "inside">): void {
  for (const { name, bytes } of inside.world.files.values())
    if (/\.(json|csv|txt|md)$/.test(name)) judgeWords(`the file ${name}`, bytes.toString());
  for (const { method, path, query, requestHeaders, requestBody } of exchanges) {
    if (method === "GET") continue;
    judgeWords(`${method} ${path} of Discord`, JSON.stringify([path, query, requestHeaders, requestBody]));
  }
}

/** Fails where something was found, and forgets it. */
export function requireWords(): void {
  const wrong = found.splice(0);
  if (wrong.length > 0) throw new Error(`Somebody reads what is said before it is worded:\n${wrong.join("\n")}`);
}

type Written = string | Uint8Array | undefined;

function judgeAnswer(response: ServerResponse & { _header?: string | null }, chunk: unknown): void {
  const written = chunk as Written;
  if (written === undefined || written === null || typeof written === "function") return;
  const bytes = Buffer.from(written as string);
  const isSuspect = bytes.includes(beginning) || bytes.includes("\\ufdd");
  const headers = response._header?.toLowerCase() ?? "";
  // The local Discord, and other servers of the tests, answer without the number of the request.
  // Bytes of evidence may hold what they like.
  const isText = /content-type: (?:text\/|application\/(?:[\w.+-]*json|x-ndjson))/.test(headers);
  if (!isSuspect || !isText || !headers.includes("x-request-id") || headers.includes("content-encoding")) return;
  judgeWords(`the answer to ${response.req.method ?? ""} ${response.req.url ?? ""}`, bytes.toString());
}

/** Every answer of a service in this process is judged, whoever asked: JSON, pages, files and streams of events. */
export function judgeAnswers(): void {
  afterEach(requireWords);
  const { prototype } = ServerResponse as unknown as { prototype: Record<"write" | "end", (...given: unknown[]) => unknown> };
  for (const name of ["write", "end"] as const) {
    const send = prototype[name];
    // The file of settings runs before each file of tests, in the same worker.
    if (send.name === "judged") return;
    prototype[name] = function judged(this: ServerResponse, ...given) {
      judgeAnswer(this, given[0]);
      return send.apply(this, given);
    };
  }
}
