import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import { timing } from "hono/timing";
import { createHmac, timingSafeEqual } from "node:crypto";
import { pino } from "pino";
import { benchKey, envelope, type Target } from "../target.ts";

const pepper = "bench";
const keyHash = createHmac("sha256", pepper).update(benchKey).digest();

/** The same duties from Hono's own middlewares and hand-written ones in the form they usually have. */
export const stock: Target = {
  request: { paths: ["/staff/80351110224678912/access"], headers: { Authorization: `Bearer ${benchKey}` } },
  start: () => {
    const logger = pino({ base: null }, pino.destination({ dest: "/dev/null", sync: false }));
    const counts = new Map<string, { count: number; resetAt: number }>();
    const app = new Hono<{ Variables: { key: string } }>();
    app.use(requestId());
    app.use(timing());
    app.use(async (c, next) => {
      const startedAt = performance.now();
      await next();
      logger.info(
        { method: c.req.method, path: c.req.path, status: c.res.status, ms: performance.now() - startedAt, requestId: c.get("requestId") },
        "request",
      );
    });
    app.use(secureHeaders());
    app.use(bodyLimit({ maxSize: 256 * 1024 }));
    app.use(async (c, next) => {
      const token = c.req.header("authorization")?.replace("Bearer ", "") ?? "";
      const digest = createHmac("sha256", pepper).update(token).digest();
      if (!timingSafeEqual(digest, keyHash)) return c.json({ success: false }, 401);
      c.set("key", token);
      return next();
    });
    app.use(async (c, next) => {
      const now = Date.now();
      const known = counts.get(c.get("key"));
      const entry = known === undefined || known.resetAt < now ? { count: 0, resetAt: now + 60_000 } : known;
      entry.count += 1;
      counts.set(c.get("key"), entry);
      await next();
      c.header("RateLimit-Remaining", String(100_000_000 - entry.count));
    });
    app.get("/staff/:id/access", (c) => c.json(envelope));
    return new Promise((resolve) => serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => resolve(port)));
  },
};
