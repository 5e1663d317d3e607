import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { HttpContext } from "../http/context.ts";

/** Where the pages live, and where Discord's do. */
export interface Site {
  /** Origin and path prefix of the pages, without a slash at the end. */
  publicUrl: () => string;
  /** Where Discord's own form lives: browsers apply form-action to the redirect that follows our form. */
  discordOrigin: string;
}

/**
 * Whether a form was sent from our own page. Under `Referrer-Policy: no-referrer` browsers send `Origin: null` with forms,
 * so the fetch metadata decide where there are any.
 */
export function isOwnForm(c: HttpContext, site: Site): boolean {
  const { headers } = c.get("request");
  const { origin, "sec-fetch-site": sentFrom } = headers;
  const isOurs = origin === new URL(site.publicUrl()).origin;
  return sentFrom === undefined ? isOurs : sentFrom === "same-origin" && (isOurs || origin === undefined || origin === "null");
}

/** Path prefix of the pages, "" at the root. */
export function baseOf(site: Pick<Site, "publicUrl">): string {
  return new URL(site.publicUrl()).pathname.replace(/\/$/, "");
}

/** Names the request in the log and in the audit. */
export function requestIdOf(c: HttpContext): string {
  return c.get("request").requestId;
}

/** See other: the browser goes on with GET. */
export function redirect(c: HttpContext, site: Site, location: string, cookies: readonly string[] = []): Response {
  setPolicy(c, site);
  for (const cookie of cookies) c.header("set-cookie", cookie, { append: true });
  return c.redirect(location, 303);
}

/** A page with the headers all of them have. */
export function answer(c: HttpContext, site: Site, status: ContentfulStatusCode, body: string): Response {
  setPolicy(c, site);
  return c.html(body, status);
}

/** A file for the person at the browser to keep. */
export function attachment(c: HttpContext, site: Site, file: { name: string; type: string; body: string }): Response {
  setPolicy(c, site);
  return c.body(file.body, 200, { "content-type": file.type, "content-disposition": `attachment; filename="${file.name}"` });
}

function setPolicy(c: HttpContext, { discordOrigin }: Site): void {
  const policy = `default-src 'none'; style-src 'self'; form-action 'self' ${discordOrigin}; frame-ancestors 'none'; base-uri 'none'`;
  c.header("content-security-policy", policy);
}
