import { say } from "../kit/say.ts";
import { BlockList, isIP, isIPv6 } from "node:net";
import { fieldError } from "./errors.ts";

/** Whether a text is an IP address or a network such as `203.0.113.0/24`. */
export function isAddressRange(text: string): boolean {
  const [address = "", bits, ...more] = text.split("/");
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** @param ranges addresses and networks; the answer says whether an address is one of theirs */
export function createAddressRanges(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (given) => {
    const address = plainAddress(given);
    return isIP(address) !== 0 && list.check(address, familyOf(address));
  };
}

/** Networks of IPv4 that are not of the internet as a whole (RFC 6890 and those that followed it). */
const special = createAddressRanges(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4".split(
    " ",
  ),
);
/** IPv6 that is given out to the internet, and what of it is not: Teredo and other protocols, documentation, 6to4, which holds IPv4. */
const [global, specialInGlobal] = [
  createAddressRanges(["2000::/3"]),
  createAddressRanges(["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]),
];

/** Whether an IP address is one of the internet, and not of this machine, its network or a special use. */
export function isPublicAddress(given: string): boolean {
  const address = plainAddress(given);
  const family = isIP(address);
  if (family === 4) return !special(address);
  return family === 6 && global(address) && !specialInGlobal(address);
}

/** An IPv4 address as a dual-stack socket tells it is the IPv4 address. */
export function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice("::ffff:".length) : address;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

/**
 * Whom a limit counts: an IPv4 address, or the /64 network of an IPv6 address, as one customer is usually given that many (RFC 6177).
 * @param address as a socket tells it; anything else counts for itself
 */
export function limitedNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = address.replace(/%.*$/, "").split("::");
  const groupsOf = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const [before, after] = [groupsOf(head), groupsOf(tail ?? "")];
  // An IPv4 address at the end stands for two groups.
  const given = before.length + after.length + (address.includes(".") ? 1 : 0);
  const groups = [...before, ...Array.from({ length: 8 - given }, () => "0"), ...after];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}

/** Some proxies name the port as well: `203.0.113.9:51234`, `[2001:db8::1]:51234`. */
const withPort = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;

/** The address a hop of `X-Forwarded-For` names; undefined when it names none. */
export function addressIn(hop: string): string | undefined {
  const [, bracketed, beforePort] = withPort.exec(hop) ?? [];
  const address = plainAddress(bracketed ?? beforePort ?? hop);
  return isIP(address) === 0 ? undefined : address;
}

/** The address of an HTTP server, such as `http://[::1]:8080`. */
export function httpAddress(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port.toString()}`;
}

/** What stands for the part of an address that is not shown. */
const cutMark = "…";
/** Part of a path that is a word, and no token. */
const plainPart = /^[\w.~-]{0,20}$/;

/**
 * What is shown, audited and logged of an address that a person names: its host and the first part of its path. The rest, and names and
 * passwords, may be all that keeps others from using it.
 */
export function shownAddress(address: string): string {
  if (!URL.canParse(address)) return cutMark;
  const { protocol, host, pathname, search, hash, username, password } = new URL(address);
  const [first = "", ...rest] = pathname.slice(1).split("/");
  const isPlain = plainPart.test(first);
  if (isPlain && `${rest.join("")}${search}${hash}${username}${password}` === "") return address;
  return `${protocol}//${host}/${isPlain && first !== "" ? `${first}/` : ""}${cutMark}`;
}

/**
 * The address that somebody names. What is shown of the stored one stands for it, so that a client can send back what it has read.
 * @throws ProblemError validation_failed for any other address that is cut
 */
export function wholeAddress(pointer: string, given: string, stored?: string | null): string {
  if (typeof stored === "string" && given === shownAddress(stored)) return stored;
  if (!given.includes(cutMark)) return given;
  throw fieldError(pointer, "shortened", say("kernel.write-the-whole-address-this-one-is"));
}
