import type { z } from "zod";
import { type FieldError, ProblemError, validationProblem } from "../kernel/errors.ts";
import { takeToken } from "./admission.ts";
import { check } from "./check.ts";
import type { Door, DoorGround, PathParams } from "./door.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { announcesBody, checkBodyHeaders, textForm } from "./json-body.ts";
import type { HtmlPage, PageAnswer, PageInput } from "./page.ts";
import { toProblem } from "./problem.ts";
import { readQuery } from "./query.ts";

/** Bytes of a form. */
const formLimit = 16 * 1024;
const forms = [textForm("application/x-www-form-urlencoded")];
const html = "text/html; charset=utf-8";

/** A page as a door: limited by address, answered as HTML, its path kept out of the log. */
export function createPageDoor(
  { spec, handle }: HtmlPage,
  ground: DoorGround,
  onUnexpected: (error: unknown, requestId: string) => void,
): Door {
  const limiter = ground.limiters.read;

  async function serve(exchange: Exchange, params: PathParams): Promise<Reply> {
    exchange.isPathSecret = true;
    try {
      if (ground.isShuttingDown()) throw new ProblemError("shutting_down");
      takeToken(limiter, exchange.network, exchange);
      return presentPage(await handle(await readPageInput(spec.request, exchange, params)));
    } catch (error) {
      const problem = toProblem(error);
      if (problem === undefined) onUnexpected(error, exchange.requestId);
      return plainPage(problem ?? new ProblemError("internal_error"), exchange);
    }
  }
  return { method: spec.method.toUpperCase(), path: spec.path, operationId: spec.operationId, isPage: true, serve };
}

async function readPageInput(request: HtmlPage["spec"]["request"], exchange: Exchange, params: PathParams): Promise<PageInput> {
  const form = exchange.method === "POST" ? await readForm(exchange) : "";
  const errors: FieldError[] = [];
  const parse = (schema: z.ZodType | undefined, value: unknown, where: FieldError["in"]): unknown =>
    schema === undefined ? value : check(schema, value, where, errors);
  const input = {
    params: parse(request?.params, params, "path"),
    query: readQuery(exchange.search, request?.query, false, errors),
    form: parse(request?.form, Object.fromEntries(new URLSearchParams(form)), "body"),
    cookies: readCookies(exchange.headers.cookie),
    headers: exchange.headers,
    remoteAddress: exchange.remoteAddress,
    requestId: exchange.requestId,
  };
  // An address that no page can have is nobody's fault: there is nothing there.
  if (errors.some(({ in: where }) => where === "path")) throw new ProblemError("route_not_found", { detail: "There is no such page." });
  if (errors.length > 0) throw validationProblem(errors);
  return input as PageInput;
}

async function readForm(exchange: Exchange): Promise<string> {
  if (!announcesBody(exchange)) return "";
  checkBodyHeaders(exchange, forms, () => formLimit);
  return (await exchange.readBody(formLimit)).toString("utf8");
}

function readCookies(text: string | undefined): Record<string, string> {
  const pairs = (text ?? "").split(";").flatMap((pair): [string, string][] => {
    const at = pair.indexOf("=");
    return at === -1 ? [] : [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()]];
  });
  return Object.fromEntries(pairs);
}

function presentPage({ status, headers, body }: PageAnswer): Reply {
  const flat = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" ? [name, value] : value.flatMap((one) => [name, one]),
  );
  const type = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1];
  const others = type === undefined ? flat : withoutHeader(flat, "content-type");
  const hasCacheRule = flat.some((text, index) => index % 2 === 0 && text.toLowerCase() === "cache-control");
  return {
    status,
    type: typeof type === "string" ? type : html,
    body,
    headers: hasCacheRule ? others : [...others, "Cache-Control", "no-store"],
  };
}

function withoutHeader(flat: readonly string[], name: string): string[] {
  return flat.filter((_text, index) => flat[index - (index % 2)]?.toLowerCase() !== name);
}

/** A refusal as an HTML page. */
export function plainPage(problem: ProblemError, exchange: Exchange): Reply {
  exchange.problem = problem.code;
  const retry = problem.retryAfter === undefined ? [] : ["Retry-After", String(problem.retryAfter)];
  const message =
    problem.status >= 500 && problem.code === "internal_error" ? "Something went wrong here." : `${problem.message}.`.replace(/\.\.$/, ".");
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${problem.status}</title><h1>${escapeHtml(message)}</h1><p>Request ${exchange.requestId}</p></html>\n`;
  return { status: problem.status, type: html, body, headers: ["Cache-Control", "no-store", ...retry] };
}

/** Text made harmless inside HTML, attributes included. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
