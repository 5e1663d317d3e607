import { compress } from "hono/compress";
import { Hono, type ErrorHandler, type Handler, type MiddlewareHandler, type NotFoundHandler } from "hono";
import type { Logger } from "pino";
import type { Operator } from "../config/config.ts";
import type { Claims } from "../cluster/claims.ts";
import type { Clock } from "../kernel/clock.ts";
import type { NoteDenied } from "../kernel/denied.ts";
import { ProblemError, validationProblem, type FieldError } from "../kernel/errors.ts";
import { createSemaphore, type SemaphoreOptions } from "../kernel/semaphore.ts";
import { checkRoutes, type KnownPermissions } from "../operations/answer-check.ts";
import type { Authenticate } from "../operations/caller.ts";
import { bindingsOf, respond, type HttpEnv, type HttpContext, type RequestInfo } from "./context.ts";
import type { HttpDeps } from "./deps.ts";
import { admit, prefersHtml, takeToken } from "./middleware/admit.ts";
import { createAccessLog, createAddressReader, requestContext, targetOf, type LogDestination } from "./middleware/request-context.ts";
import { authenticateByToken, type AnsweredRequest, type MetricsOptions, metricsRoute } from "./metrics.ts";
import { handleMcp, mcpSpec, type McpOptions } from "./mcp.ts";
import { createIdempotencyKeys } from "./middleware/idempotency.ts";
import { limitOf, type RateLimiters, subjectBudget, type RateLimiter } from "../operations/rate-limit.ts";
import { addressed, createDocument, type DocumentInfo, type OpenApiDocument } from "./openapi/document.ts";
import type { Publisher } from "../pages/reader.ts";
import type { HtmlPage, PageInput } from "./pages/page.ts";
import { problemPage, problemPages } from "./pages/problem-pages.ts";
import { problemReply, toProblem, asError } from "./problem.ts";
import { type Method, routesFor, type Route, type RawAnswer } from "../operations/route.ts";
import { createPresenter } from "./answer.ts";
import { createBodyReader, noBody } from "./request/body.ts";
import { createContentReader } from "./request/content.ts";
import { hash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { z } from "zod";
import { check } from "../kernel/validation.ts";
import { readBody } from "./request/body-stream.ts";
import { announcesBody, checkBodyHeaders, textForm } from "./request/media.ts";
import { readQuery } from "../operations/query.ts";
import { groupBy } from "../kernel/group.ts";

/** What a request may bring beyond what browsers let every page send. */
const requestHeaders =
  "Authorization, X-API-Key, X-Acting-User, X-Acting-Assertion, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Api-Version, X-Request-Id";
/** What a page may read of an answer beyond its status and body. */
const answerHeaders =
  "Api-Version, Content-Disposition, ETag, Idempotency-Replayed, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Key-Expires-At, X-Request-Id";
/** Seconds for which a browser need not ask again. */
const maxAge = "600";

/** How pages of other origins may use the routes. */
interface CrossOrigin {
  /** Lets a page of a listed origin read whatever the route answers, refusals as well. */
  shared: MiddlewareHandler<HttpEnv>;
  /** Answers, for each address of routes, what a browser asks before a request that not every page may make. */
  preflights(routes: readonly Route[]): { path: string; handler: Handler<HttpEnv> }[];
}

/**
 * The protocol of browsers for other origins (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol), without cookies. Hono's middleware
 * would make each answer a second time to add its headers, and answers preflights of origins that are not listed.
 * @param origins as browsers write them
 * @param limiter counts preflights by address, as every request without credentials
 */
function createCrossOrigin(origins: readonly string[], limiter: RateLimiter): CrossOrigin {
  const listed = new Set(origins);

  function allow({ headers: { origin }, responseHeaders }: RequestInfo): boolean {
    responseHeaders["vary"] = "Origin";
    if (typeof origin !== "string" || !listed.has(origin)) return false;
    responseHeaders["access-control-allow-origin"] = origin;
    responseHeaders["access-control-expose-headers"] = answerHeaders;
    return true;
  }

  function preflight(path: string, methods: readonly Method[]): Handler<HttpEnv> {
    const headers = {
      "access-control-allow-methods": namesOf(methods),
      "access-control-allow-headers": requestHeaders,
      "access-control-max-age": maxAge,
    };
    return (c) => {
      const request = c.get("request");
      if (!allow(request)) return c.notFound();
      request.route = path;
      takeToken(limiter, request.network, request);
      return respond(c, { status: 204, type: "", body: null, headers });
    };
  }

  return {
    shared: (c, next) => {
      allow(c.get("request"));
      return next();
    },
    preflights: (routes) => {
      const byAddress = groupBy(routes, ({ spec }) => spec.path.replaceAll(/\{\w+\}/g, "{}"));
      return [...byAddress.values()].map((same) => {
        const path = same[0]?.spec.path ?? "";
        return { path, handler: preflight(path, same.map(({ spec }) => spec.method).toSorted()) };
      });
    },
  };
}

/** As `Allow` and its like have them. */
function namesOf(methods: readonly Method[]): string {
  return methods
    .map((method) => method.toUpperCase())
    .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .join(", ");
}

/** Bytes of a form. */
const formLimit = 16 * 1024;
const forms = [textForm("application/x-www-form-urlencoded")];

/** Serve a page: without credentials, limited by address. */
function handlePage({ spec, handle }: HtmlPage, { limiters, isShuttingDown }: HttpDeps): Handler<HttpEnv> {
  return async (c) => {
    const request = c.get("request");
    request.route = spec.path;
    request.isPage = true;
    if (isShuttingDown(c)) throw new ProblemError("shutting_down");
    takeToken(limiters.read, request.network, request);
    const response = await readPageInput(spec, c)
      .then((input) => handle(c, input))
      .catch((error: unknown) => Promise.reject(asError(error)));
    for (const [name, value] of Object.entries({ "cache-control": "no-store", ...request.responseHeaders }))
      if (!response.headers.has(name)) response.headers.set(name, value);
    return response;
  };
}

async function readPageInput({ request: schemas, hasFiles }: HtmlPage["spec"], c: HttpContext): Promise<PageInput> {
  const request = c.get("request");
  const form = request.method === "POST" && hasFiles !== true ? await readForm(c) : "";
  const errors: FieldError[] = [];
  const parse = (schema: z.ZodType | undefined, value: unknown, where: FieldError["in"]): unknown =>
    schema === undefined ? value : check(schema, value, where, errors);
  const input = {
    params: parse(schemas?.params, c.req.param(), "path"),
    query: readQuery(request.search, schemas?.query, false, errors),
    form: parse(schemas?.form, Object.fromEntries(new URLSearchParams(form)), "body"),
  };
  // An address that no page can have is nobody's fault: there is nothing there.
  if (errors.some(({ in: where }) => where === "path")) throw new ProblemError("route_not_found", { detail: "There is no such page." });
  if (errors.length > 0) throw validationProblem(errors);
  return input as PageInput;
}

async function readForm(c: HttpContext): Promise<string> {
  const request = c.get("request");
  if (!announcesBody(request)) return "";
  checkBodyHeaders(request, forms, () => formLimit);
  return (await readBody(c, formLimit)).toString("utf8");
}

export interface HttpAppOptions {
  routes: readonly Route[];
  pages: readonly HtmlPage[];
  authenticate: Authenticate;
  /** Told about every refusal of a known caller for lack of rights. */
  noteDenied?: NoteDenied;
  /** Shared with the other transports. */
  limiters: RateLimiters;
  /** Where other processes answer for the same database. */
  claims?: Claims | undefined;
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
  /** Key of the fingerprints of bodies that came with an idempotency key. */
  fingerprintKey: Buffer;
  /** Addresses and networks whose `X-Forwarded-For` counts. */
  trustedProxies?: readonly string[];
  /** How browsers reach the service. */
  publicUrl?: string;
  /** Origins whose pages may use the routes; none by default. */
  corsOrigins?: readonly string[];
  /** Whom the pages name; nobody by default. */
  operator?: Operator;
  /** The address in the document, asked when that is made; `publicUrl` by default. */
  documentedUrl?: () => string;
  info: DocumentInfo;
  /** The document as a build has it ready. */
  builtDocument?: (unsupportedStatus: 501 | 404) => OpenApiDocument | undefined;
  /** How many requests are worked on at once, and how many more may wait. */
  gate?: Pick<SemaphoreOptions, "places" | "waiting">;
  /** What is answered at `/metrics`; without it that is an address like any that does not exist. */
  metrics?: MetricsOptions | undefined;
  /** What is answered at `/mcp`; without it that is an address like any that does not exist. */
  mcp?: McpOptions | undefined;
  /** Called with how each request ended. */
  onAnswer?: ((ended: AnsweredRequest) => void) | undefined;
}

export interface HttpApp extends Hono<HttpEnv> {
  /** The OpenAPI 3.1 document, made each time. */
  document(): OpenApiDocument;
  /** Every route, with whether it can be used as this installation is set up. */
  registry(): RegistryEntry[];
}

/** One line of the route registry. */
export interface RegistryEntry {
  method: string;
  path: string;
  supported: boolean;
}

const proxyIgnored =
  "A request came through a proxy (X-Forwarded-For), but TRUSTED_PROXIES is empty: everybody behind that proxy shares the limits of one address. If the proxy is yours, set TRUSTED_PROXIES to its address and restart.";

const defaultGate = { places: 256, waiting: 1024 };

/**
 * The HTTP side of the service: a Hono app of every route and page, and of the document made from them.
 * @throws Error naming the route when one is unguarded or ambiguous
 */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const { clock, logger, publicUrl, documentedUrl = () => publicUrl ?? "/", unsupportedStatus, trustedProxies = [] } = options;
  // The path as it was sent: decoded and cleaned it might lead elsewhere than a proxy in front believes.
  const app = new Hono<HttpEnv>({ getPath: (request, given) => pathOf(request, given?.env) });
  const routes: readonly Route[] = [...options.routes, documentRoute(() => document())];
  const publisher = publisherOf(options);
  const pages = [...options.pages, ...problemPages(publisher)];
  checkRoutes(routes, pages, options.known);
  const deps = createDeps(options);

  app.use(
    requestContext({
      clock,
      publicUrl,
      addressOf: createAddressReader(trustedProxies, () => logger.warn(proxyIgnored)),
      log: options.accessLog === undefined ? undefined : createAccessLog(options.accessLog),
      onAnswer: options.onAnswer,
    }),
  );
  const served = [
    ...serveRoutes(routes, deps, options.corsOrigins ?? []),
    ...(options.metrics === undefined
      ? []
      : [serveRoute(metricsRoute(options.metrics), { ...deps, authenticate: authenticateByToken(options.metrics) })]),
    ...(options.mcp === undefined ? [] : [{ spec: mcpSpec, middleware: [admit(mcpSpec, deps)], handler: handleMcp(options.mcp, deps) }]),
    ...pages.map((page): Served => ({ spec: page.spec, middleware: [], handler: handlePage(page, deps) })),
  ];
  // Fixed paths come before those with parameters, so that `/callsigns/next` is never taken for an id.
  for (const { spec, middleware, handler } of served.toSorted((a, b) => compareSpecificity(a.spec.path, b.spec.path)))
    app.on(spec.method, [spec.path.replaceAll(/\{(\w+)\}/g, ":$1")], ...middleware, handler);
  app.notFound(answerMissing(app, unsupportedStatus, publisher));
  app.onError(answerError(options, publisher));
  const registry = (): RegistryEntry[] =>
    routes.map(({ spec: { method, path, capability } }) => {
      return { method: method.toUpperCase(), path, supported: capability === undefined || options.switchedOff(capability) === undefined };
    });
  const document = (): OpenApiDocument =>
    addressed(
      options.builtDocument?.(unsupportedStatus) ?? createDocument({ routes, pages, unsupportedStatus }),
      options.info,
      documentedUrl(),
    );
  return Object.assign(app, { document, registry });
}

