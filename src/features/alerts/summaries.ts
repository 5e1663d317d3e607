import type { OutboxEvent } from "../../generated/sqlite/client.ts";
import type { AlertKind } from "../../kernel/vocabulary.ts";
import { alertSpecs, type AlertChange, type AlertData } from "./kinds.ts";

/** What a summary is made of. */
export interface Summary {
  kind: AlertKind;
  /** The list, such as `own`. */
  of: string;
  /** When its hour began. */
  hour: Date;
  /** Of how many it tells. */
  count: number;
  /** Whether nobody was told of one by one. */
  isAll: boolean;
}

/** How many alerts of a kind and list an hour has of their own. */
const mostOwn = 10;
const hourMs = 3_600_000;
/** How long it is known who is part of a summary. */
export const knownMs = 24 * hourMs;
/** The shortest time between two changes of a message, in milliseconds: Discord takes five a few seconds. */
const restMs = 2000;

interface Group {
  kind: AlertKind;
  of: string;
  hour: Date;
  /** Events that have an alert of their own. */
  own: Set<number>;
  /** What the others are about, with their events. */
  others: Map<string, number>;
  isChanged: boolean;
  /** When it may be shown again. */
  shownAt: number;
}

/** Which alerts of one guild have a message of their own, and which are told of together: it follows from the journal alone. */
export function createSummaries(): Summaries {
  const groups = new Map<string, Group>();

  function groupOf(kind: AlertKind, of: string, at: Date): Group {
    const hour = Math.floor(at.getTime() / hourMs) * hourMs;
    const key = JSON.stringify([kind, of, hour]);
    const known = groups.get(key);
    if (known !== undefined) return known;
    for (const [old, group] of groups) if (group.hour.getTime() < hour - knownMs) groups.delete(old);
    const made: Group = { kind, of, hour: new Date(hour), own: new Set(), others: new Map(), isChanged: false, shownAt: -Infinity };
    groups.set(key, made);
    return made;
  }

  return {
    note({ kind, isOver }: AlertChange, { seq, at, data }: Pick<OutboxEvent, "seq" | "at" | "data">): boolean {
      const { gathered, about } = alertSpecs[kind];
      if (gathered === undefined) return false;
      const said = data as AlertData;
      const of = String(said[gathered.by]);
      const key = JSON.stringify(about.map((field) => said[field]));
      if (isOver) {
        for (const group of groups.values()) {
          if (group.kind !== kind || (group.others.get(key) ?? seq) >= seq) continue;
          group.others.delete(key);
          group.isChanged = true;
        }
        return false;
      }
      const group = groupOf(kind, of, at);
      if (group.own.has(seq)) return false;
      if (!gathered.isOnly(said) && group.own.size < mostOwn) {
        group.own.add(seq);
        return false;
      }
      if ((group.others.get(key) ?? -1) < seq) {
        group.others.set(key, seq);
        group.isChanged = true;
      }
      return true;
    },

    next(isForced: boolean): Summary | undefined {
      const now = performance.now();
      for (const { isChanged, shownAt, kind, of, hour, own, others } of groups.values())
        if (isChanged && (isForced || shownAt <= now - restMs)) return { kind, of, hour, count: others.size, isAll: own.size === 0 };
      return undefined;
    },

    shown({ kind, of, hour, count }: Summary): void {
      const group = groupOf(kind, of, hour);
      group.shownAt = performance.now();
      group.isChanged = group.others.size !== count;
    },

    allShown(): void {
      for (const group of groups.values()) group.isChanged = false;
    },

    waitMs(): number | undefined {
      const changed = [...groups.values()].flatMap(({ isChanged, shownAt }) => (isChanged ? [shownAt] : []));
      return changed.length === 0 ? undefined : Math.max(0, Math.min(...changed) + restMs - performance.now());
    },
  };
}

export interface Summaries {
  /**
   * Take an event into account; the same event again changes nothing.
   * @returns whether the alert is told in a summary, and not by itself
   */
  note(about: AlertChange, given: Pick<OutboxEvent, "seq" | "at" | "data">): boolean;
  /** A summary that is not shown as it is. @param isForced whether also one that was shown a moment ago */
  next(isForced: boolean): Summary | undefined;
  /** It is shown as it was. */
  shown(given: Summary): void;
  /** Everything that is known is shown. */
  allShown(): void;
  /** For how long nothing can be shown that has changed, in milliseconds; undefined: nothing has. */
  waitMs(): number | undefined;
}
