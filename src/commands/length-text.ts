import { parseDuration } from "../kernel/fields.ts";
import type { Translate } from "../kit/say.ts";
import { lengthOf, type LengthParts, type Unit, unitNames } from "./typed-times.ts";

/** A length in the units it was written in, in words. */
export function partsText(parts: LengthParts, t: Translate): string {
  const language = t("language");
  return unitNames
    .filter((unit) => parts.has(unit))
    .map((unit) =>
      new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long", useGrouping: false }).format(parts.get(unit) ?? 0),
    )
    .join(" ");
}

const shownUnits: readonly Unit[] = ["year", "day", "hour", "minute", "second"];
const maxUnits = 2;

/** A length for people, in its two largest units: `30 days`, `1 hour 30 minutes`. */
export function lengthText(seconds: number, t: Translate): string {
  let rest = Math.max(0, Math.round(seconds));
  const counts = shownUnits.map((unit): [Unit, number] => {
    const size = parseDuration(lengthOf(new Map([[unit, 1]]))) ?? 1;
    const count = Math.floor(rest / size);
    rest %= size;
    return [unit, count];
  });
  const first = counts.findIndex(([, count]) => count > 0);
  const parts = counts.slice(first, first + maxUnits).filter(([, count]) => count > 0);
  return partsText(new Map(first === -1 ? [["second", 0]] : parts), t);
}
