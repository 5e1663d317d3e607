import { say } from "../kit/say.ts";
import { z } from "zod";
import { isIP } from "node:net";
import { isStorableText, unstorableText } from "./storable.ts";

const maxSnowflake = ((1n << 64n) - 1n).toString();

/** What a Discord id looks like as a part of a longer pattern: 17–20 digits without a zero in front, at most 2^64−1. */
export const snowflakeForm = `(?:[1-9]\\d{16,18}|${upTo(maxSnowflake, 1)})`;
export const snowflakePattern = `^${snowflakeForm}$`;
const snowflake = new RegExp(snowflakePattern);

/** The numbers of as many digits as the largest that are not above it; the first digit is at least `least`. */
function upTo(largest: string, least = 0): string {
  const [first, rest] = [Number(largest[0]), largest.slice(1)];
  if (rest === "") return `[${least.toString()}-${first.toString()}]`;
  const equal = `${first.toString()}${upTo(rest)}`;
  return first === least ? equal : `(?:[${least.toString()}-${(first - 1).toString()}]\\d{${rest.length.toString()}}|${equal})`;
}

function snowflakeDetail(given: unknown): string {
  if (typeof given === "number") return say("kernel.send-ids-as-strings-of-17-20");
  if (typeof given !== "string" || !/^\d{17,20}$/.test(given)) return say("kernel.send-ids-as-strings-of-17-20-2");
  return given.startsWith("0") ? say("kernel.a-discord-id-has-no-zero-in") : say("kernel.the-id-is-larger-than-any-discord");
}

/** A Discord id in the one form it has, always text because a JSON number loses precision. */
export const Snowflake = z
  .string({ error: ({ input }) => snowflakeDetail(input) })
  .regex(snowflake, { error: ({ input }) => snowflakeDetail(input) })
  .meta({
    id: "Snowflake",
    description: `A Discord id: text of 17–20 digits without a zero in front, at most ${maxSnowflake}`,
    example: "80351110224678912",
  });
export type Snowflake = z.infer<typeof Snowflake>;

/** Whether a text is a Discord id. */
export function isSnowflake(text: string): boolean {
  return snowflake.test(text);
}

/** Text of people that both databases store as it is, without the spaces around it. */
export function text(min: number, max: number) {
  return z.string().trim().min(min).max(max).refine(isStorableText, unstorableText);
}

/** A point in time on the wire: RFC 3339, UTC, milliseconds, `Z`. */
export const Timestamp = z.iso
  .datetime()
  .refine((at) => at < "9000", say("kernel.the-date-is-later-than-any-that"))
  .refine((at) => at >= "0001", say("kernel.the-date-is-earlier-than-any-that"))
  .meta({ id: "Timestamp", description: "RFC 3339, UTC, with milliseconds", example: "2026-11-20T10:00:00.000Z" });

const units = { m: 60, h: 3600, d: 86_400, w: 604_800 } as const;
const iso = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;

/** Seconds of `P30D`, `PT12H`, `30d`, `12h`; undefined when the text is neither form. A month counts 30 days, a year 365. */
export function parseDuration(text: string): number | undefined {
  const short = /^(\d{1,6})([mhdw])$/.exec(text);
  if (short?.[1] !== undefined) return Number(short[1]) * units[short[2] as keyof typeof units];
  const long = iso.exec(text);
  if (long === null || text === "P" || text.endsWith("T")) return undefined;
  const weights = [31_536_000, 2_592_000, 604_800, 86_400, 3600, 60, 1];
  return weights.reduce((sum, weight, index) => sum + weight * Number(long[index + 1] ?? 0), 0);
}

const maxDuration = 100 * 31_536_000;

/** A length of time: ISO-8601 (`P30D`) or short (`30d`); `null` means permanent where the field allows it. */
export const Duration = z
  .string()
  .max(40)
  .refine((text) => (parseDuration(text) ?? 0) > 0, say("kernel.write-a-duration-such-as-30d"))
  .refine((text) => (parseDuration(text) ?? 0) <= maxDuration, say("kernel.at-most-100-years-leave-it-out"))
  .meta({ id: "Duration", description: "ISO-8601 (`P30D`) or short (`30d`, `12h`)", example: "P30D" });

/** A person as an answer shows them: what was known at writing time, and whether they are in the community now. */
export const UserRef = z
  .object({
    id: Snowflake,
    username_snapshot: z.string().optional(),
    display_name: z.string().optional(),
    avatar_url: z.string().optional(),
    in_community: z.boolean(),
  })
  .meta({ id: "UserRef" });
export type UserRef = z.infer<typeof UserRef>;

/** A message of Discord as somebody tells of it; nobody looked whether it was so. */
export const ToldMessage = z.strictObject({
  guild_id: Snowflake,
  channel_id: Snowflake,
  message_id: Snowflake,
  author_id: Snowflake.optional(),
  content: text(0, 4000).optional(),
  sent_at: Timestamp.optional(),
});

/** The names of what an answer leaves out. */
export const redacted = z
  .array(z.string())
  .meta({ id: "Redacted", description: "Fields this answer leaves out; only for holders of `audit.see_redactions`" })
  .optional();

