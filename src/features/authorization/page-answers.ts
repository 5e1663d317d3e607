import type { HttpContext } from "../../http/context.ts";
import { cookieName, cookieText } from "../../pages/cookie.ts";
import { baseOf, redirect, type Site } from "../../pages/site.ts";
import type { Ending } from "./endings/endings.ts";

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

/** On to the page of an ending, whose address holds nothing of the flow but the operator's own name of the way back. */
export function toResult(c: HttpContext, site: Site, { ending, returnTo }: Result, cookies: readonly string[] = []): Response {
  const back = returnTo === null || returnTo === undefined ? "" : `/${encodeURIComponent(returnTo)}`;
  return redirect(c, site, `${baseOf(site)}/authorize/result/${ending}${back}`, cookies);
}
