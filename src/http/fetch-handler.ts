import type { Context, Handler, NotFoundHandler } from "hono";
import { Readable } from "node:stream";
import type { Clock } from "../kernel/clock.ts";
import type { Door } from "./door.ts";
import { discard, type Exchange, openExchange, type Reply } from "./exchange.ts";
import { bodyTooLarge } from "./json-body.ts";
import { replyHeaders } from "./reply-headers.ts";

interface FetchOptions {
  clock: Clock;
  common: readonly string[];
}

/** Serves the doors to web-standard requests, for callers inside the process and for other runtimes' servers. */
export function createFetchHandlers({ clock, common }: FetchOptions) {
  const open = (context: Context): Exchange => {
    const { raw } = context.req;
    return openExchange({
      method: raw.method,
      target: raw.url,
      // A web-standard request has a body without saying how long it is.
      headers: { ...Object.fromEntries(raw.headers), ...(raw.body !== null && { "transfer-encoding": "chunked" }) },
      remoteAddress: "",
      now: clock.now().getTime(),
      readBody: (limit) => readWebBody(raw, limit),
      openBody: () => Readable.from(raw.body ?? []),
    });
  };
  return {
    serve: (door: Door): Handler => {
      const names = [...door.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
      return async (context) => {
        const exchange = open(context);
        exchange.route = door.path;
        const params = Object.fromEntries(names.map((name, index) => [name, context.req.param(`p${index}`) ?? ""]));
        return toResponse(common, exchange, await door.serve(exchange, params));
      };
    },
    missing:
      (answer: (exchange: Exchange) => Reply): NotFoundHandler =>
      (context) => {
        const exchange = open(context);
        return toResponse(common, exchange, answer(exchange));
      },
  };
}

async function readWebBody(request: Request, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > limit) throw bodyTooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function toResponse(common: readonly string[], exchange: Exchange, reply: Reply): Response {
  const flat = replyHeaders(common, exchange, reply);
  const headers = new Headers();
  for (let index = 0; index < flat.length; index += 2) headers.append(flat[index] ?? "", flat[index + 1] ?? "");
  if (exchange.method === "HEAD") {
    discard(reply);
    return new Response(null, { status: reply.status, headers });
  }
  const body = reply.body instanceof Readable ? (Readable.toWeb(reply.body) as ReadableStream) : reply.body;
  return new Response(body, { status: reply.status, headers });
}
