/** When the youngest row was made; rows lie five minutes apart. */
export const newest = Date.now() - 60_000;
const apart = 5 * 60_000;
const day = 86_400_000;

/** When the entry of a place was made: the last one a minute ago. */
export function timeOf(index: number, rows: number): Date {
  return new Date(newest - (rows - 1 - index) * apart);
}

/** The time some days from now. */
export function days(count: number): Date {
  return new Date(newest + count * day);
}

/** A Discord id for a number. */
export function snowflake(index: number): string {
  return (80_351_110_000_000_000n + BigInt(index)).toString();
}

/** An id that sorts as the index does. */
export function idOf(index: number, kind = 0): string {
  return `01990000-${kind.toString(16).padStart(4, "0")}-7000-8000-${index.toString(16).padStart(12, "0")}`;
}

/** A number in [0, below) that belongs to an index and looks arbitrary, the same in every run. */
export function arbitrary(index: number, below: number, salt = 0): number {
  let mixed = Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return ((mixed ^ (mixed >>> 15)) >>> 0) % below;
}

/** One of some values, in equal shares. */
export function oneOf<Value>(values: readonly [Value, ...Value[]], index: number, salt = 0): Value {
  return values[arbitrary(index, values.length, salt)] ?? values[0];
}

/** How many entries have a rare value; they are the oldest, so that a walk from the newest meets them last. */
export const few = 5;

const words =
  "account alliance announcement banner channel evening friends ghost harbour invite link market member message morning mention night order partner ping raid report rules scam server sailor staff trade voice weekend".split(
    " ",
  );

/** Some words out of thirty; what people write uses the same words again and again. */
export function sentence(index: number, count: number, salt = 0): string {
  return Array.from({ length: count }, (_, place) => words[arbitrary(index, words.length, salt * 100 + place)]).join(" ");
}
