import { say } from "../../kit/say.ts";
import { z } from "zod";
import { isAddressRange } from "../../kernel/addresses.ts";
import { Snowflake, Timestamp, listQuery } from "../../kernel/fields.ts";

export const keysLimits = { name: 80, scopes: 200, addresses: 50, expiresDays: 3650, graceSeconds: 604_800, search: 80 } as const;

const Name = z.string().trim().min(1).max(keysLimits.name).meta({ description: "What the key is for", example: "community site" });

const Scope = z
  .string()
  .max(100)
  .regex(/^(\*|[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*(\.\*)?)$/, say("keys.write-a-permission-group-or"))
  .meta({ description: "A permission of the catalog, `group.*` or `*`; `system.act` is always named", example: "staff.*" });
const Scopes = z.array(Scope).min(1).max(keysLimits.scopes);

const Delegation = z
  .enum(["none", "trusted", "signed"])
  .meta({ description: "Whether the key may name acting users: not at all, by its word, or by a signature" });

const isWhole = (x: string): boolean => Buffer.from(x, "base64url").toString("base64url") === x;

/** The public half of an Ed25519 key pair (RFC 8037). */
export const PublicKey = z
  .strictObject({
    kty: z.literal("OKP"),
    crv: z.literal("Ed25519"),
    x: z
      .string()
      .regex(/^[\w-]{43}$/, { error: say("keys.write-32-bytes-as-43-characters-of"), abort: true })
      .refine(isWhole, say("keys.write-32-bytes-as-43-characters-of"))
      .meta({ example: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }),
  })
  .meta({ description: "The public half of an Ed25519 key pair as a JWK; only for signed delegation" });
export type PublicKey = z.infer<typeof PublicKey>;

const PublicKeyInput = PublicKey.extend({
  d: z
    .string()
    .refine(() => false, say("keys.this-is-the-private-half-keep-it"))
    .optional()
    .meta({ description: "The private half: never to be sent, always refused" }),
})
  .transform(({ kty, crv, x }): PublicKey => ({ kty, crv, x }))
  .meta({ id: "Ed25519PublicKey", description: "The public half of an Ed25519 key pair as a JWK; only for signed delegation" });

const Addresses = z
  .array(z.string().max(50).refine(isAddressRange, say("keys.write-an-address-or-a-range-such")))
  .max(keysLimits.addresses)
  .meta({ description: "Where the key may be used from; empty: anywhere" });

const ExpiresAt = Timestamp.optional();
const ExpiresDays = z.int().min(1).max(keysLimits.expiresDays).optional();

/** When a key is to end: at a time, or so many days from now. */
export interface KeyEnd {
  expires_at?: string | undefined;
  expires_days?: number | undefined;
}

const isOneEnd = (input: KeyEnd): boolean => input.expires_at === undefined || input.expires_days === undefined;
const twoEnds = { path: ["expires_days"], message: say("keys.send-expires-at-or-expires-days-not") };

export const CreateKeyInput = z
  .strictObject({
    name: Name,
    scopes: Scopes,
    delegation: Delegation.default("none"),
    public_key: PublicKeyInput.optional(),
    expires_at: ExpiresAt.meta({ description: "When it ends; send it or `expires_days`" }),
    expires_days: ExpiresDays.meta({
      description: "Days until it ends: 365 unless one of both is sent, but never beyond the end of a key without acting user",
    }),
    ip_allowlist: Addresses.default([]),
  })
  .refine(isOneEnd, twoEnds)
  .meta({ id: "CreateKeyInput" });
export type CreateKeyInput = z.input<typeof CreateKeyInput>;

export const UpdateKeyInput = z
  .strictObject({
    name: Name.optional(),
    scopes: Scopes.optional(),
    delegation: Delegation.optional(),
    public_key: PublicKeyInput.optional(),
    ip_allowlist: Addresses.optional(),
    expires_at: ExpiresAt.meta({ description: "The new end; send it or `expires_days`" }),
    expires_days: ExpiresDays.meta({ description: "The new end, in days from now" }),
  })
  .refine(isOneEnd, twoEnds)
  .meta({ id: "UpdateKeyInput", description: "Fields that are not sent stay" });
export type UpdateKeyInput = z.input<typeof UpdateKeyInput>;

export const RotateKeyInput = z
  .strictObject({
    grace_seconds: z
      .int()
      .min(0)
      .max(keysLimits.graceSeconds)
      .default(86_400)
      .meta({ description: "How long the old key goes on working; 0 ends it at once" }),
    expires_at: ExpiresAt.meta({ description: "When the new key ends; send it or `expires_days`" }),
    expires_days: ExpiresDays.meta({
      description: "Days until the new key ends; without one of both, it ends when the old one would have",
    }),
  })
  .refine(isOneEnd, twoEnds)
  .meta({ id: "RotateKeyInput" });
export type RotateKeyInput = z.input<typeof RotateKeyInput>;

export const BootstrapInput = z.strictObject({ owner: Snowflake.optional(), name: Name.default("first key") });
export type BootstrapInput = z.input<typeof BootstrapInput>;

const KeyState = z.enum(["active", "expired", "revoked"]);

export const KeyView = z
  .object({
    id: z.string(),
    key_id: z.string().meta({ description: "The public part of the key" }),
    name: z.string(),
    state: KeyState,
    warning: z.enum(["limited", "expires_soon"]).nullable().meta({
      description:
        "`limited` while somebody who made it lacks part of what it may do, so that it does less; `expires_soon` during its last 30 days",
    }),
    makers: z.array(z.string()).meta({
      description: "Who may know its secret or private key; it never does more than each of them. Empty for keys of the command line",
    }),
    scopes: z.array(z.string()),
    delegation: Delegation,
    public_key: PublicKey.nullable(),
    ip_allowlist: z.array(z.string()),
    created_by: z.string().nullable(),
    created_at: Timestamp,
    expires_at: Timestamp,
    last_used_at: Timestamp.nullable().meta({ description: "Noted once a minute" }),
    rotated_from: z.string().nullable().meta({ description: "The id of the key this one took the place of" }),
    revoked_at: Timestamp.nullable(),
    revision: z.int().positive(),
  })
  .meta({ id: "ApiKey", description: "An API key; its secret is shown once, when it is made" });
export type KeyView = z.infer<typeof KeyView>;

/** A key that was just made. The secret is in no other answer. */
export const CreatedKeyView = KeyView.extend({
  key: z.string().meta({ description: "The key itself, shown only now", example: `prv_live_${"0".repeat(12)}_…` }),
}).meta({ id: "CreatedApiKey", description: "An API key with its secret" });
export type CreatedKeyView = z.infer<typeof CreatedKeyView>;

export const KeysListQuery = z.object({
  ...listQuery,
  state: KeyState.optional(),
  q: z.string().trim().min(1).max(keysLimits.search).optional().meta({ description: "Part of the name, or the start of the key id" }),
});
export type KeysListQuery = z.infer<typeof KeysListQuery>;