/**
 * The same pattern for letters of either case. It needs no flag, as only the text of a pattern is published: a client that checks by the
 * document would refuse what the service takes.
 */
export function anyCase({ source }: RegExp): RegExp {
  let isInClass = false;
  const either = (letters: string): string => {
    const both = letters.toLowerCase() + letters.toUpperCase();
    return isInClass ? both : `[${both}]`;
  };
  const text = source.replace(/\\.|\(\?.|[[\]]|[A-Za-z]-[A-Za-z]|[A-Za-z]/g, (part) => {
    if (part === "[" || part === "]") isInClass = part === "[";
    if (!/^[A-Za-z]/.test(part)) return part;
    return isInClass || part.length === 1 ? either(part) : part.replace(/[A-Za-z]/g, either);
  });
  return new RegExp(text);
}

const id = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** The text of a record's id. */
export const idPattern = anyCase(new RegExp(`^${id}$`));

/** The text of a record's id, or of its number or code, such as `case-\\d{6,9}`. */
export const idOrPattern = (other: string): RegExp => anyCase(new RegExp(`^(${id}|${other})$`));

/** A whole number as an address holds it: digits alone, so that `1e2`, `0x10` and ` 5` are none. Commands give numbers. */
export function wholeNumber(min: number, max: number) {
  return z.preprocess(
    (value) => (typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value),
    z.int().min(min).max(max),
  );
}

/** Query parameters shared by every list. */
export const listQuery = {
  limit: wholeNumber(1, 200).default(50).meta({ description: "How many entries a page holds", example: 50 }),
  cursor: z.string().max(2000).optional().meta({ description: "`page.next_cursor` of the page before" }),
  count: z.enum(["true", "false"]).optional().meta({ description: "`true` adds `page.total`: how many entries there are on all pages" }),
};
export type ListQuery = z.output<z.ZodObject<typeof listQuery>>;

/** An ISO text of a date, or null. */
export function isoOrNull(at: Date | null): string | null {
  return at === null ? null : at.toISOString();
}

/** An address may be written so that it is no link: `203[.]0[.]113[.]7`. */
const brokenUp = /\s?[[({]\s?(dot|[.:])\s?[\])}]\s?/giu;
/** Signs that are written and not seen. */
const invisible = /\p{Cf}/gu;
/** A run of what addresses are written with, not in the middle of a word. */
const addressLike = /(?<![\p{L}\p{N}_.:])[0-9a-f.:]{3,}(?![\p{L}\p{N}_:])/giu;

/** Marks that tell one device, connection or browser from another. */
const marks: readonly RegExp[] = [
  // The address of a network card: 00:1a:2b:3c:4d:5e, 00-1A-2B-3C-4D-5E, 001a.2b3c.4d5e; longer rows of pairs are fingerprints.
  /(?<![\w:-])[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2}){4,}(?![\w:-])/i,
  /(?<![\w.])[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?![\w])/i,
  // What a browser says of itself.
  /\b(?:mozilla|applewebkit|gecko|chrome|crios|firefox|fxios|safari|edga?|edgios|opr|okhttp|dalvik|cfnetwork|curl)\/\d/i,
  // A digest: letters and digits together, so that ids of Discord, which are digits alone, are not meant.
  /(?<![\p{L}\p{N}_-])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{16,}(?![\p{L}\p{N}_-])/iu,
];

/** What a field says that must not hold such a thing. */
export const notAnonymous = {
  message: say("kernel.addresses-devices-and-fingerprints-are-not-stored"),
  params: { code: "identifying_data" },
} as const;

/** Whether a text holds nothing that tells a device, a connection or a browser from others. */
export function isAnonymous(text: string): boolean {
  return !holdsIdentifyingData(text);
}

/** Whether a text holds an IP address, the address of a network card, a browser's name for itself, or a fingerprint. */
function holdsIdentifyingData(text: string): boolean {
  const plain = text
    .normalize("NFKC")
    .replaceAll(invisible, "")
    .replaceAll(brokenUp, (_whole, mark: string) => (mark.toLowerCase() === "dot" ? "." : mark));
  return marks.some((mark) => mark.test(plain)) || [...plain.matchAll(addressLike)].some(([run]) => isAddress(run));
}

/** A run may end like a sentence, and an IPv4 address may be followed by a port. */
function isAddress(run: string): boolean {
  const bare = run.replace(/[.:]+$/, "");
  const [host = "", port] = bare.split(":");
  return (isIP(bare) !== 0 && /[0-9a-f]/i.test(bare)) || (port !== undefined && bare.split(":").length === 2 && isIP(host) === 4);
}

const hasNoSecret = ({ username, password, hash }: URL): boolean => username === "" && password === "" && hash === "";
/** An address that the service is to ask, as people write it; what it leads to is looked at when it is asked. */
export const WebAddress = z
  .string()
  .trim()
  .max(2000)
  .regex(/^https?:\/\/[^\s\\]+$/, say("kernel.write-an-address-that-begins-with-https"))
  .refine((address) => URL.canParse(address) && hasNoSecret(new URL(address)), say("kernel.leave-names-passwords-and-out-of-the"));
