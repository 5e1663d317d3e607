/** What a callsign is made of. */
export interface CallsignDeps {
  dept?: string | null | undefined;
  rank?: string | null | undefined;
  n: number;
}

const placeholder = /\{([a-z_]+)(?::0(\d{1,2}))?\}/g;

/**
 * Write a callsign: `{dept}-{rank}{n:03}` with NORTH, S and 7 is NORTH-S007. A part that is not known stays empty; `:03` fills
 * a number up with zeros to three digits, and longer numbers stay whole.
 */
export function formatCallsign(template: string, { dept, rank, n }: CallsignDeps): string {
  const parts: Readonly<Record<string, string>> = { dept: dept ?? "", rank: rank ?? "", n: n.toString() };
  return template.replaceAll(placeholder, (_, name: string, width: string | undefined) => {
    const value = Object.hasOwn(parts, name) ? (parts[name] ?? "") : "";
    return name === "n" && width !== undefined ? value.padStart(Number(width), "0") : value;
  });
}

/** Numbers have at most so many digits, zeros in front not counted. */
const maxDigits = 6;

/**
 * The number in a callsign that `writeCallsign` wrote from a template with these parts, whatever the case; undefined when it is none
 * of them.
 */
export function numberIn(callsign: string, template: string, parts: Omit<CallsignDeps, "n">): number | undefined {
  const place = [...template.matchAll(placeholder)].find(([, name]) => name === "n");
  if (place === undefined) return undefined;
  const start = formatCallsign(template.slice(0, place.index), { ...parts, n: 0 }).trimStart().length;
  for (let length = Math.max(maxDigits, Number(place[2] ?? 0)); length > 0; length -= 1) {
    const digits = callsign.slice(start, start + length);
    if (digits.length !== length || !/^\d+$/.test(digits)) continue;
    if (isSame(formatCallsign(template, { ...parts, n: Number(digits) }).trim(), callsign)) return Number(digits);
  }
  return undefined;
}

/** Whether two callsigns are the same but for their case. */
export function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** As the pool wants it: as the template says, or in one case. */
const cases: Readonly<Record<string, (callsign: string) => string>> = {
  upper: (callsign) => callsign.toUpperCase(),
  lower: (callsign) => callsign.toLowerCase(),
};

/** A callsign as a pool writes it. Where a part at its beginning or end is empty, no space is left there: nobody could name it. */
export function writeCallsign(pool: { template: string; caseRule: string; department: string | null }, parts: CallsignDeps): string {
  const callsign = formatCallsign(pool.template, { ...parts, dept: parts.dept ?? pool.department }).trim();
  return cases[pool.caseRule]?.(callsign) ?? callsign;
}
