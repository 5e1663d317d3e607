import type { Handler } from "hono";
import { z } from "zod";
import { ProblemError, validationProblem, problems, type FieldError, type ProblemCode } from "../../kernel/errors.ts";
import { check } from "../../kernel/validation.ts";
import type { HttpDeps } from "../deps.ts";
import type { HttpContext, HttpEnv, Reply, RequestInfo } from "../context.ts";
import { takeToken } from "../middleware/rate-limit.ts";
import { readBody } from "../request/body-stream.ts";
import { announcesBody, checkBodyHeaders, textForm } from "../request/media.ts";
import { readQuery } from "../../operations/query.ts";
import { asError } from "../problem.ts";
import { plainPage, page, type HtmlPage, type PageInput } from "./page.ts";

/** Bytes of a form. */
const formLimit = 16 * 1024;
const forms = [textForm("application/x-www-form-urlencoded")];

/** Serve a page: without credentials, limited by address. */
export function handlePage({ spec, handle }: HtmlPage, { limiters, isShuttingDown }: HttpDeps): Handler<HttpEnv> {
  return async (c) => {
    const request = c.get("request");
    request.route = spec.path;
    request.isPage = true;
    if (isShuttingDown(c)) throw new ProblemError("shutting_down");
    takeToken(limiters.read, request.network, request);
    const response = await readPageInput(spec.request, c)
      .then((input) => handle(c, input))
      .catch((error: unknown) => Promise.reject(asError(error)));
    for (const [name, value] of Object.entries({ "cache-control": "no-store", ...request.responseHeaders }))
      if (!response.headers.has(name)) response.headers.set(name, value);
    return response;
  };
}

async function readPageInput(schemas: HtmlPage["spec"]["request"], c: HttpContext): Promise<PageInput> {
  const request = c.get("request");
  const form = request.method === "POST" ? await readForm(c) : "";
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

/** A refusal as an HTML page. */
export function problemPage(problem: ProblemError, request: RequestInfo): Reply {
  request.problem = problem.code;
  const retry = problem.retryAfter === undefined ? {} : { "retry-after": String(problem.retryAfter) };
  const message = problem.code === "internal_error" ? "Something went wrong here." : `${problem.message}.`.replace(/\.\.$/, ".");
  const wait = problem.retryAfter === undefined ? "" : ` Try again in ${inWords(problem.retryAfter)}.`;
  const body = plainPage(String(problem.status), `${message}${wait}`, `Request ${request.requestId}`);
  return { status: problem.status, type: "text/html; charset=utf-8", body, headers: { "cache-control": "no-store", ...retry } };
}

/** @param seconds at least 1; from two minutes on they are told as minutes, rounded up */
function inWords(seconds: number): string {
  if (seconds > 120) return `${Math.ceil(seconds / 60).toString()} minutes`;
  return seconds === 1 ? "1 second" : `${seconds.toString()} seconds`;
}

/** The pages the `type` of a problem leads to, one for each code of the registry. */
export function problemPages(): HtmlPage[] {
  const spec = {
    method: "get",
    path: "/problems/{code}",
    operationId: "getProblemPage",
    summary: "What a problem code means",
    request: { params: z.object({ code: z.string() }) },
    document: true,
  } as const;
  return [
    page({ ...spec, tags: ["documents"] }, async (c, { params: { code } }) => {
      if (!Object.hasOwn(problems, code)) return c.html(sheet("No such problem", "This code is not in use here."), 404);
      const { status, title, ...rest }: { status: number; title: string; retryable?: boolean } = problems[code as ProblemCode];
      const advice =
        rest.retryable === true ? "The same request may succeed later." : "The same request will not succeed unless something changes.";
      return c.html(sheet(code, `${title}. It is sent with status ${status}. ${advice}`), 200, { "cache-control": "public, max-age=3600" });
    }),
  ];
}

const sheet = (heading: string, text: string): string => plainPage(heading, heading, text);
