import { aboutPath, createDenials, createPermissionCheck } from "../operations/permission-check.ts";
import { readQuery } from "../operations/query.ts";
import { budgetOf, limitOf, type RateLimiters, spend, subjectBudget } from "../operations/rate-limit.ts";
import type { LimitClass, Route, RouteInput, RouteSpec } from "../operations/route.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Call } from "../kernel/call.ts";
import { type Denial, isDenial } from "../kernel/denied.ts";
import { type FieldError, ProblemError, validationProblem } from "../kernel/errors.ts";
import { check, fieldErrors } from "../kernel/validation.ts";
import { ZodError } from "zod";

export interface GivenFile {
  id: string;
  name: string;
  bytes: number;
  url: string;
}

/** What the HTTP API would get: parts of a path and a query, a body. */
export interface VerbInput {
  params?: Readonly<Record<string, string>>;
  /** Left out where undefined. */
  query?: Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[] | undefined>>;
  /** Fields that are undefined count as not sent. */
  body?: unknown;
  /** The file of an upload. */
  file?: GivenFile | undefined;
  /** The revision that is meant; any by default. */
  revision?: number | undefined;
}

export interface VerbsDeps {
  clock: Clock;
  limiters: RateLimiters;
  routes: readonly Route[];
  knownPermissions: ReadonlySet<string>;
  /** Why a capability is switched off; undefined while it is on. */
  switchedOff(capability: string): string | undefined;
  /** Bring a file that was given in Discord to where the route wants its upload, for as long as `use` lasts. */
  withFile<T>(spec: RouteSpec, file: GivenFile, use: (file: RouteInput["file"]) => Promise<T>): Promise<T>;
  /** Read a file that was given in Discord for a route that takes a text as its body. @throws ProblemError body_too_large, malformed_request */
  textOf(spec: RouteSpec, file: GivenFile): Promise<string>;
  requests: RequestPlaces;
  /** The limits that count; by default those that count in Discord. */
  counted?: ReadonlySet<LimitClass>;
}

/** Where requests are found. It tells nothing of what somebody may not see: the verbs do not find that. */
export interface RequestPlaces {
  /** The kind in the address of a request, as the caller may know it; undefined when there is none. @param key id or reference, in any case */
  kindOf(key: string, call: Call): Promise<string | undefined>;
  /** Where its card stands, or will: a link or a mention of the channel; undefined where there is none. */
  cardOf(requestId: string): Promise<string | undefined>;
  /** Resolves when something about a request was committed, or after so many milliseconds. */
  changed(requestId: string, ms: number): Promise<void>;
  /** The servers that a request can name as the place it applies in; the name is null until the bot has seen one. */
  servers(): readonly { id: string; name: string | null }[];
}

/** The limits that count in Discord as well: of what costs much, or asks other people for something. */
const dearLimits: ReadonlySet<LimitClass> = new Set(["export", "authorize"]);

/** The verbs behind the HTTP routes, for slash commands: the same right, the same check of what was sent, the same limits, the same verb. */
export interface Verbs {
  /** @throws Error when there is no such operation */
  spec(operation: string): RouteSpec;
  /** Whether somebody may, and whether what is given is sound, without doing it. @throws ProblemError as the route refuses before its handler */
  check(operation: string, call: Call, input: VerbInput): void;
  /** Whether somebody may at all, before anything is looked up for it. @throws ProblemError as the route refuses */
  require(operation: string, call: Call, params: VerbInput["params"]): void;
  /** Whether somebody may call it, and it is switched on; asked for what to offer them, so a refusal is nobody's attempt. */
  may(operation: string, call: Call, params: VerbInput["params"]): boolean;
  /** @returns what the route's handler answers @throws ProblemError as the route refuses */
  run(operation: string, call: Call, input: VerbInput): Promise<unknown>;
  /** A refusal that was told without being thrown, as if the operation had refused. */
  refusal(operation: string, given: VerbInput, error: ProblemError): ProblemError;
  /** What a refusal for lack of rights was about, as the HTTP API notes it; undefined when it came from no verb. */
  denialOf(error: unknown): Denial | undefined;
  /** What was sent with a call that was refused; undefined when the refusal came from no verb. */
  sentWith(error: unknown): VerbInput | undefined;
  requests: RequestPlaces;
}

