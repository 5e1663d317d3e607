import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ApplicationIntegrationType,
  InteractionContextType,
  type RESTPostAPIApplicationCommandsJSONBody,
} from "discord-api-types/v10";

/** The change that one command needs. */
export type Change = { type: number; name: string } & (
  | { kind: "new"; wanted: Fields }
  | { kind: "changed"; id: string; wanted: Fields; details: Detail[] }
  | { kind: "gone"; id: string }
);

export interface Difference {
  changes: Change[];
  /** The number of commands that are up to date. */
  unchanged: number;
  /** The number of commands in the list that this service does not manage. */
  foreign: number;
}

/** The types of commands that the service manages. Discord itself adds another one for applications with an activity. */
const ours = new Set<number>([ApplicationCommandType.ChatInput, ApplicationCommandType.User, ApplicationCommandType.Message]);

function isOurs(command: Fields): boolean {
  return ours.has(typeOf(command));
}

/**
 * The full payload of a command: by default hidden from ordinary members, and for guilds only.
 * @param inGuild for the list of one guild, which has no contexts and integration types
 */
export function payloadOf(payload: RESTPostAPIApplicationCommandsJSONBody, inGuild = false): Fields {
  const places = { contexts: [InteractionContextType.Guild], integration_types: [ApplicationIntegrationType.GuildInstall] };
  const full: Fields = { default_member_permissions: "0", ...places, ...payload };
  if (!inGuild) return full;
  const { contexts, integration_types, ...rest } = full;
  return rest;
}

/** The changes that turn Discord's list into the wanted one. Commands are identified by type and name, as by Discord. */
export function compareLists(known: readonly Fields[], wanted: readonly Fields[]): Difference {
  const left = new Map(known.filter(isOurs).map((command) => [keyOf(command), command]));
  const changes: Change[] = [];
  for (const command of wanted) {
    const old = left.get(keyOf(command));
    left.delete(keyOf(command));
    if (old === undefined) changes.push({ kind: "new", ...nameOf(command), wanted: command });
    else {
      const details = compareCommand(old, command);
      if (details.length > 0) changes.push({ kind: "changed", ...nameOf(command), id: String(old["id"]), wanted: command, details });
    }
  }
  const unchanged = wanted.length - changes.length;
  for (const command of left.values()) changes.push({ kind: "gone", ...nameOf(command), id: String(command["id"]) });
  return { changes, unchanged, foreign: known.filter((command) => !isOurs(command)).length };
}

const signs = { new: "+", changed: "~", gone: "-" } as const;

/** A short label for logs: `+1:case`, `~1:case`, `-1:case`; the number is the type of the command. */
export function labelOf({ kind, type, name }: Change): string {
  return `${signs[kind]}${type.toString()}:${name}`;
}

function typeOf(command: Fields): number {
  return (command["type"] as number | undefined) ?? ApplicationCommandType.ChatInput;
}

function nameOf(command: Fields): { type: number; name: string } {
  return { type: typeOf(command), name: String(command["name"]) };
}

function keyOf(command: Fields): string {
  const { type, name } = nameOf(command);
  return `${type.toString()}:${name}`;
}

/** A command, an option or a choice in its wire format. */
export type Fields = Readonly<Record<string, unknown>>;

/** One difference between two commands of the same name. */
export interface Detail {
  /** The names that lead to the option, without that of the command. */
  path: readonly string[];
  /** The field that differs; `option` and `choice` are whole ones that were added or removed. */
  field: string;
  /** Null if there is none. */
  before: unknown;
  after: unknown;
}

/** Fills in the default of a field, so that a default Discord adds is no difference. */
type Reading = (value: unknown) => unknown;

const orNull: Reading = (value) => value ?? null;
const orNo: Reading = (value) => value ?? false;
const orEmpty: Reading = (value) => value ?? "";
const numbers: Reading = (value) => ((value ?? []) as number[]).toSorted((a, b) => a - b);
const kind: Reading = (value) => ApplicationCommandOptionType[value as number] ?? value;

const texts: Readonly<Record<string, Reading>> = { description: orEmpty };
const commandReadings: Readonly<Record<string, Reading>> = {
  ...texts,
  // Discord sends the bits as text; a payload may have them as a number.
  default_member_permissions: (value) => (typeof value === "number" ? value.toString() : (value ?? null)),
  nsfw: orNo,
};
/** Compared only if both sides have them: the list of one guild has none, and other implementations may not know them. */
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

/** All differences between a command in Discord's list and the wanted one. */
function compareCommand(before: Fields, after: Fields): Detail[] {
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

/** Compares options or choices with their order, which people see; an item on one side only is one difference. */
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
