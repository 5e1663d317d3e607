import type { Handler } from "hono";
import type { z } from "zod";
import { ProblemError, validationProblem, type FieldError } from "../../kernel/errors.ts";
import { check } from "../../kernel/validation.ts";
import type { HttpDeps } from "../deps.ts";
import type { HttpContext, HttpEnv } from "../context.ts";
import { takeToken } from "../middleware/rate-limit.ts";
import { readBody } from "../request/body-stream.ts";
import { announcesBody, checkBodyHeaders, textForm } from "../request/media.ts";
import { readQuery } from "../../operations/query.ts";
import { asError } from "../problem.ts";
import type { HtmlPage, PageInput } from "./page.ts";

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
