import { isIP } from "node:net";
import { z } from "zod";
import { isAddressRange } from "../kernel/addresses.ts";
import { isSnowflake } from "../kernel/fields.ts";

/** How many calls are allowed in how many seconds. */
export interface RateLimit {
  count: number;
  seconds: number;
}

export type RateClass = "read" | "write" | "authorize" | "export" | "failed_auth";
export type RateLimits = Record<RateClass, RateLimit>;

export const defaultRateLimits: Readonly<RateLimits> = {
  read: { count: 600, seconds: 60 },
  write: { count: 120, seconds: 60 },
  authorize: { count: 10, seconds: 60 },
  export: { count: 5, seconds: 3600 },
  failed_auth: { count: 20, seconds: 60 },
};

/** The optional capabilities, each with its routes; a feature by its name means all of its own. */
export const capabilities = [
  "callsigns.next",
  "callsigns.lookup",
  "callsigns.repair",
  "callsigns.registry",
  "roster.entries",
  "roster.history",
  "roster.sync_member",
  "roster.audit",
] as const;
export type Capability = (typeof capabilities)[number];
export const switches = ["callsigns", "roster", ...capabilities] as const;

/** The capabilities that are off. */
export function switchedOffBy(named: readonly (typeof switches)[number][]): Set<string> {
  return new Set(capabilities.filter((one) => named.some((name) => name === one || one.startsWith(`${name}.`))));
}

/** A punishment that is suggested once somebody has so many points in force. */
export interface StrikeThreshold {
  points: number;
  action: (typeof suggestedActions)[number];
}

/** The actions of punishments that can be suggested. */
export const suggestedActions = ["warning", "strike", "probation", "suspension", "demotion", "termination"] as const;

export const defaultThresholds: readonly StrikeThreshold[] = [
  { points: 3, action: "probation" },
  { points: 6, action: "suspension" },
];

/** A schema for one variable; `parse` answers undefined for what it does not accept. The message never repeats the value. */
export function parsed<T>(message: string, parse: (text: string) => T | undefined) {
  return z.string({ error: message }).transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });
}

