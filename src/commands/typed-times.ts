import { parseDuration, Timestamp } from "../kernel/fields.ts";
import { languages } from "../kit/say.ts";

/** The units of a length, the longest first: in ISO 8601, and as the short form of the HTTP API. */
export const units = {
  year: { iso: "Y", short: undefined },
  month: { iso: "M", short: undefined },
  week: { iso: "W", short: "w" },
  day: { iso: "D", short: "d" },
  hour: { iso: "H", short: "h" },
  minute: { iso: "M", short: "m" },
  second: { iso: "S", short: undefined },
} as const;
export type Unit = keyof typeof units;
export const unitNames = Object.keys(units) as Unit[];
const ofDay: ReadonlySet<Unit> = new Set(["hour", "minute", "second"]);

/** What people type for something, in every language: somebody types in the language they think in. */
const typed = (key: string): string[] => Object.values(languages).flatMap((texts) => (texts[`typed ${key}`] ?? "").split("|"));
const anyOf = (words: readonly string[]): string =>
  words
    .toSorted((a, b) => b.length - a.length)
    .map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("|");
/** How people write a unit. */
export const wordsOf = (unit: Unit): string[] => typed(`unit ${unit}`);
const byWord: ReadonlyMap<string, Unit> = new Map(unitNames.flatMap((unit) => wordsOf(unit).map((word) => [word, unit] as const)));

/** A length in the units it was written in, each once. */
export type LengthParts = ReadonlyMap<Unit, number>;

/** What no end is called; the first one is what options hold. */
export const permanentWords: readonly string[] = typed("permanent");
export const permanent = "permanent";

/** Whether a text says that there is no end. */
export function isPermanent(text: string): boolean {
  return permanentWords.includes(plain(text));
}

const noneWords = typed("none");
export const none = "none";

/** Whether a text says that there is no length at all. */
export function isNone(text: string): boolean {
  return noneWords.includes(plain(text));
}

const plain = (text: string): string => text.trim().normalize("NFC").toLowerCase().replaceAll(/\s+/g, " ");

/** A count and a unit, after what joins them to those before: `30m`, `, 2 days`, ` and a week`. */
const piece = new RegExp(
  String.raw`\s*(?:,\s*)?(?:(?:${anyOf(typed("and"))}|&|\+)\s*)?(?:(\d{1,6})\s*|(?:${anyOf(typed("one"))})\s+)(\p{L}+)\.?`,
  "uy",
);

/** A length as people type it, such as `2 weeks`, `1h30m`, `3 Tage`, `P30D`; undefined when it is none, or could mean two. */
export function partsOf(text: string): LengthParts | undefined {
  const given = text.trim().normalize("NFC");
  if (/^p/i.test(given)) return isoParts(given.toUpperCase());
  const parts = new Map<Unit, number>();
  let end = 0;
  while (end < given.length) {
    piece.lastIndex = end;
    const [whole = "", count = "1", word = ""] = piece.exec(given) ?? [];
    const unit = byWord.get(word.toLowerCase());
    // A capital M alone is a month to some people and a minute to others.
    if (unit === undefined || word === "M" || parts.has(unit)) return undefined;
    parts.set(unit, Number(count));
    end += whole.length;
  }
  return parts.size === 0 || /^[\s,&+]/.test(given) ? undefined : parts;
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

const days: Readonly<Record<string, number>> = Object.fromEntries(
  [-2, -1, 0, 1, 2].flatMap((ahead) => typed(`day ${ahead.toString()}`).map((word) => [word, ahead])),
);
const dayMs = 86_400_000;
const clockTime = String.raw`(?:[ T](?:(?:${anyOf(typed("at"))}) )?(\d{1,2}:\d\d)(?: ?(?:${anyOf(typed("clock"))}))?)?`;
/** A length before or after now, as each language says it. */
const relative = (key: string): RegExp[] => typed(key).map((form) => new RegExp(`^${form.replace("{length}", "(.+)")}$`, "i"));
const [aheadForms, agoForms] = [relative("ahead"), relative("ago")];
const lengthOfForm = (forms: readonly RegExp[], text: string): string | undefined =>
  forms.map((form) => form.exec(text)?.[1]).find((length) => length !== undefined);
const nowWords = typed("now");
const isoDay = new RegExp(`^(\\d{4})-(\\d\\d)-(\\d\\d)${clockTime}$`, "i");
const dottedDay = new RegExp(`^(\\d{1,2})\\.(\\d{1,2})\\.(\\d{4})${clockTime}$`, "i");
const dayWord = new RegExp(`^(${anyOf(Object.keys(days))})${clockTime}$`, "i");

/**
 * A time as people type it: `2026-11-20` is the midnight its day begins with, `20.11.2026 14:30` a minute, both in UTC; `tomorrow`,
 * `in 2 days`, `3 days ago`. Undefined when it is none.
 * @param isAhead whether a bare length is counted forward or back from now
 */
export function momentOf(text: string, now: Date, isAhead: boolean): string | undefined {
  if (Timestamp.safeParse(text.trim()).success) return text.trim();
  const given = text.trim().normalize("NFC").replaceAll(/\s+/g, " ");
  const [, year, month, day, time] = isoDay.exec(given) ?? [];
  if (year !== undefined) return minuteOn(`${year}-${month ?? ""}-${day ?? ""}`, time);
  const [, dotted, inMonth, ofYear, at] = dottedDay.exec(given) ?? [];
  if (dotted !== undefined) return minuteOn(`${ofYear ?? ""}-${(inMonth ?? "").padStart(2, "0")}-${dotted.padStart(2, "0")}`, at);
  const [, word, then] = dayWord.exec(given) ?? [];
  if (word !== undefined)
    return minuteOn(new Date(now.getTime() + (days[word.toLowerCase()] ?? 0) * dayMs).toISOString().slice(0, 10), then);
  if (nowWords.includes(plain(given))) return now.toISOString();
  const ahead = lengthOfForm(aheadForms, given);
  const back = lengthOfForm(agoForms, given);
  const parts = partsOf(ahead ?? back ?? given);
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
