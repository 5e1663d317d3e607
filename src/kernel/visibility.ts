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

type Classes = Readonly<Record<string, FieldClass | object>>;

/** What becomes of a field: it is shown, it is left out under this name, or its parts are looked at. */
type Step = "show" | { leave: string } | { parts: Plan };

/** What becomes of the fields of one value, for one clearance: made once, as every list asks for it fifty times. */
interface Plan {
  fields: ReadonlyMap<string, Step>;
  /** Of another field of an open record; undefined where there is none. */
  other?: (field: string) => Step;
  /** Of every entry, where the value is a list. */
  entries(): Plan;
  /** Whether nothing of the known fields is left out: a value that has no others is shown as it is. */
  showsAll: boolean;
}

/**
 * The one way fields leave a resource: a field whose class the viewer is not cleared for is dropped, never blanked.
 * @param classes the class of every field, as data; a field without a class is never shown nor named
 * @returns `(view, clearance, isTold)`: the visible part; for those who are told, `redacted` names every dropped field the
 * view has, empty ones too, so that the name says nothing of the content: `reason`, `decision.reason`, `votes[].note`
 */
export function createVisibility<View extends object>(classes: FieldClasses<View>) {
  const plans = new Map<string, Plan>();
  const planFor = (clearance: Clearance): Plan => {
    const key = `${clearance.requester}${clearance.staff}${clearance.decider}${clearance.confidential}`;
    const plan = plans.get(key) ?? planOf(classes, "", clearance);
    plans.set(key, plan);
    return plan;
  };
  return (view: View, clearance: Clearance, isTold: boolean): Visible<View> => {
    const hidden: string[] = [];
    const shown = visibleParts(view, planFor(clearance), hidden) as View;
    return isTold && hidden.length > 0 ? { ...shown, redacted: [...new Set(hidden)].toSorted() } : shown;
  };
}

/** @param name of the value in the view; empty for the view itself */
function planOf(classes: Classes, name: string, clearance: Clearance): Plan {
  const stepOf = (field: string, of: FieldClass | object): Step => {
    const path = name === "" ? field : `${name}.${field}`;
    if (typeof of !== "string") return { parts: planOf(of as Classes, path, clearance) };
    return isCleared(of, clearance) ? "show" : { leave: path };
  };
  const others = classes["*"];
  let entries: Plan | undefined;
  const fields = new Map(Object.entries(classes).map(([field, of]) => [field, stepOf(field, of)]));
  return {
    fields,
    showsAll: [...fields.values()].every((step) => step === "show"),
    ...(others !== undefined && { other: (field: string) => stepOf(field, others) }),
    entries: () => (entries ??= planOf(classes, `${name}[]`, clearance)),
  };
}

function visibleParts(value: unknown, plan: Plan, hidden: string[]): unknown {
  if (Array.isArray(value)) return value.map((entry: unknown) => visibleParts(entry, plan.entries(), hidden));
  if (typeof value !== "object" || value === null) return value;
  if (plan.showsAll && isKnown(value, plan)) return value;
  const shown: Record<string, unknown> = {};
  for (const field of Object.keys(value)) {
    const step = plan.fields.get(field) ?? plan.other?.(field);
    const part = (value as Record<string, unknown>)[field];
    if (step === undefined || part === undefined) continue;
    if (step === "show") assign(shown, field, part);
    else if ("parts" in step) assign(shown, field, visibleParts(part, step.parts, hidden));
    else hidden.push(step.leave);
  }
  return shown;
}

function isKnown(value: object, { fields }: Plan): boolean {
  for (const field in value) if (!fields.has(field) || (value as Record<string, unknown>)[field] === undefined) return false;
  return true;
}

/** A field of an open record may be called like a part of every object. */
function assign(shown: Record<string, unknown>, field: string, value: unknown): void {
  if (field === "__proto__") Object.defineProperty(shown, field, { value, enumerable: true, configurable: true, writable: true });
  else shown[field] = value;
}

function isCleared(fieldClass: FieldClass, clearance: Clearance): boolean {
  return fieldClass === "public" || (fieldClass !== "secret" && clearance[fieldClass]);
}

/**
 * Answers the ids of records that a caller may not know of.
 * @param among the ids that are asked about, at most 800; all when it is left out, at a cost that grows with the number of such records
 */
export type HiddenIds = (call: Call, among?: readonly string[]) => Promise<readonly string[]>;

/** What several features hide from a caller, each telling its own once, at start. */
export function createHiddenIds() {
  const sources: HiddenIds[] = [];
  return {
    add: (source: HiddenIds): void => void sources.push(source),
    hiddenIds: async (call: Call, among?: readonly string[]): Promise<string[]> =>
      (await Promise.all(sources.map((source) => source(call, among)))).flat(),
  };
}
