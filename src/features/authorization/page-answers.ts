import type { PageAnswer, PageInput } from "../../http/page.ts";
import type { Ending } from "./endings.ts";

/** Where the pages live, and where Discord's do. */
export interface Site {
  /** Origin and path prefix of the pages, without a slash at the end. */
  publicUrl: () => string;
  /** Where Discord's own form lives: browsers apply form-action to the redirect that follows our form. */
  discordOrigin: string;
}

/** Longer than any session lives; the session's own end is what counts. */
const cookieSeconds = 3900;

/**
 * Whether a form was sent from our own page. Under `Referrer-Policy: no-referrer` browsers send `Origin: null` with forms,
 * so the fetch metadata decide where there are any.
 */
export function isOwnForm(site: Site, headers: PageInput["headers"]): boolean {
  const sentFrom = headers["sec-fetch-site"];
  const { origin } = headers;
  const isOurs = origin === new URL(site.publicUrl()).origin;
  return sentFrom === undefined ? isOurs : sentFrom === "same-origin" && (isOurs || origin === undefined || origin === "null");
}

/** Each session has its own cookie, so that two of them can be open in one browser. */
export function cookieName(site: Site, sessionId: string): string {
  return `${isSecure(site) ? "__Host-" : ""}provost-authorize-${sessionId.slice(-12)}`;
}

/** A `Set-Cookie` that gives a session's cookie to the browser, or takes it away where the value is null. */
export function cookie(site: Site, sessionId: string, value: string | null): string {
  const secure = isSecure(site) ? " Secure;" : "";
  const age = value === null ? 0 : cookieSeconds;
  return `${cookieName(site, sessionId)}=${value ?? ""}; Path=/;${secure} HttpOnly; SameSite=Lax; Max-Age=${age}`;
}

function isSecure(site: Site): boolean {
  return site.publicUrl().startsWith("https:");
}

/** Path prefix of the pages, "" at the root. */
export function baseOf(site: Site): string {
  return new URL(site.publicUrl()).pathname.replace(/\/$/, "");
}

/** On to the page of an ending, whose address holds nothing of the flow. */
export function toResult(site: Site, ending: Ending, cookies: readonly string[] = []): PageAnswer {
  return redirect(site, `${baseOf(site)}/authorize/result/${ending}`, cookies);
}

/** See other: the browser goes on with GET. */
export function redirect(site: Site, location: string, cookies: readonly string[]): PageAnswer {
  return { status: 303, headers: { ...headersOf(site), location, ...(cookies.length > 0 && { "set-cookie": cookies }) }, body: "" };
}

/** A page with the headers all of them have. */
export function answer(site: Site, status: number, body: string): PageAnswer {
  return { status, headers: headersOf(site), body };
}

function headersOf({ discordOrigin }: Site): Record<string, string> {
  return {
    "content-security-policy": `default-src 'none'; style-src 'self'; form-action 'self' ${discordOrigin}; frame-ancestors 'none'; base-uri 'none'`,
    "cache-control": "no-store",
  };
}
