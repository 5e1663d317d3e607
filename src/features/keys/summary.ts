import { say } from "../../kit/say.ts";
import type { KeySettings } from "./keys.policy.ts";

/** Each setting as a person reads it who has to confirm it. */
const words: { [Name in keyof KeySettings]: (value: KeySettings[Name]) => string | undefined } = {
  name: (name) => say("keys.name", { name }),
  scopes: (scopes) => say("keys.scopes", { keys: scopes.join(", ") }),
  delegation: (delegation) => say("keys.delegation", { delegation }),
  publicKey: (key) => (key === null ? undefined : say("keys.public-key", { key: key.x })),
  ipAllowlist: (addresses) =>
    addresses.length === 0 ? say("keys.usable-from-anywhere") : say("keys.usable-from", { names: addresses.join(", ") }),
  expiresAt: (end) => say("keys.ends", { day: end.toISOString().slice(0, 10) }),
};

/**
 * What a change does to a key, in plain words.
 * @param changed the settings it has afterwards, or those of them that are others than before
 * @param dangerous permissions among its scopes that can do lasting harm
 */
export function inWords(
  what: "new-secret" | "change" | "revoke" | "make",
  key: { name: string; keyId: string } | undefined,
  changed: Partial<KeySettings>,
  dangerous: readonly string[],
): string {
  const parts = Object.entries(changed).flatMap(([name, value]) => (words[name as keyof KeySettings] as Word)(value) ?? []);
  const danger = dangerous.length === 0 ? [] : [say("keys.dangerous", { keys: dangerous.join(", ") })];
  return say(`keys.${what}`, {
    name: key?.name ?? "",
    key: key?.keyId ?? "",
    parts: parts.length === 0 ? "none" : [...parts, ...danger].join("; "),
  });
}

type Word = (value: unknown) => string | undefined;

/** What of the settings is another than before. */
export function changedOf(before: KeySettings, after: KeySettings): Partial<KeySettings> {
  const isOther = ([name, value]: [string, unknown]): boolean =>
    JSON.stringify(value) !== JSON.stringify(before[name as keyof KeySettings]);
  return Object.fromEntries(Object.entries(after).filter(isOther));
}
