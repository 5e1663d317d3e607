import { z } from "zod";
import type { Database, Tx } from "../../database/database.ts";
import { requireWrite, type Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import type { Held } from "../../kernel/held.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { KeyGrants } from "./grants.ts";
import { boundEnd, endOf, keysPolicy, presentKey, requireFittingKey, secondsPerDay } from "./keys.policy.ts";
import type { KeyRecords } from "./records.ts";
import { BootstrapInput, CreateKeyInput, type CreatedKeyView, type KeyView } from "./keys.schema.ts";
import type { KeySecrets } from "./secrets.ts";
import { inWords } from "./summary.ts";

interface CreateDeps {
  database: Database;
  permissions: Pick<PermissionsService, "addOwner">;
  confirmations: ConfirmationsService;
  records: KeyRecords;
  grants: KeyGrants;
  secrets: KeySecrets;
}

/** A key to be made, as it is kept while it waits for a confirmation. */
const Draft = z.strictObject({ ...CreateKeyInput.shape, key_id: z.string(), secret_hash: z.string() });
type Draft = z.output<typeof Draft>;

const defaultDays = 365;

/** The verbs that make keys out of nothing. */
export function createKeyCreation({ database, permissions, confirmations, records, grants, secrets }: CreateDeps) {
  async function make(tx: Tx, draft: Draft): Promise<KeyView | Held> {
    const { name, delegation, public_key: publicKey = null } = draft;
    const scopes = [...new Set(draft.scopes)];
    requireFittingKey(delegation, publicKey);
    grants.requireKnown(scopes);
    const expiresAt = boundEnd(tx.call, endOf(draft, tx.now), addSeconds(tx.now, defaultDays * secondsPerDay));
    grants.requireMayGive(tx.call, { scopes, expiresAt });
    const settings = { name, scopes, delegation, publicKey, ipAllowlist: draft.ip_allowlist, expiresAt };
    const dangerous = grants.dangerousIn(scopes);
    const held = await confirmations.hold(tx, {
      action: "keys.create",
      group: "keys",
      permission: keysPolicy.create,
      input: draft,
      summary: inWords("Make an API key", settings, dangerous),
      dangerous,
    });
    if (held !== undefined) return held;
    const row = await records.insert(tx, { ...settings, keyId: draft.key_id, secretHash: draft.secret_hash, rotatedFrom: null });
    return presentKey(row, tx.now);
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
        return presentKey(await records.insert(tx, { ...settings, keyId, secretHash, rotatedFrom: null }), tx.now);
      });
      return secret.show(call, view);
    },
  };
}
