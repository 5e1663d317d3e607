// @module-tag sqlite
import fc from "fast-check";
import { expect, test } from "vitest";
import { sizeOf } from "../support/size.ts";
import type { Call } from "../../src/kernel/call.ts";
import {
  createVisibility,
  fieldClasses,
  noClearance,
  seesRedactions,
  type Clearance,
  type FieldClass,
  type FieldClasses,
} from "../../src/kernel/visibility.ts";

type Table = { [field: string]: FieldClass | Table };
type View = Record<string, unknown>;
const visibilityOf = (table: Table) => createVisibility(table as FieldClasses<View>);

/** One thing a view holds: where, what the answer calls it, for whom it is, and what it is. */
interface Held {
  at: string;
  name: string;
  class: FieldClass | undefined;
  value: unknown;
}

/** Everything a view holds by its table, in the order of the view. */
function heldBy(value: unknown, table: Table, at = "", name = ""): Held[] {
  if (Array.isArray(value)) {
    const entries = value.flatMap((entry, index) => heldBy(entry, table, `${at}[${index.toString()}]`, `${name}[]`));
    return [{ at, name, class: "public", value: `a list of ${value.length.toString()}` }, ...entries];
  }
  if (typeof value !== "object" || value === null) return [{ at, name, class: "public", value }];
  const fields = Object.entries(value).flatMap(([field, part]): Held[] => {
    const of = Object.hasOwn(table, field) ? table[field] : Object.hasOwn(table, "*") ? table["*"] : undefined;
    const [place, called] = [`${at}.${field}`, `${name}.${field}`.replace(/^\./, "")];
    return typeof of === "object" ? heldBy(part, of, place, called) : [{ at: place, name: called, class: of, value: part }];
  });
  return [{ at, name, class: "public", value: "an object" }, ...fields];
}

// Names of parts that every object has are names like any other; `*` stands for whatever a table does not name.
const fieldName = fc.constantFrom("a", "b", "c", "d", "__proto__", "constructor", "toString", "redacted");
const tableName = fc.oneof({ weight: 8, arbitrary: fieldName }, { weight: 1, arbitrary: fc.constant("*") });
const made = <Value>(entries: [string, Value][]): Record<string, Value> => Object.fromEntries(entries);
const record = <Value>(name: fc.Arbitrary<string>, value: fc.Arbitrary<Value>) =>
  fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key, maxLength: 6 }).map(made);

const tables = (depth: number): fc.Arbitrary<Table> => {
  const fieldClass: fc.Arbitrary<FieldClass | Table> = fc.constantFrom(...fieldClasses);
  return record(tableName, depth === 0 ? fieldClass : fc.oneof({ weight: 3, arbitrary: fieldClass }, tables(depth - 1)));
};
const values = (depth: number): fc.Arbitrary<unknown> => {
  const leaf = fc.jsonValue({ maxDepth: 1 });
  if (depth === 0) return leaf;
  return fc.oneof(leaf, record(fieldName, values(depth - 1)), fc.array(record(fieldName, values(depth - 1)), { maxLength: 3 }));
};
const views: fc.Arbitrary<View> = record(fieldName, values(2));
const clearances: fc.Arbitrary<Clearance> = fc.record({
  requester: fc.boolean(),
  staff: fc.boolean(),
  decider: fc.boolean(),
  confidential: fc.boolean(),
});

const isCleared = (of: FieldClass | undefined, clearance: Clearance): boolean =>
  of === "public" || (of !== undefined && of !== "secret" && clearance[of]);

test("what is shown is exactly what the viewer is cleared for, in its order, with its values", () => {
  fc.assert(
    fc.property(tables(2), views, clearances, (table, view, clearance) => {
      const before = structuredClone(view);
      const shown = visibilityOf(table)(view, clearance, false);
      expect(heldBy(shown, table)).toEqual(heldBy(view, table).filter((held) => isCleared(held.class, clearance)));
      expect(view).toEqual(before);
    }),
    { numRuns: sizeOf({ quick: 200, all: 1000, long: 10000 }) },
  );
});

test("redacted names exactly the dropped fields the view has, and only to those who are told", () => {
  fc.assert(
    fc.property(tables(2), views, clearances, (table, view, clearance) => {
      const visible = visibilityOf(table);
      const untold = visible(view, clearance, false);
      const dropped = heldBy(view, table).filter((held) => held.class !== undefined && !isCleared(held.class, clearance));
      const names = [...new Set(dropped.map(({ name }) => name))].toSorted();
      const told = visible(view, clearance, true);
      expect(told).toEqual(names.length === 0 ? untold : { ...untold, redacted: names });
    }),
    { numRuns: sizeOf({ quick: 200, all: 1000, long: 10000 }) },
  );
});

interface Letter {
  id: string;
  note?: string | null;
  readers?: { name: string; mark?: string }[];
  redacted?: string[];
}
const visibleLetter = createVisibility<Letter>({ id: "public", note: "staff", readers: { name: "public", mark: "decider" } });

test("the names of dropped fields come once, sorted, and say nothing of the content", () => {
  const readers = [{ name: "a", mark: "x" }, { name: "b", mark: "y" }, { name: "c" }];
  expect(visibleLetter({ id: "1", readers, note: null }, noClearance, true)).toEqual({
    id: "1",
    readers: [{ name: "a" }, { name: "b" }, { name: "c" }],
    redacted: ["note", "readers[].mark"],
  });
  expect(visibleLetter({ id: "1", readers: [{ name: "c" }] }, noClearance, true)).toEqual({ id: "1", readers: [{ name: "c" }] });
});

test("a field that is there without a value is neither shown nor named", () => {
  const view = { id: "1", note: undefined } as unknown as Letter;
  expect(Object.keys(visibleLetter(view, noClearance, true))).toEqual(["id"]);
  expect(Object.keys(visibleLetter(view, { ...noClearance, staff: true }, true))).toEqual(["id"]);
});

test("what a view brings along as its own redactions never passes as ours", () => {
  expect(visibleLetter({ id: "1", redacted: ["made up"] }, noClearance, true)).toEqual({ id: "1" });
});

test("only holders of audit.see_redactions are told", () => {
  const callWith = (...scopes: string[]): Call => ({
    client: { id: "k", name: "k", allows: (permission) => scopes.includes(permission) },
    actor: null,
    via: "rest",
    requestId: "r",
    idempotency: null,
    replayed: false,
  });
  expect(seesRedactions(callWith("audit.see_redactions"))).toBe(true);
  expect(seesRedactions(callWith("audit.read", "blacklist.read_confidential"))).toBe(false);
});
