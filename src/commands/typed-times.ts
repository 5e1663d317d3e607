import { parseDuration, Timestamp } from "../kernel/fields.ts";

/** The units of a length, the longest first: in ISO 8601, as the short form of the HTTP API, and as people write them. */
export const units = {
  year: { iso: "Y", short: undefined, words: ["y", "yr", "yrs", "year", "years", "j", "jahr", "jahre", "jahren"] },
  month: { iso: "M", short: undefined, words: ["mo", "mos", "month", "months", "monat", "monate", "monaten"] },
  week: { iso: "W", short: "w", words: ["w", "wk", "wks", "week", "weeks", "woche", "wochen"] },
  day: { iso: "D", short: "d", words: ["d", "day", "days", "t", "tag", "tage", "tagen"] },
  hour: { iso: "H", short: "h", words: ["h", "hr", "hrs", "hour", "hours", "std", "stunde", "stunden"] },
  minute: { iso: "M", short: "m", words: ["m", "min", "mins", "minute", "minutes", "minuten"] },
  second: { iso: "S", short: undefined, words: ["s", "sec", "secs", "second", "seconds", "sek", "sekunde", "sekunden"] },
} as const;
export type Unit = keyof typeof units;
export const unitNames = Object.keys(units) as Unit[];
const ofDay: ReadonlySet<Unit> = new Set(["hour", "minute", "second"]);
const byWord: ReadonlyMap<string, Unit> = new Map(unitNames.flatMap((unit) => units[unit].words.map((word) => [word, unit] as const)));

/** A length in the units it was written in, each once. */
export type LengthParts = ReadonlyMap<Unit, number>;

/** What no end is called; the first one is what options hold. */
export const permanentWords = [
  "permanent",
  "perm",
  "permanently",
  "forever",
  "for ever",
  "for good",
  "dauerhaft",
  "für immer",
  "fuer immer",
  "auf dauer",
  "unbefristet",
] as const;
export const permanent = permanentWords[0];

/** Whether a text says that there is no end. */
export function isPermanent(text: string): boolean {
  return permanentWords.some((word) => word === plain(text));
}

const noneWords = ["none", "no", "nothing", "0", "keine", "nein", "nichts"] as const;
export const none = noneWords[0];

/** Whether a text says that there is no length at all. */
export function isNone(text: string): boolean {
  return noneWords.some((word) => word === plain(text));
}

const plain = (text: string): string => text.trim().normalize("NFC").toLowerCase().replaceAll(/\s+/g, " ");

/** A count and a unit, after what joins them to those before: `30m`, `, 2 days`, ` and a week`. */
const piece = /\s*(?:,\s*)?(?:(?:and|und|&|\+)\s*)?(?:(\d{1,6})\s*|(?:an?|one|eine?[nmr]?)\s+)(\p{L}+)\.?/uy;

/** A length as people type it, such as `2 weeks`, `1h30m`, `3 Tage`, `P30D`; undefined when it is none, or could mean two. */
export function partsOf(text: string): LengthParts | undefined {
  const typed = text.trim().normalize("NFC");
  if (/^p/i.test(typed)) return isoParts(typed.toUpperCase());
  const parts = new Map<Unit, number>();
  let end = 0;
  while (end < typed.length) {
    piece.lastIndex = end;
    const [whole = "", count = "1", word = ""] = piece.exec(typed) ?? [];
    const unit = byWord.get(word.toLowerCase());
    // A capital M alone is a month to some people and a minute to others.
    if (unit === undefined || word === "M" || parts.has(unit)) return undefined;
    parts.set(unit, Number(count));
    end += whole.length;
  }
  return parts.size === 0 || /^[\s,&+]/.test(typed) ? undefined : parts;
}

function isoParts(text: string): LengthParts | undefined {
  if (parseDuration(text) === undefined) return undefined;
  const [days = "", time = ""] = text.slice(1).split("T");
  const counts = (of: string, isTime: boolean): (readonly [Unit, number])[] =>
    [...of.matchAll(/(\d+)([A-Z])/g)].flatMap(([, count, letter]) => {
      const unit = unitNames.find((one) => units[one].iso === letter && ofDay.has(one) === isTime);
      return unit === undefined ? [] : [[unit, Number(count)] as const];
    });
  return new Map([...counts(days, false), ...counts(time, true)]);
}