export function createVerbs(deps: VerbsDeps): Verbs {
  const { clock, limiters, routes, knownPermissions, switchedOff, withFile, textOf, requests, counted = dearLimits } = deps;
  const known = new Map(
    routes.map((route) => {
      const { spec } = route;
      const requireAllowed = createPermissionCheck(spec, knownPermissions);
      return [spec.operationId, { route, requireAllowed, denialOf: createDenials(spec, knownPermissions) }];
    }),
  );
  // What is refused on the way, and left out of an answer, is nobody's attempt: it is noted only once it is told.
  const denials = new WeakMap<object, Denial>();
  const sent = new WeakMap<object, VerbInput>();

  function find(operation: string) {
    const found = known.get(operation);
    if (found === undefined) throw new Error(`there is no operation ${operation}`);
    return found;
  }

  function remember(operation: string, given: VerbInput, error: unknown, isAboutRecord: boolean): unknown {
    const denial = find(operation).denialOf(given.params ?? {}, error, isAboutRecord);
    if (denial !== undefined) denials.set(error as ProblemError, denial);
    if (error instanceof Error) sent.set(error, given);
    return error;
  }

  const whyOff = ({ capability }: RouteSpec): string | undefined => (capability === undefined ? undefined : switchedOff(capability));

  function admit(operation: string, from: Call, given: VerbInput): RouteInput {
    const { route, requireAllowed } = find(operation);
    const { spec } = route;
    const call = aboutPath(from, given.params ?? {});
    requireAllowed(call, given.params ?? {}, false);
    const reason = whyOff(spec);
    if (reason !== undefined) throw new ProblemError("unsupported_operation", { detail: reason, extra: { reason } });
    return read(spec, call, given);
  }

  function takeTokens(spec: RouteSpec, { call, params }: { call: Call; params: VerbInput["params"] }, input: RouteInput): void {
    const limit = limitOf(spec);
    if (!counted.has(limit)) return;
    const [limiter, now] = [limiters[limit], clock.now().getTime()];
    spend(limiter, budgetOf(spec, { clientId: call.client?.id ?? "", actorId: call.actor?.id }, params ?? {}), now);
    if (spec.limitSubject !== undefined) spend(limiter, subjectBudget(spec.limitSubject(input)), now);
  }

  /** A file stands for the body where a route takes a text. It is read only for those who may call the route. */
  async function withText(operation: string, call: Call, given: VerbInput): Promise<VerbInput> {
    const { route, requireAllowed } = find(operation);
    const field = route.spec.request?.textBody?.field;
    if (field === undefined || given.file === undefined) return given;
    requireAllowed(aboutPath(call, given.params ?? {}), given.params ?? {}, false);
    const { file, ...rest } = given;
    // An empty file says as little as a request without a body.
    if (file.bytes === 0) return rest;
    return { ...rest, body: { [field]: await textOf(route.spec, file) } };
  }

  return {
    requests,
    spec: (operation) => find(operation).route.spec,
    denialOf: (error) => (error instanceof Error ? denials.get(error) : undefined),
    sentWith: (error) => (error instanceof Error ? sent.get(error) : undefined),
    refusal(operation, given, error) {
      remember(operation, given, error, true);
      return error;
    },
    require(operation, call, params = {}) {
      try {
        find(operation).requireAllowed(aboutPath(call, params), params, false);
      } catch (error) {
        throw remember(operation, { params }, error, false);
      }
    },
    may(operation, call, params = {}) {
      const { route, requireAllowed } = find(operation);
      try {
        requireAllowed(aboutPath(call, params), params, false);
        return whyOff(route.spec) === undefined;
      } catch (error) {
        if (isDenial(error)) return false;
        throw error;
      }
    },
    check(operation, call, given) {
      try {
        const { body } = admit(operation, call, given);
        find(operation).route.spec.request?.understand?.(body);
      } catch (error) {
        const refused = error instanceof ZodError ? validationProblem(fieldErrors(error.issues, "body")) : error;
        throw remember(operation, given, refused, false);
      }
    },
    async run(operation, call, asked) {
      const { route } = find(operation);
      let isAdmitted = false;
      try {
        const given = await withText(operation, call, asked);
        const input = admit(operation, call, given);
        isAdmitted = true;
        takeTokens(route.spec, { call, params: given.params }, input);
        if (given.file === undefined) return await route.handle(input);
        return await withFile(route.spec, given.file, (file) => route.handle({ ...input, file }));
      } catch (error) {
        throw remember(operation, asked, error, isAdmitted);
      }
    },
  };
}

/** Everything that is wrong is told at once, with the same pointers as over HTTP. */
function read({ request, method, success }: RouteSpec, call: Call, given: VerbInput): RouteInput {
  const errors: FieldError[] = [];
  const params = request?.params === undefined ? {} : check(request.params, given.params ?? {}, "path", errors);
  const query = readQuery(searchOf(given.query ?? {}), request?.query, success.shape === "list" || success.shape === "raw", errors);
  const body = request?.body === undefined ? undefined : check(request.body, withoutGaps(given.body ?? {}), "body", errors, request.byLine);
  if (errors.length > 0) throw validationProblem(errors);
  return {
    call,
    params: params as RouteInput["params"],
    query: query as RouteInput["query"],
    body,
    file: undefined,
    ifMatch: method === "get" ? undefined : given.revision,
    ifNoneMatch: undefined,
    lastEventId: undefined,
  };
}

function searchOf(query: NonNullable<VerbInput["query"]>): string {
  const sent = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one): [string, string] => [name, one.toString()]),
  );
  return new URLSearchParams(sent).toString();
}

/** As JSON would carry it. */
function withoutGaps(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body)) as unknown;
}
