import { z } from "zod";
import type { HtmlPage } from "../../http/page.ts";
import { page } from "../../http/page.ts";
import { consentPage, endingPage, style } from "./authorization.html.ts";
import { purposes, scopes } from "./authorization.schema.ts";
import type { AuthorizationService } from "./authorization.service.ts";
import type { ConsentNames } from "./consent-names.ts";
import { textsOf } from "./authorization.policy.ts";
import type { Ending } from "./endings.ts";
import { endings } from "./endings.ts";
import type { Site } from "./page-answers.ts";
import { answer, baseOf, cookie, cookieName, isOwnForm, redirect, toResult } from "./page-answers.ts";

export interface PageDeps extends Site {
  authorization: AuthorizationService;
  names: ConsentNames;
}

const TokenParams = z.object({ token: z.string() });
const ResultParams = z.object({ kind: z.string() });
const text = z.string().optional();
const CallbackQuery = z.object({ state: text, code: text, iss: text, error: text, error_description: text });

/** The pages a person sees between the address they were sent and the last word. */
export function authorizationPages(deps: PageDeps): HtmlPage[] {
  return [stylePage(), callbackPage(deps), resultPage(deps), showPage(deps), startPage(deps), declinePage(deps)];
}

function showPage(deps: PageDeps): HtmlPage {
  return page(
    {
      method: "get",
      path: "/authorize/{token}",
      operationId: "showConsent",
      summary: "Ask a person for consent",
      request: { params: TokenParams },
    },
    async ({ params }) => {
      const found = await deps.authorization.find(params.token);
      if ("ending" in found) return answer(deps, found.ending === "expired" ? 404 : 410, await endingPage(baseOf(deps), found.ending));
      const { session } = found;
      const body = await consentPage(baseOf(deps), {
        ...(await deps.names.of(session)),
        path: `${baseOf(deps)}/authorize/${params.token}`,
        purpose: z.enum(purposes).parse(session.purpose),
        requestReference: session.requestReference,
        scopes: z.array(z.enum(scopes)).parse(textsOf(session.scopes)),
        expiresAt: session.expiresAt,
      });
      return answer(deps, 200, body);
    },
  );
}

function startPage(deps: PageDeps): HtmlPage {
  return page(
    {
      method: "post",
      path: "/authorize/{token}/start",
      operationId: "startConsent",
      summary: "Agree and go on to Discord",
      request: { params: TokenParams },
    },
    async ({ params, headers, requestId }) => {
      if (!isOwnForm(deps, headers)) return answer(deps, 403, await endingPage(baseOf(deps), "failed"));
      const started = await deps.authorization.start(params.token, requestId);
      if ("ending" in started) return toResult(deps, started.ending);
      return redirect(deps, started.redirectTo, [cookie(deps, started.sessionId, started.cookie)]);
    },
  );
}

function declinePage(deps: PageDeps): HtmlPage {
  return page(
    {
      method: "post",
      path: "/authorize/{token}/decline",
      operationId: "declineConsent",
      summary: "Say no",
      request: { params: TokenParams },
    },
    async ({ params, headers, requestId }) => {
      if (!isOwnForm(deps, headers)) return answer(deps, 403, await endingPage(baseOf(deps), "failed"));
      return toResult(deps, await deps.authorization.decline(params.token, requestId));
    },
  );
}

function callbackPage(deps: PageDeps): HtmlPage {
  return page(
    {
      method: "get",
      path: "/authorize/callback",
      operationId: "finishConsent",
      summary: "Come back from Discord",
      request: { query: CallbackQuery },
    },
    async ({ query, cookies, requestId }) => {
      const url = new URL(`${deps.publicUrl()}/authorize/callback`);
      for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
      const cookieOf = (sessionId: string): string | undefined => cookies[cookieName(deps, sessionId)];
      const { ending, sessionId } = await deps.authorization.finish({ state: query.state, url, cookieOf, requestId });
      return toResult(deps, ending, sessionId === undefined ? [] : [cookie(deps, sessionId, null)]);
    },
  );
}

function resultPage(deps: PageDeps): HtmlPage {
  return page(
    {
      method: "get",
      path: "/authorize/result/{kind}",
      operationId: "showResult",
      summary: "Say how it ended",
      request: { params: ResultParams },
    },
    async ({ params }) => {
      if (!isEnding(params.kind)) return answer(deps, 404, await endingPage(baseOf(deps), "expired"));
      return answer(deps, endings[params.kind], await endingPage(baseOf(deps), params.kind));
    },
  );
}

function isEnding(kind: string): kind is Ending {
  return Object.hasOwn(endings, kind);
}

function stylePage(): HtmlPage {
  return page({ method: "get", path: "/authorize/style.css", operationId: "authorizeStyle", summary: "The style of the pages" }, () =>
    Promise.resolve({
      status: 200,
      headers: { "content-type": "text/css; charset=utf-8", "cache-control": "public, max-age=3600" },
      body: style,
    }),
  );
}
