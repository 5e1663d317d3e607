import { html } from "hono/html";
import { z } from "zod";
import { problems, type ProblemCode, type ProblemError } from "../../kernel/errors.ts";
import { durationText, filled, languageHeaders, layout, type Markup, type WrittenPage } from "../../pages/layout.ts";
import { linkTo, readerOf, type Publisher, type Reader } from "../../pages/reader.ts";
import type { Reply, RequestInfo } from "../context.ts";
import { refusalHeaders } from "../problem.ts";
import { page, type HtmlPage } from "./page.ts";

/** What a person at a browser can do about a refusal. */
type Advice = "missing" | "often" | "busy" | "broken" | "wrong";

/** The pages show their style, and nothing else that has to be loaded. */
const policy = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'";

/** A refusal as an HTML page: what happened, what to do, whom to ask, and in small print what to report. */
export async function problemPage(problem: ProblemError, request: RequestInfo, publisher: Publisher): Promise<Reply> {
  request.problem = problem.code;
  const written = await explain(problem, readerOf(request, publisher), request.requestId);
  const headers = { ...refusalHeaders(problem, problem.status), "content-security-policy": policy, ...languageHeaders(written) };
  return { status: problem.status, type: "text/html; charset=utf-8", body: written.body, headers };
}

function explain({ code, retryAfter }: ProblemError, reader: Reader, requestId: string): Promise<WrittenPage> {
  const { t } = reader;
  const advice = adviceOn(code);
  const wait = retryAfter === undefined ? "" : t("page again", { time: waitText(reader, retryAfter) });
  return layout(
    reader,
    t(`page failed ${advice}`),
    html`<p>${wait === "" ? t(`page advice ${advice}`) : wait}</p>
      ${code === "route_not_found" ? html`<p><a href="${linkTo(reader, "/")}">${t("page home link")}</a></p>` : ""}
      <p class="soft small"><code>${code}</code> · ${t("page request")} <code>${requestId}</code></p>`,
  );
}

function adviceOn(code: ProblemCode): Advice {
  const { status, retryable = false }: { status: number; retryable?: boolean } = problems[code];
  if (code === "internal_error") return "broken";
  if (status === 404) return "missing";
  if (status === 429) return "often";
  return retryable ? "busy" : "wrong";
}

/** @param seconds at least 1; from two minutes on they become minutes, rounded up */
function waitText(reader: Reader, seconds: number): string {
  return seconds > 120 ? durationText(reader, Math.ceil(seconds / 60), "minute") : durationText(reader, seconds, "second");
}

/** The pages the `type` of a problem leads to, one for each code of the registry. */
export function problemPages(publisher: Publisher): HtmlPage[] {
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
      const reader = readerOf(c.get("request"), publisher);
      const isKnown = Object.hasOwn(problems, code);
      const written = await (isKnown ? describe(code as ProblemCode, reader) : describeUnknown(reader));
      const headers = { "content-security-policy": policy, ...languageHeaders(written) };
      if (!isKnown) return c.html(written.body, 404, headers);
      return c.html(written.body, 200, { ...headers, "cache-control": "public, max-age=3600" });
    }),
  ];
}

function describe(code: ProblemCode, reader: Reader): Promise<WrittenPage> {
  const { t } = reader;
  const { status, title, retryable = false }: { status: number; title: string; retryable?: boolean } = problems[code];
  const key = `problem ${code}` as const;
  const own = t(key);
  return layout(
    reader,
    own === key ? title : own,
    html`<p>${filled(t, "page problem status", { code: html`<code>${code}</code>`, status: status.toString() })}</p>
      ${paragraph(t(retryable ? "page problem retry" : "page problem no-retry"))}`,
  );
}

function describeUnknown(reader: Reader): Promise<WrittenPage> {
  return layout(reader, reader.t("page problem unknown"), paragraph(reader.t("page problem unknown-text")));
}

function paragraph(text: string): Markup {
  return html`<p>${text}</p>`;
}
