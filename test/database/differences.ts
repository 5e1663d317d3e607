/** Where an earlier answer says something that a later one does not: fields that are new count as none, and neither does the order of lists. */
export function differences(before: unknown, after: unknown, place = ""): { place: string; before: unknown; after: unknown }[] {
  if (before === after) return [];
  if (Array.isArray(before) && Array.isArray(after))
    return before.flatMap((one: unknown, index) => nearest(one, [after[index], ...after], `${place}[]`));
  if (isObject(before) && isObject(after))
    return Object.entries(before).flatMap(([name, value]) => differences(value, after[name], place === "" ? name : `${place}.${name}`));
  return [{ place, before, after }];
}

/** What one entry of a list differs in from the entry of the other list that is most like it. */
function nearest(one: unknown, others: readonly unknown[], place: string) {
  const found = others.map((other) => differences(one, other, place));
  return found.reduce((fewest, next) => (next.length < fewest.length ? next : fewest));
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
