import type { RouteSpec } from "../operations/route.ts";
import { withBounds } from "./bounds.ts";
import type { CommandSet, Entry, MenuSpec, PressSpec, SourceSpec } from "./entry.ts";

/** Everything that can be done by slash command, menu and button. */
export interface CommandTable {
  entries: readonly Entry[];
  /** Commands of the menu on a person or a message, at most five each. */
  menus: readonly MenuSpec[];
  /** Entries that no command has: only menus and buttons lead to them. */
  menuEntries: readonly Entry[];
  /** Where typed options are completed from, by name. */
  sources: Readonly<Record<string, SourceSpec>>;
  /** @param name `<command> <path>` @throws Error when there is no such entry */
  entryOf: (name: string) => Entry;
  /** What a button or a menu of another feature leads to an entry by. @throws Error when none does */
  pressOf: (name: string) => PressSpec;
}

/**
 * One table of the commands of every feature. What options and form fields take at least and at most, and what they choose from, is what
 * the routes behind them take, unless they say it. @throws Error when two of them have an entry or a source of the same name
 * @param mostUsed names of entries that stand before the others of their command, in this order @throws Error when one is no entry
 */
export function createCommandTable(
  sets: readonly CommandSet[],
  specs: readonly RouteSpec[],
  mostUsed: readonly string[] = [],
): CommandTable {
  const byOperation = new Map(specs.map((spec) => [spec.operationId, spec]));
  const bounded = (all: readonly Entry[]): Entry[] => all.map((entry) => withBounds(entry, (operation) => byOperation.get(operation)));
  const entries = byUse(bounded(sets.flatMap((set) => set.entries ?? [])), mostUsed);
  const menuEntries = bounded(sets.flatMap((set) => set.menuEntries ?? []));
  const byName = unique([...entries, ...menuEntries].map((entry) => [nameOf(entry), entry]));
  function entryOf(name: string): Entry {
    const entry = byName.get(name);
    if (entry === undefined) throw new Error(`there is no command ${name}`);
    return entry;
  }

  return {
    entries,
    menuEntries,
    menus: sets.flatMap(({ menus = [] }) => menus),
    sources: Object.fromEntries(unique(sets.flatMap(({ sources = {} }) => Object.entries(sources)))),
    entryOf,
    pressOf(name) {
      const { press } = entryOf(name);
      if (press === undefined) throw new Error(`no control leads to ${name}`);
      return press;
    },
  };
}

/** `<command> <path>` of an entry. */
export function nameOf({ command, path }: Pick<Entry, "command" | "path">): string {
  return `${command} ${path}`.trim();
}

function byUse(entries: readonly Entry[], mostUsed: readonly string[]): Entry[] {
  const named = new Map(entries.map((entry) => [nameOf(entry), entry]));
  const first = mostUsed.map((name) => {
    const entry = named.get(name);
    if (entry === undefined) throw new Error(`there is no command ${name}`);
    return entry;
  });
  return [...new Set([...first, ...entries])];
}

function unique<Value>(named: readonly (readonly [string, Value])[]): Map<string, Value> {
  const found = new Map<string, Value>();
  for (const [name, value] of named) {
    if (found.has(name)) throw new Error(`there are two of ${name}`);
    found.set(name, value);
  }
  return found;
}
