import { messageLimits, type MessageGap } from "../../kernel/message-parts.ts";
import { showText } from "../../kernel/storable.ts";

/** What a reader of one part of a message makes of it. */
export type Read<T> = (fields: Fields) => T;

/** The fields of one object of Discord, each read by its name. What is absent or null is undefined. */
export type Fields = ReturnType<typeof fieldsOf>;

/** What was not kept as it was, and how much text may still be kept. */
export interface Budget {
  readonly gaps: MessageGap[];
  text: number;
}

export const newBudget = (): Budget => ({ gaps: [], text: messageLimits.allText });

/** Earliest and latest times that are believed; others are named as unreadable. */
const times = { first: Date.UTC(2015, 0, 1), last: Date.UTC(9000, 0, 1) } as const;
const id = /^\d{1,20}$/;

/** Note what was left out. Beyond so many notes only their number grows. */
export function note({ gaps }: Budget, at: string, why: MessageGap["why"], count?: number): void {
  const last = gaps.at(-1);
  if (gaps.length < messageLimits.gaps) gaps.push({ at: at.slice(0, 200), why, ...(count !== undefined && { count }) });
  else if (last !== undefined) gaps[gaps.length - 1] = { at: "", why: "cut", count: last.at === "" ? (last.count ?? 1) + 1 : 2 };
}

/** The object at a place of a message; anything else is noted as unreadable. */
export function readObject<T>(budget: Budget, value: unknown, at: string, read: Read<T>): T | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) return lost(budget, at);
  const fields = fieldsOf(budget, value as Readonly<Record<string, unknown>>, at);
  const result = read(fields);
  fields.end();
  return result;
}

function lost(budget: Budget, at: string): undefined {
  note(budget, at, "unread");
  return undefined;
}

/** An object without the parts that hold nothing; undefined where nothing is left. */
export function held<T extends object>(given: T): T | undefined {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0));
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as T);
}

function fieldsOf(budget: Budget, source: Readonly<Record<string, unknown>>, at: string) {
  const known = new Set<string>();
  let isEnded = false;

  function take(name: string): unknown {
    known.add(name);
    return Object.hasOwn(source, name) ? (source[name] ?? undefined) : undefined;
  }

  function textAt(value: unknown, place: string, max: number): string | undefined {
    if (value === undefined) return undefined;
    if (typeof value !== "string") return lost(budget, place);
    const fitting = value.slice(0, Math.max(0, Math.min(max, budget.text)));
    // Half a character at the cut is no fault of the sender.
    const cut = fitting.length < value.length ? fitting.replace(/[\ud800-\udbff]$/, "") : fitting;
    if (cut.length < value.length) note(budget, place, "cut", value.length - cut.length);
    budget.text -= cut.length;
    const shown = showText(cut);
    if (shown !== cut) note(budget, place, "replaced");
    return shown;
  }

  const number = (name: string): number | undefined => {
    const value = take(name);
    if (value === undefined || (typeof value === "number" && Number.isFinite(value))) return value;
    return lost(budget, `${at}/${name}`);
  };

  const idAt = (value: unknown, place: string): string | undefined => {
    if (value === undefined || (typeof value === "string" && id.test(value))) return value;
    return lost(budget, place);
  };

  function list<T>(name: string, max: number, read: (item: unknown, place: string) => T | undefined): T[] {
    const value = take(name);
    if (value === undefined) return [];
    const place = `${at}/${name}`;
    if (!Array.isArray(value)) {
      note(budget, place, "unread");
      return [];
    }
    if (value.length > max) note(budget, place, "cut", value.length - max);
    return value.slice(0, max).flatMap((item: unknown, index) => {
      const one = read(item ?? undefined, `${place}/${index.toString()}`);
      return one === undefined ? [] : [one];
    });
  }

  return {
    at,
    text: (name: string, max: number = messageLimits.text) => textAt(take(name), `${at}/${name}`, max),
    number,
    whole: (name: string): number | undefined => {
      const value = number(name);
      return value === undefined || Number.isSafeInteger(value) ? value : lost(budget, `${at}/${name}`);
    },
    flag: (name: string): boolean | undefined => {
      const value = take(name);
      return value === undefined || typeof value === "boolean" ? value : lost(budget, `${at}/${name}`);
    },
    id: (name: string) => idAt(take(name), `${at}/${name}`),
    time: (name: string): string | undefined => {
      const value = take(name);
      if (value === undefined) return undefined;
      const moment = typeof value === "string" ? Date.parse(value) : Number.NaN;
      return moment >= times.first && moment < times.last ? new Date(moment).toISOString() : lost(budget, `${at}/${name}`);
    },
    list,
    object: <T>(name: string, read: Read<T>): T | undefined => readObject(budget, take(name), `${at}/${name}`, read),
    objects: <T>(name: string, max: number, read: Read<T | undefined>): T[] =>
      list(name, max, (item, place) => (item === undefined ? lost(budget, place) : readObject(budget, item, place, read))),
    ids: (name: string): string[] => list(name, messageLimits.items, idAt),
    texts: (name: string): string[] => list(name, messageLimits.items, (item, place) => textAt(item, place, messageLimits.text)),
    numbers: (name: string): number[] =>
      list(name, messageLimits.items, (item, place) => (typeof item === "number" && Number.isFinite(item) ? item : lost(budget, place))),
    /** The values of an object that has them by their ids. */
    byId: <T>(name: string, read: Read<T | undefined>): T[] => {
      const value = take(name);
      const found = readObject(budget, value, `${at}/${name}`, (inner) => inner.each(read));
      return found ?? [];
    },
    each: <T>(read: Read<T | undefined>): T[] => {
      const names = Object.keys(source);
      for (const one of names) known.add(one);
      if (names.length > messageLimits.items) note(budget, at, "cut", names.length - messageLimits.items);
      return names.slice(0, messageLimits.items).flatMap((one) => {
        const value = readObject(budget, source[one], `${at}/${showText(one).slice(0, 40)}`, read);
        return value === undefined ? [] : [value];
      });
    },
    /** The value as it came, to decide how it is read. */
    raw: (name: string): unknown => (Object.hasOwn(source, name) ? (source[name] ?? undefined) : undefined),
    names: (): string[] => Object.keys(source),
    has: (name: string): boolean => take(name) !== undefined,
    /** Fields that are known and hold nothing to keep; docs/evidence.md and a test say why. */
    pass: (...names: string[]): void => {
      for (const name of names) known.add(name);
    },
    /** Note what else the object has. */
    end: (): void => {
      if (isEnded) return;
      isEnded = true;
      for (const name of Object.keys(source))
        if (!known.has(name) && (source[name] ?? undefined) !== undefined) note(budget, `${at}/${showText(name).slice(0, 60)}`, "unknown");
    },
  };
}