function pathOf(request: Request, env: HttpEnv["Bindings"] | undefined): string {
  const target = targetOf(request, env?.incoming);
  const query = target.indexOf("?");
  return query === -1 ? target : target.slice(0, query);
}

function publisherOf({ publicUrl, operator = { name: null, contact: null } }: HttpAppOptions): Publisher {
  return { publicUrl: () => publicUrl ?? "http://localhost", operator };
}

function createDeps(options: HttpAppOptions): HttpDeps {
  return {
    ...options,
    gate: createSemaphore({ ...(options.gate ?? defaultGate), refusal: "overloaded" }),
    idempotency: createIdempotencyKeys(options.fingerprintKey, options.claims),
    isShuttingDown: (c) => bindingsOf(c).serving?.isClosing === true || options.isShuttingDown(),
  };
}

const zip = compress();
/** Long lists shrink to a tenth. Who does not ask for it goes past Hono's middleware, which would copy the headers of every answer. */
const compressed: MiddlewareHandler<HttpEnv> = (c, next) =>
  c.get("request").headers["accept-encoding"] === undefined ? next() : zip(c, next);

interface Served {
  spec: { method: Method | "options"; path: string };
  middleware: MiddlewareHandler<HttpEnv>[];
  handler: Handler<HttpEnv>;
}

