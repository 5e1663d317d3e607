import { z } from "zod";
import { isAddressRange } from "../../kernel/addresses.ts";
import { Snowflake, Timestamp, listQuery } from "../../kernel/fields.ts";

export const keysLimits = { name: 80, scopes: 200, addresses: 50, expiresDays: 3650 } as const;

const Scope = z
  .string()
  .max(100)
  .regex(/^(\*|[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*(\.\*)?)$/, "Write a permission, group.* or *.")
  .meta({ description: "A permission of the catalog, `group.*` or `*`; `system.act` is always named", example: "staff.*" });

export const CreateKeyInput = z
  .strictObject({
    name: z.string().trim().min(1).max(keysLimits.name).meta({ description: "What the key is for" }),
    scopes: z.array(Scope).min(1).max(keysLimits.scopes),
    delegation: z
      .enum(["none", "trusted", "signed"])
      .default("none")
      .meta({ description: "Whether the key may name acting users: not at all, by its word, or by a signature" }),
    expires_days: z.int().min(1).max(keysLimits.expiresDays).default(365),
    ip_allowlist: z
      .array(z.string().max(50).refine(isAddressRange, "Write an address or a range such as 203.0.113.0/24."))
      .max(keysLimits.addresses)
      .default([])
      .meta({ description: "Where the key may be used from; empty: anywhere" }),
  })
  .meta({ id: "CreateKeyInput" });
export type CreateKeyInput = z.input<typeof CreateKeyInput>;

export const BootstrapInput = z.strictObject({
  owner: Snowflake.optional(),
  name: z.string().trim().min(1).max(keysLimits.name).default("first key"),
});
export type BootstrapInput = z.input<typeof BootstrapInput>;

export const KeyView = z
  .object({
    id: z.string(),
    key_id: z.string().meta({ description: "The public part of the key" }),
    name: z.string(),
    scopes: z.array(z.string()),
    delegation: z.enum(["none", "trusted", "signed"]),
    ip_allowlist: z.array(z.string()),
    created_by: z.string().nullable(),
    created_at: Timestamp,
    expires_at: Timestamp,
    last_used_at: Timestamp.nullable(),
    rotated_from: z.string().nullable(),
    revoked_at: Timestamp.nullable(),
    revision: z.int().positive(),
  })
  .meta({ id: "ApiKey", description: "An API key; its secret is shown once, when it is made" });
export type KeyView = z.infer<typeof KeyView>;

export const KeysListQuery = z.object(listQuery);
export type KeysListQuery = z.infer<typeof KeysListQuery>;
