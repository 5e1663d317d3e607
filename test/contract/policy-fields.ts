import { codesIn, isHeldBy, isInScopes, tableUnder, type Caller } from "./policy.ts";

/** A line of the table of fields. */
export interface PolicyFields {
  resource: string;
  /** The page speaks of requests about the blacklist alone. */
  isOfBlacklist: boolean;
  /** Dotted names; `[]` stands for every entry of a list, `*` for any name. */
  names: string[];
  /** All of them are needed. */
  permissions: string[];
  /** Whether the person the record is about sees them in any case. */
  isForPerson: boolean;
}

export const policyFields: readonly PolicyFields[] = tableUnder("Fields").map(([resource, names, who = ""]) => ({
  resource: codesIn(resource)[0] ?? "",
  isOfBlacklist: resource?.endsWith(" of the blacklist") === true,
  names: codesIn(names),
  permissions: codesIn(who),
  isForPerson: who.startsWith("the person"),
}));

/** Whether a caller holds a permission: the key and, where one is named, the acting user. */
export function holds({ key, actor }: Caller, permission: string): boolean {
  return key !== null && isInScopes(key.scopes, permission) && (actor === null || isHeldBy(actor, permission));
}

/** Every name in an answer, at every depth. */
export function namesIn(view: unknown, at = ""): Set<string> {
  if (Array.isArray(view)) return new Set(view.flatMap((entry) => [...namesIn(entry, `${at}[]`)]));
  if (typeof view !== "object" || view === null) return new Set();
  return new Set(
    Object.entries(view).flatMap(([name, part]) => {
      const path = at === "" ? name : `${at}.${name}`;
      return [path, ...namesIn(part, path)];
    }),
  );
}

/** The names among those of an answer that a name of the table stands for. */
export function matching(names: ReadonlySet<string>, listed: string): string[] {
  const form = new RegExp(`^${listed.replaceAll(/[.[\]]/g, "\\$&").replaceAll("*", "[^.]+")}$`);
  return [...names].filter((name) => form.test(name));
}

/** The names that are left when some are hidden with all their parts. */
export function without(names: ReadonlySet<string>, hidden: readonly string[]): string[] {
  const isHidden = (name: string): boolean =>
    hidden.some((one) => name === one || name.startsWith(`${one}.`) || name.startsWith(`${one}[]`));
  return [...names].filter((name) => !isHidden(name)).toSorted();
}
