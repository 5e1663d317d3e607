import { textsOf } from "../../kernel/parsing.ts";
import { getCookie } from "hono/cookie";
import { z } from "zod";
import type { HttpContext } from "../../http/context.ts";
import { page, type HtmlPage } from "../../http/pages/page.ts";
import { style } from "../../pages/layout.ts";
import { languageOfState } from "../../pages/language.ts";
import { linkTo, type Reader } from "../../pages/reader.ts";
import { answer, isOwnForm, readerAt, redirect, requestIdOf, type Site } from "../../pages/site.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { SignInService } from "../privacy/sign-in/sign-in.service.ts";
import { consentPage, endingPage } from "./authorization.html.ts";
import { webCall } from "../../kernel/call.ts";
import { authorizationPurposes } from "../../kernel/vocabulary.ts";
import { scopes } from "./authorization.schema.ts";
import type { AuthorizationService } from "./authorization.service.ts";
import type { ConsentNames } from "./consent-names.ts";
import { endings, type Ending } from "./endings/endings.ts";
import { cookieName, cookieText } from "../../pages/cookie.ts";

export interface PageDeps extends Site {
  authorization: AuthorizationService;
  names: ConsentNames;
  clock: Clock;
  /** The other ways back from Discord, of pages people sign in at: operators register one address for all of them. */
  signIns: readonly Pick<SignInService, "owns" | "finish">[];
  /** Where the last page can lead back to, by name. */
  returnTo: ReadonlyMap<string, string>;
}

const TokenParams = z.object({ token: z.string() });
const ResultParams = z.object({ kind: z.string() });
const ResultBackParams = z.object({ kind: z.string(), return_to: z.string() });
const text = z.string().optional();
const CallbackQuery = z.object({ state: text, code: text, iss: text, error: text, error_description: text });

/** The pages a person sees between the address they were sent and the last word. */
export function authorizationPages(deps: PageDeps): HtmlPage[] {
  return [stylePage(), callbackPage(deps), resultPage(deps), resultBackPage(deps), showPage(deps), startPage(deps), declinePage(deps)];
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
    async (c, { params }) => {
      const found = await deps.authorization.find(params.token);
      const reader = readerAt(c, deps, found.session?.locale);
      if (found.ending !== undefined) return answer(c, deps, found.ending === "expired" ? 404 : 410, endingPage(reader, found.ending));
      const { session } = found;
      const written = consentPage(reader, {
        ...(await deps.names.of(session)),
        userId: session.userId,
        path: `/authorize/${params.token}`,
        purpose: z.enum(authorizationPurposes).parse(session.purpose),
        requestReference: session.requestReference,
        scopes: z.array(z.enum(scopes)).parse(textsOf(session.scopes)),
        detail: session.detail === "listed" ? "listed" : "full",
        now: deps.clock.now(),
        expiresAt: session.expiresAt,
      });
      return answer(c, deps, 200, written);
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
    async (c, { params }) => {
      const reader = readerAt(c, deps);
      if (!isOwnForm(c, deps)) return answer(c, deps, 403, endingPage(reader, "failed"));
      const started = await deps.authorization.start(params.token, requestIdOf(c), reader.chosen);
      if ("ending" in started) return toResult(c, deps, reader, started);
      return redirect(c, deps, started.redirectTo, [sessionCookie(deps, started.sessionId, started.cookie)]);
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
    async (c, { params }) => {
      const reader = readerAt(c, deps);
      if (!isOwnForm(c, deps)) return answer(c, deps, 403, endingPage(reader, "failed"));
      const found = await deps.authorization.find(params.token);
      const ending = await deps.authorization.decline(params.token, requestIdOf(c));
      return toResult(c, deps, reader, { ending, returnTo: found.ending === undefined ? found.session.returnTo : null });
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
    async (c, { query }) => {
      const { state } = query;
      const reader = readerAt(c, deps, languageOfState(state));
      const url = new URL(`${deps.publicUrl()}/authorize/callback`);
      for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
      const signIn = state === undefined ? undefined : deps.signIns.find((one) => one.owns(state));
      if (state !== undefined && signIn !== undefined) {
        const end = await signIn.finish(webCall(requestIdOf(c)), { state, url, cookies: getCookie(c) });
        return redirect(c, deps, linkTo(reader, end.path), end.cookies);
      }
      const cookieOf = (sessionId: string): string | undefined => sessionCookieOf(deps, sessionId, getCookie(c));
      const result: Result & { sessionId?: string } = await deps.authorization.finish({ state, url, cookieOf, requestId: requestIdOf(c) });
      return toResult(c, deps, reader, result, result.sessionId === undefined ? [] : [sessionCookie(deps, result.sessionId, null)]);
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
    (c, { params }) => showEnding(c, deps, params.kind),
  );
}

function resultBackPage(deps: PageDeps): HtmlPage {
  return page(
    {
      method: "get",
      path: "/authorize/result/{kind}/{return_to}",
      operationId: "showResultWithWayBack",
      summary: "Say how it ended, and lead back",
      request: { params: ResultBackParams },
    },
    (c, { params }) => showEnding(c, deps, params.kind, params.return_to),
  );
}

/** @param name of the way back; one the operator has not configured leads nowhere */
async function showEnding(c: HttpContext, deps: PageDeps, kind: string, name = ""): Promise<Response> {
  const reader = readerAt(c, deps);
  if (!isEnding(kind)) return answer(c, deps, 404, endingPage(reader, "expired"));
  const address = deps.returnTo.get(name);
  const back = address === undefined ? undefined : { name, address };
  return answer(c, deps, endings[kind], endingPage(reader, kind, back));
}

function isEnding(kind: string): kind is Ending {
  return Object.hasOwn(endings, kind);
}

function stylePage(): HtmlPage {
  return page(
    { method: "get", path: "/authorize/style.css", operationId: "authorizeStyle", summary: "The style of the pages" },
    async (c) => c.body(style, 200, { "content-type": "text/css; charset=utf-8", "cache-control": "public, max-age=3600" }),
  );
}

/** Longer than any session lives; the session's own end is what counts. */
const cookieSeconds = 3900;

/** The cookie of a session that the browser brought. Each session has its own, so that two of them can be open in one browser. */
export function sessionCookieOf(site: Site, sessionId: string, cookies: Readonly<Record<string, string>>): string | undefined {
  return cookies[cookieName(site, shortName(sessionId))];
}

/** A `Set-Cookie` that gives a session's cookie to the browser, or takes it away where the value is null. */
export function sessionCookie(site: Site, sessionId: string, value: string | null): string {
  return cookieText(site, shortName(sessionId), value, cookieSeconds);
}

function shortName(sessionId: string): string {
  return `authorize-${sessionId.slice(-12)}`;
}

/** How a visit ended, and the name of the address the last page leads back to, if the session has one. */
export interface Result {
  ending: Ending;
  returnTo?: string | null | undefined;
}

/** On to the page of an ending, whose address holds nothing of the flow but the language and the operator's own name of the way back. */
function toResult(c: HttpContext, site: Site, reader: Reader, { ending, returnTo }: Result, cookies: readonly string[] = []): Response {
  const back = returnTo === null || returnTo === undefined ? "" : `/${encodeURIComponent(returnTo)}`;
  return redirect(c, site, linkTo(reader, `/authorize/result/${ending}${back}`), cookies);
}
