import { z } from "zod";
import type { KeyView } from "./keys.schema.ts";

/** A row of the table of keys. */
export interface KeyRow {
  id: string;
  keyId: string;
  name: string;
  secretHash: string;
  scopes: unknown;
  delegation: string;
  ipAllowlist: unknown;
  createdBy: string | null;
  createdAt: Date;
  expiresAt: Date;
  lastUsedAt: Date | null;
  rotatedFrom: string | null;
  revokedAt: Date | null;
  revision: number;
}

const Texts = z.array(z.string());
const Delegation = z.enum(["none", "trusted", "signed"]);

/** The list in a JSON column. */
export function textsOf(column: unknown): string[] {
  return Texts.parse(column);
}

/** Everything about a key that may be seen; the hash of its secret is not. */
export function presentKey(row: KeyRow): KeyView {
  return {
    id: row.id,
    key_id: row.keyId,
    name: row.name,
    scopes: textsOf(row.scopes),
    delegation: Delegation.parse(row.delegation),
    ip_allowlist: textsOf(row.ipAllowlist),
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    rotated_from: row.rotatedFrom,
    revoked_at: row.revokedAt?.toISOString() ?? null,
    revision: row.revision,
  };
}

/** Who may call the verbs of this room. */
export const keysPolicy = { create: "clients.manage", list: "clients.manage", revoke: "clients.manage" } as const;
