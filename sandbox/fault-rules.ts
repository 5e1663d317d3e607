/** One injected REST failure. */
export type RestFault = {
  /** `GET /guilds/:id/members`; names of parameters do not matter, `*` alone means every route. With ids in their place, it means those alone. */
  route: string;
  /** HTTP status of the answer; not needed with `hang`. */
  status?: number;
  /** Seconds, for 429 (default 1); told in `Retry-After` and in the body. */
  retryAfter?: number;
  /** A 429 of the whole application instead of the route. */
  global?: boolean;
  /** How many calls are hit; default 1. */
  times?: number;
  /** Never answer; the caller's own time limit must end it. */
  hang?: boolean;
  /** JSON to answer with instead of Discord's own. */
  body?: unknown;
  /** A page to answer with instead of JSON, as a proxy on the way would. */
  html?: string;
  /** The call has its effect, and only its answer is lost. */
  late?: boolean;
};

export type FaultHandle = { readonly hits: number; clear(): void };

export type FaultRules = ReturnType<typeof createFaultRules>;

const normal = (route: string) =>
  route
    .trim()
    .replace(/\{[^}]*\}|:[A-Za-z_]\w*/g, ":")
    .replace(/\/$/, "");

/** Failures waiting for a matching call; earlier ones go first. */
export function createFaultRules() {
  const rules: { fault: RestFault; route: string; left: number; hits: number }[] = [];
  return {
    add(fault: RestFault): FaultHandle {
      const rule = { fault, route: normal(fault.route), left: fault.times ?? 1, hits: 0 };
      rules.push(rule);
      return {
        get hits() {
          return rule.hits;
        },
        clear() {
          rule.left = 0;
        },
      };
    },
    /** The failure for this call, which uses it up once. */
    take(method: string, template: string, path = template): RestFault | undefined {
      const routes = new Set(["*", normal(`${method} ${template}`), normal(`${method} ${path}`)]);
      const rule = rules.find(({ left, route }) => left > 0 && routes.has(route));
      if (!rule) return undefined;
      rule.left -= 1;
      rule.hits += 1;
      return rule.fault;
    },
    clear(): void {
      rules.length = 0;
    },
  };
}

/** The answer of an injected failure. Source of the 429 shape: Discord's rate limit documentation. */
export function faultResponse(fault: RestFault): Response {
  const status = fault.status ?? 500;
  if (fault.html !== undefined) return new Response(fault.html, { status, headers: { "Content-Type": "text/html; charset=UTF-8" } });
  if (status !== 429) return Response.json(fault.body ?? { message: `${status}: injected failure`, code: 0 }, { status });
  const seconds = fault.retryAfter ?? 1;
  const global = fault.global ?? false;
  return Response.json(fault.body ?? { message: "You are being rate limited.", retry_after: seconds, global }, {
    status,
    headers: {
      "Retry-After": seconds.toString(),
      "X-RateLimit-Scope": global ? "global" : "user",
      ...(global ? { "X-RateLimit-Global": "true" } : bucketHeaders(seconds)),
    },
  });
}

const bucketHeaders = (seconds: number) => ({
  "X-RateLimit-Limit": "5",
  "X-RateLimit-Remaining": "0",
  "X-RateLimit-Reset-After": seconds.toString(),
  "X-RateLimit-Bucket": "sandbox",
});