/** The routes; with other origins also what browsers ask before they use one of them from there. */
function serveRoutes(routes: readonly Route[], deps: HttpDeps, origins: readonly string[]): Served[] {
  const served = routes.map((route) => serveRoute(route, deps));
  if (origins.length === 0) return served;
  const { shared, preflights } = createCrossOrigin(origins, deps.limiters.read);
  const asked = preflights(routes).map(({ path, handler }): Served => ({ spec: { method: "options", path }, middleware: [], handler }));
  return [...served.map((one) => ({ ...one, middleware: [shared, ...one.middleware] })), ...asked];
}

function serveRoute(route: Route, deps: HttpDeps): Served {
  const admitted = admit(route.spec, deps);
  const middleware = route.spec.success.shape === "list" ? [compressed, admitted] : [admitted];
  return { spec: route.spec, middleware, handler: handleRoute(route, deps) };
}

function compareSpecificity(a: string, b: string): number {
  const shape = (path: string): string => path.replace(/\{\w+\}/g, "\u{10ffff}");
  return shape(a) < shape(b) ? -1 : 1;
}

const methods: readonly Method[] = ["delete", "get", "patch", "post", "put"];

/** Nothing is at an address: 405 with the methods it knows, or 404; HTML for a browser that opens it. */
function answerMissing(app: Hono<HttpEnv>, unsupportedStatus: 501 | 404, publisher: Publisher): NotFoundHandler<HttpEnv> {
  const knows = (method: string, path: string): boolean =>
    app.router.match(method, path)[0].some(([[, { method: registered }]]) => registered !== "ALL");
  return async (c) => {
    const request = c.get("request");
    const allowed = methods.filter((method) => knows(method.toUpperCase(), request.path));
    const allow = namesOf(allowed);
    const isUnknown = allowed.length === 0;
    const problem = isUnknown
      ? new ProblemError("route_not_found")
      : new ProblemError("method_not_allowed", { detail: `This route knows ${allow}.`, extra: { allow } });
    // The address of a form that is opened by hand, or a form that is sent to one of a page: browsers know no other methods.
    const isPage = prefersHtml(request) && (isUnknown || request.method === "GET" || request.method === "POST");
    return respond(c, isPage ? await problemPage(problem, request, publisher) : problemReply(request, problem, unsupportedStatus));
  };
}

