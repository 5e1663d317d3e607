import { z } from "zod";
import type { Database, Tx } from "../../database/database.ts";
import { requireWrite, type Call } from "../../kernel/call.ts";
import type { Held } from "../../kernel/held.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { KeyGrants } from "./grants.ts";
import {
  boundEnd,
  endOf,
  keysPolicy,
  requireActive,
  requireFittingKey,
  settingsOf,
  secondsPerDay,
  type KeySettings,
  type PresentKey,
} from "./keys.policy.ts";
import type { KeyRecords } from "./records.ts";
import { UpdateKeyInput, BootstrapInput, CreateKeyInput, type KeyView, type CreatedKeyView } from "./keys.schema.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { KeySecrets } from "./secrets.ts";
import { say, term } from "../../kit/say.ts";

/** Each setting as a person reads it who has to confirm it. */
const words: { [Name in keyof KeySettings]: (value: KeySettings[Name]) => string | undefined } = {
  name: (name) => say("keys.name", { name }),
  scopes: (scopes) => say("keys.scopes", { keys: scopes.join(", ") }),
  delegation: (delegation) => say("keys.delegation", { delegation: term(delegation) }),
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
function changedOf(before: KeySettings, after: KeySettings): Partial<KeySettings> {
  const isOther = ([name, value]: [string, unknown]): boolean =>
    JSON.stringify(value) !== JSON.stringify(before[name as keyof KeySettings]);
  return Object.fromEntries(Object.entries(after).filter(isOther));
}

interface ChangeDeps {
  database: Database;
  confirmations: ConfirmationsService;
  records: KeyRecords;
  grants: KeyGrants;
  present: PresentKey;
}

/** A change of a key, as it is kept while it waits for a confirmation. */
const Update = z.strictObject({ id: z.string(), revision: z.int().optional(), input: UpdateKeyInput });
type Update = z.output<typeof Update>;
const Revocation = Update.omit({ input: true });
type Revocation = z.output<typeof Revocation>;

/** The service methods that change and end keys. */
export function createKeyChanges({ database, confirmations, records, grants, present }: ChangeDeps) {
  /** @throws ProblemError validation_failed, cannot_grant_unheld */
  function requireMayChange(call: Call, before: KeySettings, after: KeySettings): boolean {
    const isNarrower = grants.isOnlyNarrowed(before, after);
    if (isNarrower) return true;
    boundEnd(call, after.expiresAt, after.expiresAt);
    grants.requireMayGive(call, after);
    return false;
  }

  async function update(tx: Tx, { id, revision, input }: Update): Promise<KeyView | Held> {
    const row = await records.lock(tx, id);
    requireRevision(revision, row.revision);
    requireActive(row, tx.now);
    const before = settingsOf(row);
    const after = changed(before, input, tx.now);
    if (input.scopes !== undefined) grants.requireKnown(after.scopes);
    const changes = changedOf(before, after);
    if (Object.keys(changes).length === 0) {
      records.confirm(tx);
      return present(row, tx.now);
    }
    const isNarrower = requireMayChange(tx.call, before, after);
    const dangerous = isNarrower ? [] : grants.dangerousIn(after);
    const held = await confirmations.hold(tx, {
      action: "keys.update",
      group: "keys",
      permission: keysPolicy.update,
      input: { id: row.id, revision: row.revision, input },
      summary: inWords("change", row, changes, dangerous),
      dangerous,
    });
    if (held !== undefined) return held;
    const about = { action: "api_key.update", event: "api_key.updated", permission: keysPolicy.update } as const;
    // The notices of the old end say nothing about the new one.
    return present(
      await records.change(
        tx,
        row,
        { settings: after, isProvedAnew: changes.publicKey !== undefined, ...(changes.expiresAt !== undefined && { noticeDays: null }) },
        about,
      ),
      tx.now,
    );
  }

  async function revoke(tx: Tx, { id, revision }: Revocation): Promise<KeyView | Held> {
    const row = await records.lock(tx, id);
    requireRevision(revision, row.revision);
    if (row.revokedAt !== null) {
      records.confirm(tx);
      return present(row, tx.now);
    }
    const held = await confirmations.hold(tx, {
      action: "keys.revoke",
      group: "keys",
      permission: keysPolicy.revoke,
      input: { id: row.id },
      summary: inWords("revoke", row, {}, []),
    });
    if (held !== undefined) return held;
    const about = { action: "api_key.revoke", event: "api_key.revoked", permission: keysPolicy.revoke } as const;
    return present(await records.change(tx, row, { revokedAt: tx.now }, about), tx.now);
  }

  confirmations.register("keys.update", async (tx, input) => {
    requireWrite(tx.call, keysPolicy.update);
    return await update(tx, Update.parse(input));
  });
  confirmations.register("keys.revoke", async (tx, input) => {
    requireWrite(tx.call, keysPolicy.revoke);
    return await revoke(tx, Revocation.parse(input));
  });

  return {
    /**
     * Change a key that is active. What only renames or narrows it needs nothing more; anything else needs a caller who holds all
     * that the key has afterwards, until its end.
     * @param ifMatch the revision the caller read
     * @throws ProblemError record_not_found, precondition_failed, invalid_transition, validation_failed, cannot_grant_unheld
     */
    async update(call: Call, id: string, given: UpdateKeyInput, ifMatch?: number): Promise<KeyView | Held> {
      requireWrite(call, keysPolicy.update);
      const input = UpdateKeyInput.parse(given);
      return await database.write(call, (tx) => update(tx, { id, revision: ifMatch, input }));
    },

    /**
     * End a key at once; a revoked key stays revoked.
     * @param ifMatch the revision the caller read
     * @throws ProblemError record_not_found, precondition_failed
     */
    async revoke(call: Call, id: string, ifMatch?: number): Promise<KeyView | Held> {
      requireWrite(call, keysPolicy.revoke);
      return await database.write(call, (tx) => revoke(tx, { id, revision: ifMatch }));
    },
  };
}

/** @throws ProblemError validation_failed: an end that has passed or is too far, a public key that is missing or not wanted */
function changed(before: KeySettings, input: Update["input"], now: Date): KeySettings {
  const delegation = input.delegation ?? before.delegation;
  const publicKey = input.public_key ?? (delegation === "signed" ? before.publicKey : null);
  requireFittingKey(delegation, publicKey);
  return {
    name: input.name ?? before.name,
    scopes: input.scopes === undefined ? before.scopes : [...new Set(input.scopes)],
    delegation,
    publicKey,
    ipAllowlist: input.ip_allowlist ?? before.ipAllowlist,
    expiresAt: endOf(input, now) ?? before.expiresAt,
  };
}

interface CreateDeps {
  database: Database;
  permissions: Pick<PermissionsService, "addOwner">;
  confirmations: ConfirmationsService;
  records: KeyRecords;
  grants: KeyGrants;
  present: PresentKey;
  secrets: KeySecrets;
}

/** A key to be made, as it is kept while it waits for a confirmation. */
const Draft = z.strictObject({ ...CreateKeyInput.shape, key_id: z.string(), secret_hash: z.string() });
type Draft = z.output<typeof Draft>;

const defaultDays = 365;

/** The service methods that make keys out of nothing. */
export function createKeyCreation({ database, permissions, confirmations, records, grants, secrets, present }: CreateDeps) {
  async function make(tx: Tx, draft: Draft): Promise<KeyView | Held> {
    const { name, delegation, public_key: publicKey = null } = draft;
    const scopes = [...new Set(draft.scopes)];
    requireFittingKey(delegation, publicKey);
    grants.requireKnown(scopes);
    const expiresAt = boundEnd(tx.call, endOf(draft, tx.now), addSeconds(tx.now, defaultDays * secondsPerDay));
    grants.requireMayGive(tx.call, { scopes, expiresAt });
    const settings = { name, scopes, delegation, publicKey, ipAllowlist: draft.ip_allowlist, expiresAt };
    const dangerous = grants.dangerousIn(settings);
    const held = await confirmations.hold(tx, {
      action: "keys.create",
      group: "keys",
      permission: keysPolicy.create,
      input: draft,
      summary: inWords("make", undefined, settings, dangerous),
      dangerous,
    });
    if (held !== undefined) return held;
    const row = await records.insert(tx, { ...settings, keyId: draft.key_id, secretHash: draft.secret_hash, rotatedFrom: null });
    return present(row, tx.now);
  }

  confirmations.register("keys.create", async (tx, input) => {
    requireWrite(tx.call, keysPolicy.create);
    return await make(tx, Draft.parse(input));
  });

  return {
    /**
     * Make a key.
     * @returns the key with its secret; of a change that is held, the secret as well: it works once the change is confirmed
     * @throws ProblemError validation_failed (unknown scopes, a public key that is missing or not wanted), cannot_grant_unheld
     */
    async create(call: Call, given: CreateKeyInput): Promise<CreatedKeyView | Held> {
      requireWrite(call, keysPolicy.create);
      const input = CreateKeyInput.parse(given);
      const secret = secrets.fresh();
      return secret.showIn(call, await database.write(call, (tx) => make(tx, { ...input, ...secret.columns })));
    },

    /** Make the first owner and a key with every scope that may name acting users, in one step. */
    async bootstrap(call: Call, given: BootstrapInput): Promise<CreatedKeyView> {
      requireWrite(call, keysPolicy.create);
      const { owner, name } = BootstrapInput.parse(given);
      const secret = secrets.fresh();
      const view = await database.write(call, async (tx) => {
        const expiresAt = addSeconds(tx.now, defaultDays * secondsPerDay);
        grants.requireMayGive(call, { scopes: ["*"], expiresAt });
        if (owner !== undefined) await permissions.addOwner(tx, owner);
        const settings = { name, scopes: ["*"], delegation: "trusted" as const, publicKey: null, ipAllowlist: [], expiresAt };
        const { key_id: keyId, secret_hash: secretHash } = secret.columns;
        return present(await records.insert(tx, { ...settings, keyId, secretHash, rotatedFrom: null }), tx.now);
      });
      return secret.show(call, view);
    },
  };
}
