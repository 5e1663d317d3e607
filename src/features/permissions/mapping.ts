/** What a staff role says on top of its level. */
export interface Mapping {
  allow: ReadonlySet<string>;
  deny: ReadonlySet<string>;
}

/** Keys by what is wanted of them. */
type KeyLists = Readonly<Record<"allow" | "deny" | "clear", readonly string[]>>;

/** The change that leaves exactly these keys. */
export function replacedWith({ allow, deny }: Pick<KeyLists, "allow" | "deny">): () => Mapping {
  return () => ({ allow: new Set(allow), deny: new Set(deny) });
}

/** The change that says this about these keys; about others it says what was said before. */
export function updatedWith({ allow, deny, clear }: KeyLists): (before: Mapping) => Mapping {
  return (before) => {
    const named = new Set([...allow, ...deny, ...clear]);
    const rest = (keys: ReadonlySet<string>): string[] => [...keys].filter((key) => !named.has(key));
    return { allow: new Set([...rest(before.allow), ...allow]), deny: new Set([...rest(before.deny), ...deny]) };
  };
}

export function isSameMapping(a: Mapping, b: Mapping): boolean {
  return isSame(a.allow, b.allow) && isSame(a.deny, b.deny);
}

function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((key) => b.has(key));
}

/** What is said anew, and what is not said any more. */
export function changedKeys(before: Mapping, after: Mapping): KeyLists {
  const said = [...before.allow, ...before.deny];
  return {
    allow: [...after.allow].filter((key) => !before.allow.has(key)).toSorted(),
    deny: [...after.deny].filter((key) => !before.deny.has(key)).toSorted(),
    clear: [...new Set(said)].filter((key) => !after.allow.has(key) && !after.deny.has(key)).toSorted(),
  };
}

/** As the audit keeps it. */
export function mappingOf({ allow, deny }: Mapping): { allow: string[]; deny: string[] } {
  return { allow: [...allow].toSorted(), deny: [...deny].toSorted() };
}
