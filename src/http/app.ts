import type { Handler } from "hono";
import type { Logger } from "pino";
import type { Clock } from "../kernel/clock.ts";
import type { NoteDenied } from "../kernel/denied.ts";
import { createAccessLog, type LogDestination } from "./access-log.ts";
import { checkRoutes, type KnownPermissions } from "./boot-check.ts";
import type { Authenticate } from "./caller.ts";
import { documentRoute } from "./document-route.ts";
import type { Door, DoorGround } from "./door.ts";
import { createDoorFinder } from "./doors.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { createFetchHandlers } from "./fetch-handler.ts";
import { createGate, type GateOptions } from "./gate.ts";
import { createIdempotencyKeys } from "./idempotency.ts";
import { prefersHtml } from "./negotiation.ts";
import { createNodeListener } from "./node-listener.ts";
import { createDocument, type DocumentInfo, registerRoutes } from "./openapi.ts";
import type { HtmlPage } from "./page.ts";
import { createPageDoor, plainPage } from "./page-door.ts";
import { createRefusals, type Refusals } from "./problem.ts";
import { problemPages } from "./problem-pages.ts";
import { createAddressReader } from "./remote-address.ts";
import { createRateLimiters, type RateLimits } from "./rate-limit.ts";
import type { Route } from "./route.ts";
import { createRouteDoor, isSupported } from "./route-door.ts";
import { commonHeaders } from "./reply-headers.ts";
import { defaultTimeouts, listen, type ServerTimeouts } from "./server.ts";

export interface HttpAppOptions {
  routes: readonly Route[];
  pages: readonly HtmlPage[];
  authenticate: Authenticate;
  /** Told about every refusal of a known caller for lack of rights. */
  noteDenied?: NoteDenied;
  limits: RateLimits;
  logger: Logger;
  /** Where request lines go; without it none are written. They hold no secret. */
  accessLog?: LogDestination;
  clock: Clock;
  known: KnownPermissions;
  /** The reason why an optional capability is switched off, or undefined while it is on. */
  switchedOff: (capability: string) => string | undefined;
  unsupportedStatus: 501 | 404;
  isShuttingDown: () => boolean;
  requireIfMatch: boolean;
  /** Addresses and networks whose `X-Forwarded-For` counts. */
  trustedProxies?: readonly string[];
  publicUrl?: string;
  info: DocumentInfo;
  gate?: GateOptions;
  /** For tests: an answer that does not fit its schema becomes a 500. */
  validateAnswers?: boolean;
}

/** One line of the route registry. */
export interface RegistryEntry {
  method: string;
  path: string;
  supported: boolean;
}

export type HttpApp = ReturnType<typeof createHttpApp>;

const proxyIgnored =
  "A request came with X-Forwarded-For, and TRUSTED_PROXIES is empty: everybody behind that proxy shares the limits of one address. If it is yours, name its address there.";

const defaultGate: GateOptions = { running: 256, waiting: 1024 };

/**
 * The HTTP side of the service: every route and page behind one pipeline, and the document made from them.
 * @throws Error naming the route when one is unguarded or ambiguous
 */
export function createHttpApp(options: HttpAppOptions) {
  const { clock, logger, publicUrl, switchedOff } = options;
  const routes: readonly Route[] = [...options.routes, documentRoute(() => document())];
  const pages = [...options.pages, ...problemPages()];
  checkRoutes(routes, pages, options.known);

  let isClosing = false;
  let bodyMs = defaultTimeouts.request;
  const isShuttingDown = (): boolean => isClosing || options.isShuttingDown();
  const onUnexpected = (error: unknown, requestId: string): void => logger.error({ err: error, request_id: requestId }, "unexpected error");
  const refuse = createRefusals({ unsupportedStatus: options.unsupportedStatus, onUnexpected });
  const ground = createGround(options, refuse, isShuttingDown);
  const doors: Door[] = [
    ...routes.map((route) => createRouteDoor(route, ground)),
    ...pages.map((page) => createPageDoor(page, ground, onUnexpected)),
  ];

  const common = commonHeaders(publicUrl);
  const handlers = createFetchHandlers({ clock, common });
  const finder = createDoorFinder(doors, (door): Handler => handlers.serve(door));
  /** The answer for an unknown address: HTML where the client asks for that, otherwise a problem document. */
  const missing = (exchange: Exchange): Reply => {
    const problem = finder.missing(exchange.path);
    return problem.code === "route_not_found" && prefersHtml(exchange) ? plainPage(problem, exchange) : refuse(exchange, problem);
  };
  finder.app.notFound(handlers.missing(missing));
  registerRoutes(finder.app.openAPIRegistry, routes, pages, options.unsupportedStatus);
  let made: Record<string, unknown> | undefined;
  const document = (): Record<string, unknown> => (made ??= createDocument(finder.app, options.info, publicUrl));

  const log = options.accessLog === undefined ? undefined : createAccessLog(options.accessLog);
  const listener = createNodeListener({
    find: finder.find,
    missing,
    refuse,
    clock,
    log,
    common,
    addressOf: createAddressReader(options.trustedProxies ?? [], () => logger.warn(proxyIgnored)),
    isShuttingDown,
    bodyMs: () => bodyMs,
    onUnexpected,
  });
  return {
    /** Serve a web-standard request, as Hono does. */
    fetch: finder.app.fetch,
    listener,
    /** The OpenAPI 3.1 document. */
    document,
    /** Every route, with whether it can be used as this installation is set up. */
    registry: (): RegistryEntry[] =>
      routes.map(({ spec }) => ({ method: spec.method.toUpperCase(), path: spec.path, supported: isSupported(spec, switchedOff) })),
    /** Listen on a socket; closing it finishes the requests in work. */
    async listen({ host, port, timeouts = {} }: { host: string; port: number; timeouts?: Partial<ServerTimeouts> }) {
      bodyMs = timeouts.request ?? defaultTimeouts.request;
      const server = await listen({ host, port, timeouts, listener, common, logger });
      const close = (): Promise<void> => {
        isClosing = true;
        return server.close();
      };
      return { port: server.port, close };
    },
  };
}

function createGround(options: HttpAppOptions, refuse: Refusals, isShuttingDown: () => boolean): DoorGround {
  return {
    authenticate: options.authenticate,
    ...(options.noteDenied !== undefined && { noteDenied: options.noteDenied }),
    limiters: createRateLimiters(options.limits),
    gate: createGate(options.gate ?? defaultGate),
    idempotency: createIdempotencyKeys(),
    refuse,
    switchedOff: options.switchedOff,
    knownPermissions: options.known.permissions,
    isShuttingDown,
    requireIfMatch: options.requireIfMatch,
    validateAnswers: options.validateAnswers ?? false,
  };
}
