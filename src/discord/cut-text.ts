import { worded } from "../kit/say.ts";

const mark = "…";
const fence = "```";
/** A mention, a time or an emoji of which the end is missing. */
const halfTag = /(?<!\\)<[@#:/a-z][^<>\s]{0,79}$/;
const tick = /(?<!\\)(?:\\\\)*`/g;

/**
 * A text of at most so many UTF-16 units, with a mark where it was cut: between characters, never within an escape, a mention or code.
 * Halves of characters, which cannot be sent, are replaced.
 */
export function cutText(text: string, length: number): string {
  const whole = worded(text).replaceAll(/\p{Surrogate}/gu, "\uFFFD");
  if (whole.length <= length) return whole;
  const start = withoutHalves(whole.slice(0, Math.max(0, length - mark.length)));
  if (!isOdd(start.split(fence).length - 1)) return closeCode(start) + mark;
  const end = `${mark}\n${fence}`;
  const shorter = withoutHalves(whole.slice(0, Math.max(0, length - end.length)));
  return isOdd(shorter.split(fence).length - 1) ? shorter + end : closeCode(shorter) + mark;
}

/** Whether a text shows nothing. */
export function isBlank(text: string | null | undefined): boolean {
  return text === undefined || text === null || /^[\s\p{Cf}\p{Cc}]*$/u.test(text);
}

function withoutHalves(text: string): string {
  const tidied = text.replace(/[\ud800-\udbff]$/, "").replace(halfTag, "");
  return isOdd(/\\*$/.exec(tidied)?.[0].length ?? 0) ? tidied.slice(0, -1) : tidied;
}

/** Code that was opened with one tick and not closed would take in what comes after. */
function closeCode(text: string): string {
  if (text.includes(fence)) return text;
  const ticks = [...text.matchAll(tick)];
  const last = ticks.at(-1);
  return last === undefined || !isOdd(ticks.length) ? text : text.slice(0, last.index + last[0].length - 1);
}

const isOdd = (count: number): boolean => count % 2 === 1;
