import type { Call } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { Grant } from "./grant.ts";
import { isSuspension, type Override } from "./access/subject.ts";

/** An entry of one person as a change wants it; `clear` wants none. */
export interface Wanted {
  key: string;
  effect: Override["effect"] | "clear";
  /** Where it counts: one guild, or (null) everywhere. */
  guildId: string | null;
  expiresAt: Date | null;
  reason: string;
}

/** A wanted entry that differs from the one there is. */
export interface Edit {
  before: Override | undefined;
  wanted: Wanted;
}

/** Stands for every permission in the entry that is a suspension. */
export const everything = "*";

/** The entries that count at a moment; the suspension is none of them. */
export function entriesAt(rows: readonly Override[], now: Date): Override[] {
  return rows.filter((row) => row.permission !== everything && isInForce(row, now));
}

/** What denies somebody everything, until its end. */
export function suspensionBy(call: Call, { reason, expiresAt }: Pick<Override, "reason" | "expiresAt">, now: Date): Override {
  const id = uuid7(now.getTime());
  return {
    id,
    permission: everything,
    effect: "deny",
    guildId: null,
    reason,
    expiresAt,
    createdBy: call.actor?.id ?? null,
    createdAt: now,
  };
}

/** The suspension that counts at a moment; of several the one that lasts the longest. */
export function suspensionAt(rows: readonly Override[], now: Date): Override | undefined {
  return suspensionsAt(rows, now).reduce<Override | undefined>(
    (last, row) => (last === undefined || endOf(row) > endOf(last) ? row : last),
    undefined,
  );
}

/** Every suspension that counts at a moment: requests may suspend somebody who is suspended, for longer. */
export function suspensionsAt(rows: readonly Override[], now: Date): Override[] {
  return rows.filter((row) => isSuspension(row) && isInForce(row, now));
}

function isInForce({ expiresAt }: Override, now: Date): boolean {
  return expiresAt === null || expiresAt > now;
}

/** Whether two entries are about the same permission in the same place; at most one of those counts. */
export function isSamePlace(row: Override, { key, guildId }: Pick<Wanted, "key" | "guildId">): boolean {
  return row.permission === key && row.guildId === guildId;
}

/** What really changes; an entry that is wanted as it is stays untouched. */
export function editsOf(entries: readonly Override[], wanted: readonly Wanted[]): Edit[] {
  return wanted
    .map((one) => ({ before: entries.find((entry) => isSamePlace(entry, one)), wanted: one }))
    .filter(({ before, wanted: one }) => (one.effect === "clear" ? before !== undefined : before === undefined || !isSame(before, one)));
}

function isSame(before: Override, { effect, expiresAt, reason }: Wanted): boolean {
  return before.effect === effect && before.reason === reason && endOf(before) === endOf({ expiresAt });
}

/** Times compare as numbers; no end is later than any. */
function endOf({ expiresAt }: { expiresAt: Date | null }): number {
  return expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
}

/**
 * What edits let the person do that the entries before did not. A denial that goes or ends earlier may give something back for
 * good; an allowance gives until it ends.
 */
export function grantsOf(edits: readonly Edit[]): Grant[] {
  return edits.flatMap(({ before, wanted }) => {
    const { key, guildId, effect, expiresAt } = wanted;
    if (before?.effect === "deny") {
      const staysDenied = effect === "deny" && endOf(wanted) >= endOf(before);
      return staysDenied ? [] : [{ key, guildId, until: null }];
    }
    const isLonger = effect === "allow" && (before === undefined || endOf(wanted) > endOf(before));
    return isLonger ? [{ key, guildId, until: expiresAt }] : [];
  });
}

/** What allowances give; of somebody who is no staff they wait, and give it the moment they become staff. */
export function waitingGrants(entries: readonly Override[]): Grant[] {
  return entries.flatMap(({ permission, effect, guildId, expiresAt }) =>
    effect === "allow" ? [{ key: permission, guildId, until: expiresAt }] : [],
  );
}

/** The entries there are after a change, those of before that it took away, and those it made. */
export interface EntryChange {
  rows: readonly Override[];
  gone: readonly Override[];
  fresh: readonly Override[];
}

/** The rows there would be after the edits. @param idOf makes the id of a new row */
export function applyEdits(
  rows: readonly Override[],
  edits: readonly Edit[],
  made: { idOf: () => string; by: string | null; at: Date },
): EntryChange {
  const gone = rows.filter((row) => edits.some(({ wanted }) => isSamePlace(row, wanted)));
  const fresh = edits.flatMap(({ wanted: { key, effect, guildId, expiresAt, reason } }): Override[] => {
    if (effect === "clear") return [];
    return [{ id: made.idOf(), permission: key, effect, guildId, reason, expiresAt, createdBy: made.by, createdAt: made.at }];
  });
  return { rows: [...rows.filter((row) => !gone.includes(row)), ...fresh], gone, fresh };
}
