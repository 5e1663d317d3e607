/** Who a message alerts, as ids. */
export type Alerted = { readonly everyone: boolean; readonly users: readonly string[]; readonly roles: readonly string[] };

export const nobody: Alerted = { everyone: false, users: [], roles: [] };

type Allowed = { parse?: string[] | null; users?: string[] | null; roles?: string[] | null };

const everything: Allowed = { parse: ["everyone", "users", "roles"] };
const written = { users: /<@!?(\d{1,20})>/g, roles: /<@&(\d{1,20})>/g };

/**
 * Whom a text alerts; whether the bot may mention everyone is not asked.
 * @param allowed the message's `allowed_mentions`; without it everything written counts
 */
export function alertedBy(text: string, allowed: unknown): Alerted {
  const rules = (allowed ?? everything) as Allowed;
  const parse = new Set(rules.parse ?? []);
  const named = (kind: "users" | "roles"): string[] => {
    const ids = new Set([...text.matchAll(written[kind])].map((match) => match[1] ?? ""));
    return [...ids].filter((id) => parse.has(kind) || rules[kind]?.includes(id));
  };
  return { everyone: parse.has("everyone") && /@(everyone|here)\b/.test(text), users: named("users"), roles: named("roles") };
}