export function wholeNumber(min: number, max: number) {
  return parsed(`must be a whole number from ${min.toString()} to ${max.toString()}`, (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

export function oneOf<const T extends string>(...choices: readonly T[]) {
  return parsed(`must be one of ${choices.join(", ")}`, (text) => choices.find((choice) => choice === text));
}

/** A comma list of named choices, each once. */
export function listOf<const T extends string>(...choices: readonly T[]) {
  return parsed(`must be a comma-separated list of ${choices.join(", ")}`, (text) => {
    const named = text.split(",").map((entry) => choices.find((choice) => choice === entry.trim()));
    return named.every((choice) => choice !== undefined) ? [...new Set(named)] : undefined;
  });
}

export const flag = parsed("must be true or false", (text) => (text === "true" ? true : text === "false" ? false : undefined));

export const snowflakeList = parsed("must be a comma-separated list of ids of 17–20 digits without a zero in front", (text) => {
  const ids = text.split(",").map((id) => id.trim());
  return ids.every(isSnowflake) ? [...new Set(ids)] : undefined;
});

/** Addresses and networks, such as `127.0.0.1, 10.0.0.0/8`. */
export const addressList = parsed("must be a comma-separated list of IP addresses and networks such as 127.0.0.1,10.0.0.0/8", (text) => {
  const entries = text.split(",").map((entry) => entry.trim());
  return entries.every(isAddressRange) ? entries : undefined;
});

export const listenHost = parsed("must be an IP address or a host name", (text) => {
  if (isIP(text) !== 0) return text;
  return /^[a-z\d]([a-z\d.-]{0,251}[a-z\d])?$/i.test(text) && !/^[\d.]+$/.test(text) ? text : undefined;
});

/** True for the machine's own addresses: what is sent there stays on the machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** A plain http(s) address without credentials, query, fragment and trailing slash, in its normal spelling. */
function plainUrl(text: string): URL | undefined {
  if (!/^https?:\/\/[^\s?#\\@]+$/i.test(text) || text.endsWith("/") || !URL.canParse(text)) return undefined;
  return new URL(text);
}

function spelled(url: URL): string {
  return url.pathname === "/" ? url.origin : url.origin + url.pathname;
}

export const discordApiBase = parsed(
  "must be an address ending in /api, without trailing slash, credentials or query, such as https://discord.com/api; https unless the host is this machine or a permitted custom one",
  (text) => {
    const url = plainUrl(text);
    if (url === undefined || !url.pathname.endsWith("/api")) return undefined;
    if (url.hostname === "discord.com" && spelled(url) !== "https://discord.com/api") return undefined;
    return spelled(url);
  },
);

export const publicUrl = parsed(
  "must be an https address without trailing slash, credentials or query, such as https://mod.example.org; http only for this machine",
  (text) => {
    const url = plainUrl(text);
    return url !== undefined && (url.protocol === "https:" || isLoopback(url.hostname)) ? spelled(url) : undefined;
  },
);

/** Where the files of evidence are. */
export type EvidencePlace = { kind: "folder" } | { kind: "database" } | { kind: "s3"; bucket: string; prefix: string };

/** As `EVIDENCE_STORE` names it. */
export const evidencePlaceName = (place: EvidencePlace): string =>
  place.kind === "s3" ? `s3://${place.bucket}${place.prefix === "" ? "" : `/${place.prefix}`}` : place.kind;

/** @returns undefined for what names no place */
export function parseEvidencePlace(text: string): EvidencePlace | undefined {
  if (text === "folder" || text === "database") return { kind: text };
  const [, bucket, prefix = ""] = /^s3:\/\/([a-z\d][a-z\d.-]{1,61}[a-z\d])(?:\/((?!\.)[\w.-]+(?:\/(?!\.)[\w.-]+)*))?\/?$/.exec(text) ?? [];
  return bucket === undefined || prefix.length > 512 ? undefined : { kind: "s3", bucket, prefix };
}

export const evidencePlaceForm = "must be folder, database, or s3://<bucket>/<prefix>, such as s3://moderation/evidence";
export const evidencePlace = parsed(evidencePlaceForm, parseEvidencePlace);

export const storeAddress = parsed(
  "must be an http or https address without trailing slash, credentials or query, such as https://s3.example.org",
  (text) => {
    const url = plainUrl(text);
    return url === undefined ? undefined : spelled(url);
  },
);

const perOrigin = "must be a comma-separated list of origins such as https://panel.example.org";

/** Origins of pages, as browsers write them. Any place on the internet is not one. */
export const webOrigins = z.string().transform((text, context) => {
  const refuse = (message: string) => {
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  };
  const entries = text.split(",").map((entry) => entry.trim());
  if (entries.some((entry) => entry.includes("*")))
    return refuse(`${perOrigin}, each named in full: with * the page of anybody could use the API keys that people type into it`);
  const urls = entries.map((entry) => (/^https?:\/\/[^\s?#\\@]+$/i.test(entry) && URL.canParse(entry) ? new URL(entry) : undefined));
  const isOrigin = (url: URL | undefined, entry: string): boolean => url?.pathname === "/" && !entry.endsWith("/");
  if (!urls.every((url, index) => isOrigin(url, entries[index] ?? "")))
    return refuse(`${perOrigin}: scheme, host and perhaps a port, without path and without a slash at the end`);
  const origins = urls.filter((url) => url !== undefined);
  if (!origins.every(({ protocol, hostname }) => protocol === "https:" || isLoopback(hostname)))
    return refuse(`${perOrigin}; http only for this machine, as anybody on the way could change a page that comes by it`);
  return [...new Set(origins.map(({ origin }) => origin))];
});

export const databaseUrl = parsed("must be file:<path> or postgresql://<user>:<password>@<host>:<port>/<database>", (text) => {
  if (text.startsWith("file:")) return /^file:[^?#]+$/.test(text) && !text.includes(":memory:") ? text : undefined;
  if (!/^postgres(ql)?:\/\/\S+$/.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.pathname.length > 1 && (url.hostname !== "" || url.searchParams.has("host")) ? text : undefined;
});

/** 32 bytes of base64. A key of nothing but zeros comes from an example, not from a random source. */
export function parseKey(text: string): Buffer | undefined {
  if (!/^[A-Za-z\d+/_-]{43}=?$/.test(text)) return undefined;
  const key = Buffer.from(text, "base64");
  return key.length === 32 && key.some((byte) => byte !== 0) ? key : undefined;
}

/** `kid:base64[,kid:base64]`, the encrypting key first. */
export function parseKeys(text: string): ReadonlyMap<string, Buffer> | undefined {
  const keys = new Map<string, Buffer>();
  for (const entry of text.split(",")) {
    const [, id = "", encoded = ""] = /^([\w-]{1,16}):(.*)$/.exec(entry.trim()) ?? [];
    const key = parseKey(encoded);
    if (key === undefined || keys.has(id)) return undefined;
    keys.set(id, key);
  }
  return keys;
}

/** `class=count/seconds[,…]`; classes left out keep their default. */
export function parseRateLimits(text: string): RateLimits | undefined {
  const limits: RateLimits = { ...defaultRateLimits };
  const seen = new Set<string>();
  for (const entry of text.split(",")) {
    const [, name = "", count = "", seconds = ""] = /^([a-z_]+)=(\d{1,7})\/(\d{1,5})$/.exec(entry.trim()) ?? [];
    if (!Object.hasOwn(limits, name) || seen.has(name) || Number(count) < 1 || Number(seconds) < 1) return undefined;
    seen.add(name);
    limits[name as RateClass] = { count: Number(count), seconds: Number(seconds) };
  }
  return limits;
}

/** `points=action[,…]`, the points rising; `none` for no suggestions at all. */
export function parseThresholds(text: string): readonly StrikeThreshold[] | undefined {
  if (text === "none") return [];
  const thresholds: StrikeThreshold[] = [];
  for (const entry of text.split(",")) {
    const [, points = "", name = ""] = /^(\d{1,4})=([a-z]+)$/.exec(entry.trim()) ?? [];
    const action = suggestedActions.find((one) => one === name);
    if (action === undefined || Number(points) <= (thresholds.at(-1)?.points ?? 0)) return undefined;
    thresholds.push({ points: Number(points), action });
  }
  return thresholds;
}

/** `name=address[,…]`: where people can be led back to. An address may have a path and a query. */
export const returnAddresses = parsed(
  "must be a comma-separated list of <name>=<address>, such as site=https://example.org/done; https unless the host is this machine",
  parseReturnAddresses,
);

function parseReturnAddresses(text: string): ReadonlyMap<string, string> | undefined {
  const addresses = new Map<string, string>();
  for (const entry of text.split(",")) {
    const [, name = "", address = ""] = /^([a-z0-9][a-z0-9_-]{0,63})=(https?:\/\/\S+)$/.exec(entry.trim()) ?? [];
    if (addresses.has(name) || !URL.canParse(address)) return undefined;
    const url = new URL(address);
    const isSafe = url.protocol === "https:" || isLoopback(url.hostname);
    if (!isSafe || url.username !== "" || url.password !== "") return undefined;
    addresses.set(name, url.href);
  }
  return addresses;
}

/** A name that people read, on one line. */
export const shownName = parsed("must be 1 to 80 characters on one line", (text) =>
  /^[^\p{C}\p{Zl}\p{Zp}]{1,80}$/u.test(text) ? text : undefined,
);

/** Where people can ask: a page, or an address of e-mail. */
export const contactAddress = parsed(
  "must be an https address or mailto:<address>, such as https://example.org/contact or mailto:staff@example.org",
  (text) => {
    if (/^mailto:[^\s@?&<>"]+@[^\s@?&<>"]+$/.test(text)) return text;
    if (!/^https:\/\/\S+$/i.test(text) || !URL.canParse(text)) return undefined;
    const { href, username, password } = new URL(text);
    return username === "" && password === "" ? href : undefined;
  },
);
