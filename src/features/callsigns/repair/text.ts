import type { CallsignPool } from "../../../generated/sqlite/client.ts";
import type { Enlisted } from "./registry.ts";
import { writeCallsign } from "../template.ts";

/** How a pool writes a number for somebody: the usual way first, then any other that is right as well. */
export function writtenWays(pool: CallsignPool, number: number, holder: Enlisted | undefined): [usual: string, ...others: string[]] {
  const write = (dept: string | null): string => writeCallsign(pool, { dept, rank: holder?.staffRole, n: number });
  const usual = write(pool.department);
  const theirs = holder?.department ?? null;
  return theirs === null ? [usual] : [usual, write(theirs)];
}

/** Whether a callsign is what its pool writes. Of somebody whose staff role is not known any place in it is right. */
export function isWrittenRight(pool: CallsignPool, callsign: string, number: number, holder: Enlisted | undefined): boolean {
  if (writtenWays(pool, number, holder).includes(callsign)) return true;
  if (typeof holder?.staffRole === "string" || !pool.template.includes("{rank}")) return false;
  return isMadeOf(callsign, writeCallsign(pool, { rank: "\0", n: number }).split("\0"));
}

/** Whether a text is these pieces with anything but spaces between them. One pass for each piece, however many ways there are. */
function isMadeOf(text: string, [first = "", ...others]: readonly string[]): boolean {
  let ends = new Set(text.startsWith(first) ? [first.length] : []);
  for (const piece of others) {
    const next = new Set<number>();
    let isOpen = false;
    for (let at = 0; at <= text.length; at += 1) {
      isOpen = ends.has(at) || (isOpen && !/\s/.test(text.charAt(at - 1)));
      if (isOpen && text.startsWith(piece, at)) next.add(at + piece.length);
    }
    ends = next;
  }
  return ends.has(text.length);
}
