import { createHash, createHmac } from "node:crypto";
import type { AuditEntry } from "../../generated/sqlite/client.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import { showText } from "../../kernel/storable.ts";

/** Where the chain starts. */
export const genesis = "0".repeat(64);

/** `value` as every database gives it back: dates as text, no undefined, no characters PostgreSQL refuses. */
export function storable(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? null : cleaned(JSON.parse(text));
}

function cleaned(value: unknown): unknown {
  if (typeof value === "string") return showText(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [showText(key), cleaned(entry)]));
}

/** The hash of an entry: SHA-256 over the previous hash and the canonical JSON of its visible columns, `erased` only where it says something. */
export function entryHash(entry: Omit<AuditEntry, "hash">): string {
  const { prevHash, erased, ...columns } = entry;
  const visible = { ...columns, at: columns.at.toISOString(), ...(erased !== null && { erased }) };
  return createHash("sha256").update(prevHash).update(canonicalJson(visible)).digest("hex");
}

/** What an entry says about its details without holding them. */
export function commitment(salt: string, payload: unknown): string {
  return createHmac("sha256", Buffer.from(salt, "base64url")).update(canonicalJson(payload)).digest("hex");
}
