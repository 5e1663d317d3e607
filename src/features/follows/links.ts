import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import { plainText } from "../../kernel/written.ts";
import { hostIn, hostKind, refanged } from "./hosts.ts";

/** The invites and domains that texts lead to. */
export interface FoundLinks {
  invite: readonly string[];
  domain: readonly string[];
}

/** Labels of a host that are looked at one by one; the whole host always is. */
const maxLabels = 10;
/** What comes after the scheme is only looked at, as there may be an address within an address. It ends before the next slash. */
const addresses = /https?\s?:\/+(?=([^\s/?#<>"`|]{1,2048}))/gi;
/** A host without a scheme: at the beginning of a word or of a value in an address. */
const names =
  /(?<![\p{L}\p{M}\p{N}_.@%-]|[^/]\/|^\/)[\p{L}\p{M}\p{N}_-]{1,63}(?:\.[\p{L}\p{M}\p{N}_-]{1,63}){1,126}(?!\.?[\p{L}\p{M}\p{N}_@-])/gu;
/** The same among letters of scripts that put no space between words. */
const asciiNames =
  /(?<=^|[^\p{L}\p{M}\p{N}_.@%/-]|\/\/|[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}])[\w-]{1,63}(?:\.[\w-]{1,63}){1,126}(?!\.?[\w@\p{sc=Latin}\p{sc=Cyrillic}\p{sc=Greek}-])/gu;
const invites =
  /(?:(?<![\w-])discord(?:\s?[.,]\s?gg|(?:app)?\s?\.\s?com\s?\/+\s?invite)|(?<![\w-])\.gg)\s?\/+\s?(?:invite\/+)?([A-Za-z0-9-]{2,64})/gi;
/** Where an address ends in a text that goes on: the bracket of a masked link, or a mark of Markdown. */
const brackets = /[()[\]{},;*'!\u2018-\u201f\u00ab\u00bb\u2026]/;
const ends: ReadonlySet<string> = new Set(".,:;!?*_~-");

/** Characters below 128 that are written by their number, as addresses within addresses are. */
function decoded(text: string): string {
  return text.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** A text as it stands there, and as it reads once and twice decoded. */
function readingsOf(text: string): string[] {
  const once = decoded(text);
  const twice = decoded(once);
  return [...new Set([text, once, twice])];
}

function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && ends.has(text[end - 1] ?? "")) end -= 1;
  return text.slice(0, end);
}

const beforeBracket = (text: string): string => text.slice(0, brackets.exec(text)?.index);
const afterName = (text: string): string => text.slice(text.lastIndexOf("@") + 1);

/** The hosts of an address whose end nobody has marked. What stands before an @ is a name, which can look like a host. */
function* hostsAfterScheme(authority: string): Generator<string> {
  for (const one of new Set([afterName(beforeBracket(authority)), beforeBracket(afterName(authority))])) {
    const name = withoutEnd(one);
    const host = hostIn(name) ?? hostIn(name.replace(/:.*$/, ""));
    if (host !== undefined) yield host;
  }
}

function* hostsIn(text: string): Generator<string> {
  for (const [, authority = ""] of text.matchAll(addresses)) yield* hostsAfterScheme(authority);
  for (const pattern of /[^\0-\u007f]/.test(text) ? [names, asciiNames] : [names])
    for (const [found] of text.matchAll(pattern)) {
      const host = domainToASCII(withoutEnd(found).replace(/^_+/, ""));
      if (hostIn(host) === host && isIP(host) === 0 && hostKind(host, true) === "domain") yield host;
    }
}

/** A host with those above it, as an entry stands for all below. */
function withParents(host: string): string[] {
  if (isIP(host) !== 0) return [host];
  const labels = host.split(".");
  const parents = labels.slice(-maxLabels).map((_, index, some) => some.slice(index).join("."));
  return [...new Set([host, ...parents])].filter((one) => hostKind(one) === "domain");
}

/**
 * The invites and domains that texts lead to, however people write them: masked, without a scheme, made harmless, hidden in the address of
 * another site, or with characters in between that nobody sees.
 */
export function linksIn(texts: readonly (string | null)[]): FoundLinks {
  const [invite, hosts] = [new Set<string>(), new Set<string>()];
  for (const text of readingsOf(refanged(plainText(texts.filter((one) => one !== null).join("\n"))))) {
    for (const [, code = ""] of text.matchAll(invites)) invite.add(code);
    for (const host of hostsIn(text)) hosts.add(host);
  }
  return { invite: [...invite], domain: [...new Set([...hosts].flatMap(withParents))] };
}
