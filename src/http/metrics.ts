import { hash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { Authenticate } from "../operations/caller.ts";
import { type Route, routesFor } from "../operations/route.ts";
import { ProblemError } from "../kernel/errors.ts";

/** Metrics are collected with a token of their own, which is no API key. */
export interface MetricsOptions {
  token: string;
  contentType: string;
  text(): Promise<string>;
}

/** How a request ended. */
export interface AnsweredRequest {
  method: string;
  /** The path of the route, as the document has it; empty where there is none. */
  route: string;
  /** 499 when the client left before its answer. */
  status: number;
  milliseconds: number;
}

const permission = "system.health.read";

/** `GET /metrics`. It is no part of the contract: neither the document nor `/health` lists it. */
export function metricsRoute({ contentType, text }: MetricsOptions): Route {
  return routesFor("metrics").get("/metrics", "getMetrics", {
    summary: "What is measured, in the text format of Prometheus",
    access: { permission },
    success: { status: 200, shape: "raw", mediaType: "text/plain", schema: z.string(), description: "Metrics" },
    handle: async () => ({ type: contentType, body: await text() }),
  });
}

/** Accepts the token for the metrics, and for nothing else. */
export function authenticateByToken({ token }: MetricsOptions): Authenticate {
  const digest = (text: string): Buffer => hash("sha256", text, "buffer");
  const wanted = digest(token);
  const never = new Date(8.64e15);
  return ({ presented, requestId }) => {
    if (presented === undefined || !timingSafeEqual(digest(presented), wanted)) throw new ProblemError("invalid_credentials");
    const client = { id: "metrics", name: "metrics", allows: (asked: string) => asked === permission };
    return {
      call: { client, actor: null, via: "rest", requestId, idempotency: null, replayed: false },
      client: { id: client.id, keyId: client.id, expiresAt: never },
    };
  };
}
