import { z } from "zod";
import type { Database, Tx } from "../../database/database.ts";
import type { ApiKey } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import type { Held } from "../../kernel/held.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { KeyGrants } from "./grants.ts";
import { boundEnd, endOf, keysPolicy, makersOf, requireActive, settingsOf, type PresentKey } from "./keys.policy.ts";
import type { KeyRecords } from "./records.ts";
import { RotateKeyInput, type CreatedKeyView, type KeyView } from "./keys.schema.ts";
import type { KeySecrets } from "./secrets.ts";
import { inWords } from "./summary.ts";

interface RotateDeps {
  database: Database;
  confirmations: ConfirmationsService;
  records: KeyRecords;
  grants: KeyGrants;
  present: PresentKey;
  secrets: KeySecrets;
}

/** A rotation, as it is kept while it waits for a confirmation. */
const Rotation = z.strictObject({
  ...RotateKeyInput.shape,
  id: z.string(),
  key_id: z.string(),
  secret_hash: z.string(),
  revision: z.int().optional(),
});
type Rotation = z.output<typeof Rotation>;

/** Whether the key asks for itself, and nobody else gets its secret. */
const isByItself = ({ actor, client }: Call, id: string): boolean => actor === null && client?.id === id;

/** Nothing more is told of the end of a key whose place is taken. */
const noMoreNotices = 0;

/** The service method that gives a key a new secret. */
export function createKeyRotation({ database, confirmations, records, grants, secrets, present }: RotateDeps) {
  async function rotate(tx: Tx, asked: Rotation): Promise<KeyView | Held> {
    const row = await records.lock(tx, asked.id);
    requireRevision(asked.revision, row.revision);
    requireActive(row, tx.now);
    const end = boundEnd(tx.call, endOf(asked, tx.now), row.expiresAt);
    const settings = { ...settingsOf(row), expiresAt: end };
    const { scopes, delegation } = settings;
    const isGiving = !isByItself(tx.call, row.id) || end > row.expiresAt;
    if (isGiving) grants.requireMayGive(tx.call, settings);
    const dangerous = !isGiving ? [] : grants.dangerousIn(settings);
    const held = await confirmations.hold(tx, {
      action: "keys.rotate",
      group: "keys",
      permission: keysPolicy.rotate,
      input: { ...asked, id: row.id, revision: row.revision },
      summary: inWords("new-secret", row, { scopes, delegation, expiresAt: end }, dangerous),
      dangerous,
    });
    if (held !== undefined) return held;
    const made = await records.insert(tx, {
      ...settings,
      keyId: asked.key_id,
      secretHash: asked.secret_hash,
      rotatedFrom: row.id,
      // Who made the old key does not know the new secret. Of a signed one they may still know the private key.
      makers: delegation === "signed" ? makersOf(row) : [],
    });
    await endOld(tx, row, made, asked.grace_seconds);
    return present(made, tx.now);
  }

  async function endOld(tx: Tx, row: ApiKey, successor: ApiKey, graceSeconds: number): Promise<void> {
    const graceEnd = addSeconds(tx.now, graceSeconds);
    const end = graceSeconds === 0 ? { revokedAt: tx.now } : graceEnd < row.expiresAt ? { expiresAt: graceEnd } : {};
    await records.change(
      tx,
      row,
      { ...end, noticeDays: noMoreNotices },
      {
        action: "api_key.rotate",
        event: "api_key.rotated",
        permission: keysPolicy.rotate,
        data: { successor_id: successor.id, successor_key_id: successor.keyId },
      },
    );
  }

  confirmations.register("keys.rotate", async (tx, input) => {
    requireWrite(tx.call, keysPolicy.rotate);
    return await rotate(tx, Rotation.parse(input));
  });

  /**
   * Make a key in the place of another one, which ends after a grace period. Who gets the new secret is given all that the key holds, so
   * an acting user holds every scope of it until its end, and danger counts. Without an acting user a key may rotate itself, as long as
   * that does not prolong it: its holder then has what they had.
   * @param ifMatch the revision the caller read
   * @throws ProblemError record_not_found, precondition_failed, invalid_transition, cannot_grant_unheld
   */
  return async (call: Call, id: string, given: RotateKeyInput = {}, ifMatch?: number): Promise<CreatedKeyView | Held> => {
    if (isByItself(call, id)) requirePermission(call, keysPolicy.rotate);
    else requireWrite(call, keysPolicy.rotate);
    const input = RotateKeyInput.parse(given);
    const secret = secrets.fresh();
    const asked = { ...input, ...secret.columns, id, revision: ifMatch };
    return secret.showIn(call, await database.write(call, (tx) => rotate(tx, asked)));
  };
}
