import { Agent, request as httpRequest } from "node:http";
import { gunzipSync, inflateSync } from "node:zlib";
import type { Answer } from "../../support/world.ts";
import type { WildRequest } from "./requests.ts";

const patienceMs = 20_000;

/** Sends addresses and headers as they are, which `fetch` would clean up or refuse. */
export function createWildClient(connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });

  function exchange(
    url: string,
    { method, path, headers, body }: WildRequest,
  ): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const asked = httpRequest({ hostname, port, method, path, headers, agent });
      const late = setTimeout(() => asked.destroy(new Error("no answer in time")), patienceMs);
      asked.on("error", reject).on("close", () => clearTimeout(late));
      asked.on("response", (response) => {
        const parts: Buffer[] = [];
        const headers = new Headers(response.headers as Record<string, string>);
        const end = (): void => resolve({ status: response.statusCode ?? 0, headers, bytes: Buffer.concat(parts) });
        // Of an answer to HEAD there is no more.
        if (method === "HEAD") end();
        response.on("error", reject).on("end", end);
        response.on("data", (part: Buffer) => {
          parts.push(part);
          if (headers.get("content-type") !== "text/event-stream") return;
          // A stream of events ends with whoever reads it.
          end();
          asked.destroy();
        });
      });
      asked.end(body);
    });
  }

  /** @throws Error when there is no answer in time, or none that can be read */
  async function send(url: string, request: WildRequest): Promise<Answer> {
    const { status, headers, bytes } = await exchange(url, request);
    return { status, headers, body: bodyOf(headers, bytes) };
  }

  return { send, close: () => agent.destroy() };
}

const unpack: Record<string, (bytes: Buffer) => Buffer> = { gzip: gunzipSync, deflate: inflateSync };

function bodyOf(headers: Headers, bytes: Buffer): unknown {
  const unpacked = bytes.length === 0 ? bytes : (unpack[headers.get("content-encoding") ?? ""]?.(bytes) ?? bytes);
  const text = unpacked.toString();
  return /[/+]json/.test(headers.get("content-type") ?? "") && text !== "" ? JSON.parse(text) : text;
}

/** A request in a form that can be read, and sent again. */
export function shown({ method, path, headers, body }: WildRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path}`, ...lines, "", JSON.stringify(body?.toString("latin1").slice(0, 4000) ?? "")].join("\n");
}
