import type { Database, Tx } from "../../database/database.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission, requireWrite } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError, fieldError, recordNotFound } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { Cursors, Page } from "../../kernel/page.ts";
import { toPage, withTotal } from "../../kernel/page.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import { keysPolicy, presentKey } from "./keys.policy.ts";
import type { KeyRow } from "./keys.policy.ts";
import { BootstrapInput, CreateKeyInput } from "./keys.schema.ts";
import type { KeysListQuery, KeyView } from "./keys.schema.ts";
import { createKeyText, formatKey } from "./keys.text.ts";
import type { KeyText } from "./keys.text.ts";

/** A key that was just made. The secret is in no other answer. */
export interface CreatedKey extends KeyView {
  key: string;
}

export type KeysService = ReturnType<typeof createKeysService>;

export interface KeysDeps {
  database: Database;
  audit: AuditService;
  permissions: Pick<PermissionsService, "isKnownScope" | "createScopes" | "knownPermissions" | "requireHeld" | "addOwner">;
  cursors: Cursors;
  /** The key of the hashes of secrets. */
  pepper: Buffer;
}

const secondsPerDay = 86_400;

export function createKeysService({ database, audit, permissions, cursors, pepper }: KeysDeps) {
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };

  /** @throws ProblemError validation_failed, cannot_grant_unheld */
  function requireScopes(call: Call, scopes: readonly string[]): void {
    const errors = scopes.flatMap((scope, index) =>
      permissions.isKnownScope(scope)
        ? []
        : [
            {
              pointer: `/scopes/${index.toString()}`,
              in: "body" as const,
              code: "unknown_scope",
              detail: `"${scope}" is neither a permission nor group.* nor *.`,
            },
          ],
    );
    if (errors.length > 0)
      throw new ProblemError("validation_failed", { detail: `${errors.length.toString()} scopes are not known.`, errors });
    // The operator's command line and the service itself stand above the catalog.
    if (call.via === "cli" || call.via === "job") return;
    const allows = permissions.createScopes(scopes);
    permissions.requireHeld(call, [...permissions.knownPermissions].filter(allows));
  }

  async function insert(tx: Tx, { keyId, secret }: KeyText, input: ReturnType<typeof CreateKeyInput.parse>): Promise<KeyView> {
    const row: KeyRow & { scopes: string[]; ipAllowlist: string[] } = {
      id: uuid7(tx.now.getTime()),
      keyId,
      name: input.name,
      secretHash: keyedHash(pepper, secret),
      scopes: input.scopes,
      delegation: input.delegation,
      ipAllowlist: input.ip_allowlist,
      createdBy: tx.call.actor?.id ?? null,
      createdAt: tx.now,
      expiresAt: addSeconds(tx.now, input.expires_days * secondsPerDay),
      lastUsedAt: null,
      rotatedFrom: null,
      revokedAt: null,
      revision: 1,
    };
    await tx.db.apiKey.create({ data: row });
    const { scopes, delegation, ipAllowlist, name } = row;
    const after = { name, scopes, delegation, ip_allowlist: ipAllowlist, expires_at: row.expiresAt.toISOString() };
    audit.record(tx, {
      action: "api_key.create",
      target: { kind: "api_key", id: row.id, reference: keyId },
      after,
      permission: keysPolicy.create,
    });
    return presentKey(row);
  }

  return {
    /** Hear that a key was made or revoked here. */
    onChange(listener: () => void): void {
      listeners.add(listener);
    },

    /**
     * Make a key.
     * @throws ProblemError validation_failed (unknown scopes), cannot_grant_unheld
     */
    async create(call: Call, given: CreateKeyInput): Promise<CreatedKey> {
      requireWrite(call, keysPolicy.create);
      const input = CreateKeyInput.parse(given);
      if (input.delegation === "signed")
        throw fieldError("/delegation", "unsupported", "Signed delegation is not offered yet; choose none or trusted.");
      requireScopes(call, input.scopes);
      const text = createKeyText();
      const view = await database.write(call, (tx) => insert(tx, text, input));
      return withSecret(call, view, text);
    },

    /** Make the first owner and a key with every scope that may name acting users, in one step. */
    async bootstrap(call: Call, given: BootstrapInput): Promise<CreatedKey> {
      requireWrite(call, keysPolicy.create);
      const { owner, name } = BootstrapInput.parse(given);
      const input = CreateKeyInput.parse({ name, scopes: ["*"], delegation: "trusted" });
      requireScopes(call, input.scopes);
      const text = createKeyText();
      const view = await database.write(call, async (tx) => {
        if (owner !== undefined) await permissions.addOwner(tx, owner);
        return await insert(tx, text, input);
      });
      return withSecret(call, view, text);
    },

    /** Every key, oldest first, revoked ones too. */
    async list(call: Call, query: KeysListQuery): Promise<Page<KeyView>> {
      requirePermission(call, keysPolicy.list);
      const { limit, cursor } = query;
      const after = cursor === undefined ? "" : cursors.decode("keys", {}, cursor)[1];
      const rows = await database.read.apiKey.findMany({ where: { id: { gt: after } }, orderBy: { id: "asc" }, take: limit + 1 });
      const page = toPage(rows, limit, presentKey, (last) => cursors.encode("keys", {}, [last.id, last.id]));
      return withTotal(page, query, () => database.read.apiKey.count());
    },

    /**
     * End a key at once; a revoked key stays revoked.
     * @throws ProblemError record_not_found
     */
    async revoke(call: Call, id: string): Promise<KeyView> {
      requireWrite(call, keysPolicy.revoke);
      return await database.write(call, async (tx) => {
        const row = await tx.db.apiKey.findFirst({ where: { OR: [{ id }, { keyId: id }] } });
        if (row === null) throw recordNotFound();
        if (row.revokedAt !== null) return presentKey(row);
        const after = await tx.db.apiKey.update({ where: { id: row.id }, data: { revokedAt: tx.now, revision: { increment: 1 } } });
        audit.record(tx, {
          action: "api_key.revoke",
          target: { kind: "api_key", id: row.id, reference: row.keyId },
          permission: keysPolicy.revoke,
        });
        tx.afterCommit(changed);
        return presentKey(after);
      });
    },
  };
}

/**
 * The secret never passes through the transaction, whose result may be kept for a repeated request.
 * @throws ProblemError idempotency_key_reused for such a request: the first answer was the only one with the secret
 */
function withSecret(call: Call, view: KeyView, text: KeyText): CreatedKey {
  if (call.replayed) throw new ProblemError("idempotency_key_reused", { detail: "The key was shown in the first answer and is not kept." });
  return { ...view, key: formatKey(text) };
}
