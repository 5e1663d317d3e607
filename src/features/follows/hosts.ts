import { isIP } from "node:net";
import { parse as parseHost } from "tldts";
import { isPublicAddress } from "../../kernel/addresses.ts";

/** How people, public lists and reports write addresses, and what is meant. Everything here is linear in the text. */

/** A point that keeps a program from making a link: `evil[.]example`, `evil (dot) example`. */
const guardedPoint = /\s?[[({]\s?(?:\.|dot)\s?[\])}]\s?/gi;
const guardedSigns = /\[(:\/\/|[:/@])\]/g;
const guardedScheme = /h(?:xx|\*\*)p(s?)(?=\s?:)/gi;
/** What Markdown lets a backslash stand before; any other backslash is a slash to a browser. */
const escaped = /\\([_*~`|.-])/g;

/** A text in which addresses are written out that were written so that nobody follows them by mistake. */
export function refanged(text: string): string {
  return text
    .replace(escaped, "$1")
    .replaceAll("\\", "/")
    .replace(guardedPoint, ".")
    .replace(guardedSigns, "$1")
    .replace(guardedScheme, "http$1");
}

/** Labels may have an underscore, as real names have; the last one may not be a number. */
const hostName = /^(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/** The host that a browser goes to, in the form it is compared in; undefined where it goes to none. */
export function hostIn(authority: string): string | undefined {
  // What is in its form already is asked for in thousands.
  if (hostName.test(authority) && !authority.includes("xn--")) return authority;
  const address = `http://${authority}`;
  if (!URL.canParse(address)) return undefined;
  const host = new URL(address).hostname.replace(/\.$/, "");
  return hostName.test(host) || isIP(host) === 4 ? host : undefined;
}

/** What a host is: a domain that somebody has registered or a part of one, a suffix for many, an address in numbers, or nothing on the internet. */
export type HostKind = "domain" | "suffix" | "address" | "none";

/** @param isKnown whether only a suffix counts under which domains are known to be registered */
export function hostKind(host: string, isKnown = false): HostKind {
  if (isIP(host) !== 0) return isPublicAddress(host) ? "address" : "none";
  const { domain, isIcann, isPrivate } = parseHost(host, { allowPrivateDomains: true });
  const isListed = isIcann === true || isPrivate === true;
  if (domain === null) return isListed ? "suffix" : "none";
  return isListed || !isKnown ? "domain" : "none";
}
