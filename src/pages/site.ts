import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { HttpContext } from "../http/context.ts";
import { languageHeaders, type WrittenPage } from "./layout.ts";
import { readerOf, type Publisher, type Reader } from "./reader.ts";

/** Where the pages live, and where Discord's do. */
export interface Site extends Publisher {
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

/** Who reads the answer to this request. @param known language tag of the person, as a session has it */
export function readerAt(c: HttpContext, site: Site, known?: string | null): Reader {
  return readerOf(c.get("request"), site, known);
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
export async function answer(
  c: HttpContext,
  site: Site,
  status: ContentfulStatusCode,
  written: WrittenPage | Promise<WrittenPage>,
): Promise<Response> {
  const page = await written;
  setPolicy(c, site);
  return c.html(page.body, status, languageHeaders(page));
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
