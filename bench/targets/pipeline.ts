import { hash } from "node:crypto";
import { pino } from "pino";
import { createLogDestination } from "../../src/logger.ts";
import { z } from "zod";
import { createHttpApp } from "../../src/http/http-app.ts";
import { createRateLimiters } from "../../src/operations/rate-limit.ts";
import { listen } from "../../src/http/listen.ts";
import type { Authenticate } from "../../src/operations/caller.ts";
import { routesFor } from "../../src/operations/route.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { Snowflake } from "../../src/kernel/fields.ts";
import { benchKey, payload, type Target } from "../target.ts";

const routes = routesFor("bench");

const AccessView = z.object({ id: Snowflake, is_staff: z.boolean() });
const success = { status: 200, shape: "single", schema: AccessView, description: "The answer" } as const;
const guard = { summary: "Measured", access: { permission: "staff.access.read" } as const };

const plain = routes.get("/plain", "getPlain", {
  ...guard,
  success,
  handle: async () => payload,
});
const headers = { Authorization: `Bearer ${benchKey}` };

/** The whole pipeline with its log line, on a route that answers a constant. */
export const pipeline: Target = { request: { paths: ["/plain"], headers }, start };

async function start(): Promise<number> {
  const plenty = { count: 100_000_000, seconds: 60 };
  const logger = pino({ base: null });
  const app = createHttpApp({
    routes: [plain],
    pages: [],
    authenticate: createStandInAuthentication(),
    limiters: createRateLimiters({ read: plenty, write: plenty, authorize: plenty, export: plenty, failed_auth: plenty }),
    logger,
    accessLog: createLogDestination("/dev/null"),
    clock: systemClock,
    known: { permissions: new Set(["staff.access.read"]), expansions: {} },
    switchedOff: () => undefined,
    unsupportedStatus: 501,
    isShuttingDown: () => false,
    requireIfMatch: false,
    fingerprintKey: Buffer.alloc(32),
    info: { title: "bench", version: "0" },
  });
  return (await listen(app, { host: "127.0.0.1", port: 0, logger })).port;
}

/** A hashed-key check with the warm path of a real one: one-shot SHA-256, a map of verified keys. */
function createStandInAuthentication(): Authenticate {
  const client = { id: "key", name: "bench", allows: (permission: string) => permission === "staff.access.read" };
  const known = { id: "key", keyId: "Bench0000000", expiresAt: new Date(Date.now() + 365 * 86_400_000) };
  const verified = new Map([[hash("sha256", benchKey, "base64url"), { client, known }]]);
  return ({ presented, requestId }) => {
    const key = presented === undefined ? undefined : verified.get(hash("sha256", presented, "base64url"));
    if (key === undefined) throw new ProblemError("invalid_credentials");
    return { call: { client: key.client, actor: null, via: "rest", requestId, idempotency: null, replayed: false }, client: key.known };
  };
}