/** What was typed as the HTTP API takes it; ISO 8601 stays as it is. Undefined when it is no length. */
export function lengthIn(text: string): string | undefined {
  const parts = partsOf(text);
  if (parts === undefined) return undefined;
  return /^\s*p/i.test(text) ? text.trim().toUpperCase() : lengthOf(parts);
}

/** A length as the HTTP API takes it: `2w`, `P2M`, `PT1H30M`. */
export function lengthOf(parts: LengthParts): string {
  const [[unit, count] = ["second", 0] as const] = parts;
  const { short } = units[unit];
  if (parts.size === 1 && short !== undefined) return `${count.toString()}${short}`;
  const written = (isTime: boolean): string =>
    unitNames
      .filter((one) => parts.has(one) && ofDay.has(one) === isTime)
      .map((one) => `${(parts.get(one) ?? 0).toString()}${units[one].iso}`)
      .join("");
  const time = written(true);
  return `P${written(false)}${time === "" ? "" : `T${time}`}`;
}

const days: Readonly<Record<string, number>> = {
  "day before yesterday": -2,
  vorgestern: -2,
  yesterday: -1,
  gestern: -1,
  today: 0,
  heute: 0,
  tomorrow: 1,
  morgen: 1,
  "day after tomorrow": 2,
  übermorgen: 2,
};
const dayMs = 86_400_000;
const clockTime = String.raw`(?:[ T](?:at |um )?(\d{1,2}:\d\d)(?: ?utc| uhr)?)?`;
const isoDay = new RegExp(`^(\\d{4})-(\\d\\d)-(\\d\\d)${clockTime}$`, "i");
const dottedDay = new RegExp(`^(\\d{1,2})\\.(\\d{1,2})\\.(\\d{4})${clockTime}$`, "i");
const dayWord = new RegExp(`^(${Object.keys(days).join("|")})${clockTime}$`, "i");

/**
 * A time as people type it: `2026-11-20` is the midnight its day begins with, `20.11.2026 14:30` a minute, both in UTC; `tomorrow`,
 * `in 2 days`, `3 days ago`. Undefined when it is none.
 * @param isAhead whether a bare length is counted forward or back from now
 */
export function momentOf(text: string, now: Date, isAhead: boolean): string | undefined {
  if (Timestamp.safeParse(text.trim()).success) return text.trim();
  const typed = text.trim().normalize("NFC").replaceAll(/\s+/g, " ");
  const [, year, month, day, time] = isoDay.exec(typed) ?? [];
  if (year !== undefined) return minuteOn(`${year}-${month ?? ""}-${day ?? ""}`, time);
  const [, dotted, inMonth, ofYear, at] = dottedDay.exec(typed) ?? [];
  if (dotted !== undefined) return minuteOn(`${ofYear ?? ""}-${(inMonth ?? "").padStart(2, "0")}-${dotted.padStart(2, "0")}`, at);
  const [, word, then] = dayWord.exec(typed) ?? [];
  if (word !== undefined)
    return minuteOn(new Date(now.getTime() + (days[word.toLowerCase()] ?? 0) * dayMs).toISOString().slice(0, 10), then);
  if (/^(?:now|jetzt)$/i.test(typed)) return now.toISOString();
  const [, ahead] = /^in (.+)$/i.exec(typed) ?? [];
  const [, ago, vor] = /^(?:(.+) ago|vor (.+))$/i.exec(typed) ?? [];
  const back = ago ?? vor;
  const parts = partsOf(ahead ?? back ?? typed);
  if (parts === undefined) return undefined;
  const isForward = ahead !== undefined || (back === undefined && isAhead);
  return timeAfter(now, (parseDuration(lengthOf(parts)) ?? 0) * (isForward ? 1 : -1));
}

/** @returns undefined for a date or a time that does not exist */
function minuteOn(day: string, time = "00:00"): string | undefined {
  const text = `${day}T${time.padStart(5, "0")}:00.000Z`;
  return isTime(new Date(text)) && new Date(text).toISOString() === text ? text : undefined;
}

function timeAfter(now: Date, seconds: number): string | undefined {
  const at = new Date(now.getTime() + seconds * 1000);
  return isTime(at) ? at.toISOString() : undefined;
}

const isTime = (at: Date): boolean => !Number.isNaN(at.getTime());
