import { say } from "../../kit/say.ts";
import { isIP } from "node:net";
import { isSnowflake, Snowflake } from "../../kernel/fields.ts";
import type { EntryKind } from "./follows.schema.ts";
import { accountIn, cellText } from "../../kernel/written.ts";
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
type HostKind = "domain" | "suffix" | "address" | "none";

/** @param isKnown whether only a suffix counts under which domains are known to be registered */
export function hostKind(host: string, isKnown = false): HostKind {
  if (isIP(host) !== 0) return isPublicAddress(host) ? "address" : "none";
  const { domain, isIcann, isPrivate } = parseHost(host, { allowPrivateDomains: true });
  const isListed = isIcann === true || isPrivate === true;
  if (domain === null) return isListed ? "suffix" : "none";
  return isListed || !isKnown ? "domain" : "none";
}

/** A subject in the one form it is stored in, or why there is none. */
export type ReadSubject = { subject: string } | { fault: string };

const serverForms = /^(?:https?:\/\/)?(?:(?:www|ptb|canary)\.)?discord(?:app)?\.com\/channels\/(\d+)(?:\/[\d/]*)?$/i;
/** An id as a spreadsheet shows it once it has taken it for a number. */
const rounded = /^\d(?:[.,]\d+)?e\+?\d+$/i;
const inviteCode = /^[A-Za-z0-9-]{2,64}$/;
const inviteLink =
  /^(?:https?:\/+)?(?:(?:(?:www|ptb|canary)\.)?discord(?:\.gg|(?:app)?\.com\/+invite)|\.gg)\/+(?:invite\/+)?([A-Za-z0-9-]{2,64})\/?(?:[?#].*)?$/i;
const scheme = /^(?:https?|ftp|wss?):\/*|^\/\//i;

function serverIn(written: string): string {
  const cell = cellText(written);
  return serverForms.exec(cell)?.[1] ?? cell;
}

function idOf(id: string): ReadSubject {
  if (isSnowflake(id)) return { subject: id };
  if (rounded.test(id)) return { fault: say("follows.a-spreadsheet-has-rounded-the-id-format") };
  return { fault: Snowflake.safeParse(id).error?.issues[0]?.message ?? "" };
}

function inviteOf(written: string): ReadSubject {
  const cell = cellText(written);
  const code = inviteLink.exec(refanged(cell))?.[1] ?? cell;
  return inviteCode.test(code) ? { subject: code } : { fault: say("follows.write-the-code-of-an-invite-or") };
}

const noDomain = { fault: say("follows.this-is-not-a-domain") };
const forMany = { fault: say("follows.anybody-can-register-a-domain-below-this") };

function domainOf(written: string): ReadSubject {
  // Most lines of a list are in their form already, and there are many.
  if (/^[a-z0-9.-]+\.[a-z]+$/.test(written) && hostIn(written) === written) return domainAt(written);
  const cell = refanged(cellText(written));
  // The rule of an ad blocker, with what it says besides the domain.
  const line = /^\|\|([^^$]*)\^?(?:\$.*)?$/.exec(cell)?.[1] ?? cell;
  const rest = line.replace(scheme, "");
  const end = /[/?#]/.exec(rest)?.index ?? rest.length;
  const authority = rest.slice(0, end);
  const at = authority.lastIndexOf("@");
  if (at !== -1 && rest === line) return { fault: say("follows.this-is-an-email-address-not-a") };
  // A rule for everything below a domain.
  const name = authority.slice(at + 1).replace(/^\*?\.(?=[^.])/, "");
  const host = /[\s*]/.test(name) ? undefined : hostIn(name);
  if (host === undefined) return hostKind(name.toLowerCase()) === "suffix" ? forMany : noDomain;
  // A page of a site is not the site: whoever lists a short link does not list all of them.
  if (!/^\/*$/.test(rest.slice(end))) return { fault: say("follows.this-leads-to-a-page-not-to") };
  if (isIP(host) !== 0 && isIP(name.replace(/:\d*$/, "")) === 0) return noDomain;
  return domainAt(host);
}

function domainAt(host: string): ReadSubject {
  const kind = hostKind(host);
  if (kind === "none") return noDomain;
  if (kind === "suffix") return forMany;
  const bare = host.replace(/^www\./, "");
  return { subject: bare !== host && hostKind(bare) === kind ? bare : host };
}

const readers: Readonly<Record<EntryKind, (written: string) => ReadSubject>> = {
  user: (written) => idOf(accountIn(written)),
  server: (written) => idOf(serverIn(written)),
  invite: inviteOf,
  domain: domainOf,
};

/** What an entry is about, however people, spreadsheets and public lists write it. */
export function readSubject(kind: EntryKind, written: string): ReadSubject {
  return readers[kind](written);
}