/** Whatever was thrown, as a refusal the caller may see. The message of what nobody expected goes to the log alone. */
function answerError({ logger, noteDenied, unsupportedStatus }: HttpAppOptions, publisher: Publisher): ErrorHandler<HttpEnv> {
  return async (error, c) => {
    const request = c.get("request");
    const { audited, denialOf, isAdmitted, requestId } = request;
    const denial = audited === undefined ? undefined : denialOf?.(c.req.param(), error, isAdmitted);
    if (audited !== undefined && denial !== undefined) noteDenied?.({ caller: audited, ...denial });
    const known = toProblem(error);
    if (known === undefined) logger.error({ err: error, request_id: requestId }, "unexpected error");
    const problem = known ?? new ProblemError("internal_error", { detail: "Quote the request id when you report this." });
    const { isPage } = request;
    return respond(c, isPage ? await problemPage(problem, request, publisher) : problemReply(request, problem, unsupportedStatus));
  };
}

/** Read the content, let the service do it, present what it answers. */
export function handleRoute({ spec, handle }: Route, deps: HttpDeps): Handler<HttpEnv> {
  const { gate, idempotency, limiters } = deps;
  const isRead = spec.method === "get";
  const limiter = limiters[limitOf(spec)];
  const readBody = createBodyReader(spec);
  const readContent = createContentReader(spec, deps.requireIfMatch);
  const present = createPresenter(spec);

  return async (c) => {
    const request = c.get("request");
    const caller = c.get("caller");
    request.isAdmitted = true;
    const body = isRead ? noBody : await readBody(c);
    try {
      const checked = caller.checkBody?.(body.digest());
      if (checked instanceof Promise) await checked;
      if (body.prepare !== undefined) await body.prepare();
      const input = readContent(request, c.req.param(), isRead ? undefined : body, caller.call);
      if (spec.limitSubject !== undefined) takeToken(limiter, subjectBudget(spec.limitSubject(input)), request);
      const turn = spec.probe === true ? undefined : gate.acquire();
      const leave = turn instanceof Promise ? await turn : turn;
      try {
        const answered = await (isRead ? handle(input) : idempotency.run(request, caller, body, spec.success.status, () => handle(input)));
        if (caller.call.replayed) request.responseHeaders["idempotency-replayed"] = "true";
        return respond(c, present(request, answered));
      } finally {
        leave?.();
      }
    } catch (error) {
      throw asError(error);
    } finally {
      if (body.discard !== undefined) await body.discard();
    }
  };
}

/** `GET /openapi.json`, written once from the one document of the app. */
export function documentRoute(document: () => OpenApiDocument): Route {
  let written: RawAnswer | undefined;
  const write = (): RawAnswer => {
    const body = Buffer.from(JSON.stringify(document()));
    const etag = `W/"${hash("sha256", body, "base64url").slice(0, 22)}"`;
    return { body, gzip: gzipSync(body), headers: { etag, "cache-control": "no-cache", vary: "Accept-Encoding" } };
  };
  return routesFor("documents").get("/openapi.json", "getOpenApiDocument", {
    summary: "This document",
    access: { public: true },
    success: {
      status: 200,
      shape: "raw",
      mediaType: "application/json",
      hasEtag: true,
      schema: z.looseObject({ openapi: z.string() }),
      description: "An OpenAPI 3.1 document",
    },
    handle: async () => (written ??= write()),
  });
}
