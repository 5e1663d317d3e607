import { request, type IncomingHttpHeaders } from "node:http";

export type HttpAnswer = { status: number; headers: IncomingHttpHeaders; setCookies: string[]; body: string };

const patienceMs = 15_000;

/** One plain HTTP request with exactly these headers; `fetch` would set some of a browser's own. */
export function sendRequest(
  method: string,
  url: URL,
  { headers, body }: { headers: Record<string, string>; body?: string | undefined },
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "Content-Length": Buffer.byteLength(body).toString() };
    const signal = AbortSignal.timeout(patienceMs);
    const sent = request(url, { method, headers: { ...headers, ...length }, signal, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          setCookies: response.headers["set-cookie"] ?? [],
          body: Buffer.concat(parts).toString(),
        }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
