import type { PageAnswer, PageInput } from "./page.ts";

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
export function isOwnForm(site: Site, headers: PageInput["headers"]): boolean {
  const sentFrom = headers["sec-fetch-site"];
  const { origin } = headers;
  const isOurs = origin === new URL(site.publicUrl()).origin;
  return sentFrom === undefined ? isOurs : sentFrom === "same-origin" && (isOurs || origin === undefined || origin === "null");
}

/** Path prefix of the pages, "" at the root. */
export function baseOf(site: Pick<Site, "publicUrl">): string {
  return new URL(site.publicUrl()).pathname.replace(/\/$/, "");
}

/** See other: the browser goes on with GET. */
export function redirect(site: Site, location: string, cookies: readonly string[] = []): PageAnswer {
  return { status: 303, headers: { ...headersOf(site), location, ...(cookies.length > 0 && { "set-cookie": cookies }) }, body: "" };
}

/** A page with the headers all of them have. */
export function answer(site: Site, status: number, body: string): PageAnswer {
  return { status, headers: headersOf(site), body };
}

/** A file for the person at the browser to keep. */
export function attachment(site: Site, file: { name: string; type: string; body: string }): PageAnswer {
  const headers = { ...headersOf(site), "content-type": file.type, "content-disposition": `attachment; filename="${file.name}"` };
  return { status: 200, headers, body: file.body };
}

function headersOf({ discordOrigin }: Site): Record<string, string> {
  return {
    "content-security-policy": `default-src 'none'; style-src 'self'; form-action 'self' ${discordOrigin}; frame-ancestors 'none'; base-uri 'none'`,
    "cache-control": "no-store",
  };
}
