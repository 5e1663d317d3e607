import { can, type Call } from "./call.ts";

/** The classes of domain fields, from what anybody may see who may ask, to what leaves the service for nobody. */
export const fieldClasses = ["public", "requester", "staff", "decider", "confidential", "secret"] as const;
export type FieldClass = (typeof fieldClasses)[number];

/**
 * One class per field of a view. A field with parts (of a list: of every entry) may have a table of its own instead.
 * What every view has is public: only optional fields can be left out. `*` stands for the other fields of an open record.
 */
export type FieldClasses<View> = { readonly [Field in keyof View as Exclude<Field, "redacted">]-?: ClassOf<View, Field> };

type ClassOf<View, Field extends keyof View> =
  | (Partial<Pick<View, Field>> extends Pick<View, Field> ? FieldClass : "public")
  | (unknown extends View[Field] ? never : PartsOf<NonNullable<View[Field]>>);
type PartsOf<Value> = Value extends readonly (infer Entry)[] ? PartsOf<Entry> : Value extends object ? FieldClasses<Value> : never;

/** Which classes a viewer is cleared for; `secret` never is. */
export type Clearance = Readonly<Record<Exclude<FieldClass, "public" | "secret">, boolean>>;

/** The clearance of anyone who may ask and is nothing more. */
export const noClearance: Clearance = { requester: false, staff: false, decider: false, confidential: false };

/** A view without what its viewer may not see, and for those who may know it, the names of what was left out. */
export type Visible<View> = View & { redacted?: string[] };

/** Whether a caller is told the names of the fields an answer leaves out. */
export function seesRedactions(call: Call): boolean {
  return can(call, "audit.see_redactions");
}

type Classes = ReadonlyMap<string, FieldClass | Classes>;

/** What one view is looked at with; `hidden` gathers the names of what is left out. */
interface Look {
  clearance: Clearance;
  hidden: Set<string>;
}

/**
 * The one way fields leave a resource: a field whose class the viewer is not cleared for is dropped, never blanked.
 * @param classes the class of every field, as data; a field without a class is never shown nor named
 * @returns `(view, clearance, isTold)`: the visible part; for those who are told, `redacted` names every dropped field the
 * view has, empty ones too, so that the name says nothing of the content: `reason`, `decision.reason`, `votes[].note`
 */
export function createVisibility<View extends object>(classes: FieldClasses<View>) {
  const table = toMap(classes);
  return (view: View, clearance: Clearance, isTold: boolean): Visible<View> => {
    const hidden = new Set<string>();
    const shown = visibleParts(view, table, "", { clearance, hidden }) as View;
    return isTold && hidden.size > 0 ? { ...shown, redacted: [...hidden].toSorted() } : shown;
  };
}

function toMap(classes: object): Classes {
  return new Map(
    Object.entries(classes).map(([field, of]: [string, FieldClass | object]) => [field, typeof of === "string" ? of : toMap(of)]),
  );
}

/** @param name of the value in the view; empty for the view itself */
function visibleParts(value: unknown, classes: Classes, name: string, look: Look): unknown {
  if (Array.isArray(value)) return value.map((entry: unknown) => visibleParts(entry, classes, `${name}[]`, look));
  if (typeof value !== "object" || value === null) return value;
  // Made of entries, so that a field called like a part of every object is a field like any other.
  return Object.fromEntries(Object.entries(value).flatMap(([field, part]) => visibleField(field, part, classes, name, look)));
}

function visibleField(field: string, part: unknown, classes: Classes, name: string, look: Look): [string, unknown][] {
  const of = classes.get(field) ?? classes.get("*");
  if (of === undefined || part === undefined) return [];
  const path = name === "" ? field : `${name}.${field}`;
  if (typeof of !== "string") return [[field, visibleParts(part, of, path, look)]];
  if (isCleared(of, look.clearance)) return [[field, part]];
  look.hidden.add(path);
  return [];
}

function isCleared(fieldClass: FieldClass, clearance: Clearance): boolean {
  return fieldClass === "public" || (fieldClass !== "secret" && clearance[fieldClass]);
}

/** Answers the ids of records that a caller may not know of. */
export type HiddenIds = (call: Call) => Promise<readonly string[]>;

/** What several features hide from a caller, each telling its own once, at start. */
export function createHiddenIds() {
  const sources: HiddenIds[] = [];
  return {
    add: (source: HiddenIds): void => void sources.push(source),
    hiddenIds: async (call: Call): Promise<string[]> => (await Promise.all(sources.map((source) => source(call)))).flat(),
  };
}
