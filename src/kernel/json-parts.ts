import type { TimeSlices } from "./time-slices.ts";

/** Characters of a list that are parsed at once. */
const partLength = 32 * 1024;
/** Characters that are looked at between two looks at the clock. */
const lookedAtOnce = 16 * 1024;

/**
 * Parse JSON that may hold long lists, so that others have their turn: the lists at the top, or one level below, are parsed in parts.
 * @returns what JSON.parse returns
 * @throws SyntaxError as JSON.parse does
 */
export async function parseJsonInParts(text: string, slices: TimeSlices): Promise<unknown> {
  const lists: unknown[][] = [];
  const frame = await cutLists(text, slices, async (from, to, cuts) => {
    lists.push(await listOf(text, { from, to, cuts }, slices));
    return `[${(lists.length - 1).toString()}]`;
  });
  const value: unknown = JSON.parse(frame);
  const filled = (inner: unknown): unknown => (Array.isArray(inner) ? lists[inner[0] as number] : inner);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return filled(value);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filled(inner)]));
}

interface List {
  from: number;
  to: number;
  /** Where commas stand between its entries. */
  cuts: readonly number[];
}

/** The text with every list at the top, or in an object there, replaced. @param replace given where the inside of a list begins and ends */
async function cutLists(
  text: string,
  slices: TimeSlices,
  replace: (from: number, to: number, cuts: readonly number[]) => Promise<string>,
): Promise<string> {
  let frame = "";
  let kept = 0;
  let depth = 0;
  let isInText = false;
  let list: { from: number; depth: number; cuts: number[] } | undefined;
  for (let at = 0; at < text.length; at += 1) {
    if (at % lookedAtOnce === 0 && slices.isSpent()) await slices.next();
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === 92) at += 1;
      else if (code === 34) isInText = false;
    } else if (code === 34) isInText = true;
    else if (code === 91 || code === 123) {
      depth += 1;
      if (code === 91 && list === undefined && depth <= 2) list = { from: at + 1, depth, cuts: [] };
    } else if (code === 93 || code === 125) {
      if (list?.depth === depth && code === 93) {
        frame += text.slice(kept, list.from - 1) + (await replace(list.from, at, list.cuts));
        kept = at + 1;
        list = undefined;
      }
      depth -= 1;
    } else if (code === 44 && list?.depth === depth) list.cuts.push(at);
  }
  return frame + text.slice(kept);
}

/** The entries of a list. */
async function listOf(text: string, { from, to, cuts }: List, slices: TimeSlices): Promise<unknown[]> {
  const entries: unknown[] = [];
  let begin = from;
  for (const end of [...cuts, to]) {
    if (end - begin < partLength && end !== to) continue;
    const part = text.slice(begin, end);
    // An empty part beside others is a comma too many, which a part alone would not show.
    if (cuts.length > 0 && part.trim() === "") throw new SyntaxError("an entry of a list is missing");
    for (const entry of JSON.parse(`[${part}]`) as unknown[]) entries.push(entry);
    begin = end + 1;
    if (slices.isSpent()) await slices.next();
  }
  return entries;
}
