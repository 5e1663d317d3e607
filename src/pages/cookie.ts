import { generateCookie } from "hono/cookie";
import type { Site } from "./site.ts";

/** The name of a cookie of ours. Over https browsers bind it to this very host. */
export function cookieName(site: Pick<Site, "publicUrl">, name: string): string {
  return `${isSecure(site) ? "__Host-" : ""}provost-${name}`;
}

/**
 * A `Set-Cookie` that gives a cookie to the browser, or takes it away where the value is null. No script reads it, and no form
 * of another site sends it.
 * @param seconds how long the browser keeps it
 */
export function cookieText(site: Pick<Site, "publicUrl">, name: string, value: string | null, seconds: number): string {
  const maxAge = value === null ? 0 : seconds;
  return generateCookie(cookieName(site, name), value ?? "", {
    path: "/",
    secure: isSecure(site),
    httpOnly: true,
    sameSite: "Lax",
    maxAge,
  });
}

function isSecure(site: Pick<Site, "publicUrl">): boolean {
  return site.publicUrl().startsWith("https:");
}
