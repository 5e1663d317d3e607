import { ApplicationCommandOptionType } from "discord.js";

/** A command, an option or a choice as it goes over the wire. */
export type Fields = Readonly<Record<string, unknown>>;

/** One thing in which two lists of commands differ. */
export interface Detail {
  /** Names on the way to the option, the command's own left out. */
  path: readonly string[];
  /** The field that differs; `option`, `choice` and `order` stand for whole ones and for their order. */
  field: string;
  /** Null: not there. */
  before: unknown;
  after: unknown;
}

/** What a field means where it is left out; what Discord fills in by itself is no difference. */
type Reading = (value: unknown) => unknown;

const orNull: Reading = (value) => value ?? null;
const orNo: Reading = (value) => value ?? false;
const orEmpty: Reading = (value) => value ?? "";
const numbers: Reading = (value) => ((value ?? []) as number[]).toSorted((a, b) => a - b);
const kind: Reading = (value) => ApplicationCommandOptionType[value as number] ?? value;

const texts: Readonly<Record<string, Reading>> = { description: orEmpty };
const commandReadings: Readonly<Record<string, Reading>> = {
  ...texts,
  // Discord gives the bits as text; a bot may send them as a number.
  default_member_permissions: (value) => (typeof value === "number" ? value.toString() : (value ?? null)),
  nsfw: orNo,
};
/** Compared only where both sides name them: another implementation may not know them, and the list of one guild has none. */
const places = ["contexts", "integration_types"];
const optionReadings: Readonly<Record<string, Reading>> = {
  type: kind,
  ...texts,
  required: orNo,
  autocomplete: orNo,
  min_value: orNull,
  max_value: orNull,
  min_length: orNull,
  max_length: orNull,
  channel_types: numbers,
};
const choiceReadings: Readonly<Record<string, Reading>> = { name: orEmpty };
const localized = ["name_localizations", "description_localizations"];

/** Everything in which a command of Discord's list differs from ours. */
export function compareCommand(before: Fields, after: Fields): Detail[] {
  const named = places.filter((field) => before[field] !== undefined && after[field] !== undefined);
  const placeReadings = Object.fromEntries(named.map((field) => [field, (value: unknown) => (value === null ? null : numbers(value))]));
  return [
    ...compareFields(before, after, { ...commandReadings, ...placeReadings }, []),
    ...compareList(before["options"], after["options"], optionRules, []),
  ];
}

interface ListRules {
  what: "option" | "choice";
  nameOf(item: Fields): string;
  compare(before: Fields, after: Fields, path: readonly string[]): Detail[];
}

const choiceRules: ListRules = {
  what: "choice",
  nameOf: ({ value }) => JSON.stringify(value),
  compare: (before, after, path) => compareFields(before, after, choiceReadings, path),
};

const optionRules: ListRules = {
  what: "option",
  nameOf: ({ name }) => String(name),
  compare: (before, after, path) => [
    ...compareFields(before, after, optionReadings, path),
    ...compareList(before["choices"], after["choices"], choiceRules, path),
    ...compareList(before["options"], after["options"], optionRules, path),
  ],
};

function compareFields(before: Fields, after: Fields, readings: Readonly<Record<string, Reading>>, path: readonly string[]): Detail[] {
  const plain = Object.entries(readings).map(([field, read]) => ({
    path,
    field,
    before: read(before[field]),
    after: read(after[field]),
  }));
  const translated = localized.flatMap((field) => {
    const [old, now] = [record(before[field]), record(after[field])];
    const locales = [...new Set([...Object.keys(old), ...Object.keys(now)])].toSorted();
    return locales.map((locale) => ({ path, field: `${field}.${locale}`, before: old[locale] ?? null, after: now[locale] ?? null }));
  });
  return [...plain, ...translated].filter(isDifferent);
}

/** People see options and choices in their order, so that it counts; what is on one side only is told as a whole. */
function compareList(before: unknown, after: unknown, { what, nameOf, compare }: ListRules, path: readonly string[]): Detail[] {
  const byName = (list: unknown): Map<string, Fields> => new Map(((list ?? []) as Fields[]).map((item) => [nameOf(item), item]));
  const [old, now] = [byName(before), byName(after)];
  const common = [...now.keys()].filter((name) => old.has(name));
  const gone = [...old.keys()].filter((name) => !now.has(name));
  const fresh = [...now.keys()].filter((name) => !old.has(name));
  const order = {
    path,
    field: `order of ${what}s`,
    before: [...old.keys()].filter((name) => now.has(name)).join(", "),
    after: common.join(", "),
  };
  return [
    ...gone.map((name) => ({ path: [...path, name], field: what, before: "there", after: null })),
    ...fresh.map((name) => ({ path: [...path, name], field: what, before: null, after: "there" })),
    ...common.flatMap((name) => compare(old.get(name) ?? {}, now.get(name) ?? {}, [...path, name])),
    ...[order].filter(isDifferent),
  ];
}

function isDifferent({ before, after }: Detail): boolean {
  return JSON.stringify(before) !== JSON.stringify(after);
}

function record(value: unknown): Fields {
  return (value ?? {}) as Fields;
}
