import type { Tx } from "../../database/database.ts";
import { Prisma, type ApiKey } from "../../generated/sqlite/client.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { AuditInput } from "../audit/record.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { EventInput, EventsService } from "../events/events.service.ts";
import { makersIn, makersOf, presentSettings, settingsOf, type KeySettings } from "./keys.policy.ts";

/** What is known of a new key before it is in the table. The secret itself never comes here. */
export interface NewKey extends KeySettings, Pick<ApiKey, "keyId" | "secretHash" | "rotatedFrom"> {
  /** Of the key it takes the place of. */
  makers?: readonly string[];
}

/** What is written about a change of a key besides the change itself. */
interface Note {
  action: string;
  event: EventInput["type"];
  permission: string;
  /** Told besides the ids of the key. */
  data?: EventInput["data"];
}

interface KeyRecordsDeps {
  audit: AuditService;
  events: EventsService;
  confirmations: Pick<ConfirmationsService, "lock" | "endWithKey">;
}

export interface KeyRecords {
  /** Hear that a key was changed or ended here. */
  onChange(listener: () => void): void;
  /**
   * Find a key by its id or its public key id and hold it until the end. Changes that wait are held first, as they are where one of them
   * is carried out: a key that ends takes what was asked with it along.
   * @throws ProblemError record_not_found
   */
  lock(tx: Tx, id: string): Promise<ApiKey>;
  insert(tx: Tx, given: NewKey): Promise<ApiKey>;
  /** Change a key and say so; the audit keeps what is different afterwards. */
  change(tx: Tx, row: ApiKey, change: Change, about: Note): Promise<ApiKey>;
  /** A key is as it is wanted already: what is held of it is read again after the commit. */
  confirm(tx: Tx): void;
  note(tx: Tx, row: Pick<ApiKey, "id" | "keyId">, given: Note, fields: Fields): void;
}

/** The rows of keys. Every change of one is audited and told. */
export function createKeyRecords({ audit, events, confirmations }: KeyRecordsDeps): KeyRecords {
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };

  function note(tx: Tx, row: Pick<ApiKey, "id" | "keyId">, { action, event, permission, data }: Note, fields: Fields): void {
    audit.record(tx, { action, target: { kind: "api_key", id: row.id, reference: row.keyId }, ...fields, permission });
    events.emit(tx, { type: event, data: { id: row.id, key_id: row.keyId, ...data } });
  }

  return {
    onChange(listener: () => void): void {
      listeners.add(listener);
    },

    async lock(tx: Tx, id: string): Promise<ApiKey> {
      await confirmations.lock(tx);
      const found = await tx.db.apiKey.findFirst({ where: { OR: [{ id }, { keyId: id }] }, select: { id: true } });
      if (found === null) throw recordNotFound();
      await tx.lock(`api-key:${found.id}`);
      return await tx.db.apiKey.findUniqueOrThrow({ where: { id: found.id } });
    },

    async insert(tx: Tx, { keyId, secretHash, rotatedFrom, makers, ...settings }: NewKey): Promise<ApiKey> {
      const data = { id: uuid7(tx.now.getTime()), keyId, secretHash, rotatedFrom, ...columnsOf(settings) };
      const origin = { createdBy: tx.call.actor?.id ?? null, makers: makersIn(tx.call, makers), createdAt: tx.now };
      const row = await tx.db.apiKey.create({ data: { ...data, ...origin } });
      const after = { ...presentSettings(settings), ...(rotatedFrom !== null && { rotated_from: rotatedFrom }) };
      note(tx, row, { action: "api_key.create", event: "api_key.created", permission: "clients.manage" }, { after });
      return row;
    },

    async change(tx: Tx, row: ApiKey, change: Change, about: Note): Promise<ApiKey> {
      const { settings, isProvedAnew = false, ...columns } = change;
      const data = {
        ...(settings !== undefined && columnsOf(settings)),
        ...columns,
        ...(isProvedAnew && { makers: makersIn(tx.call, makersOf(row)) }),
        revision: { increment: 1 },
      };
      const after = await tx.db.apiKey.update({ where: { id: row.id }, data });
      await confirmations.endWithKey(tx, after);
      note(tx, row, about, differences(row, after));
      tx.afterCommit(changed);
      return after;
    },

    confirm: (tx: Tx): void => tx.afterCommit(changed),

    note,
  };
}

interface Change extends Partial<Pick<ApiKey, "expiresAt" | "revokedAt" | "noticeDays">> {
  settings?: KeySettings;
  /** Whether it gives the key another public key: who does so may speak through it. */
  isProvedAnew?: boolean;
}

type Fields = Pick<AuditInput, "before" | "after">;

function columnsOf({ publicKey, ...settings }: KeySettings) {
  return { ...settings, publicKey: publicKey ?? Prisma.DbNull };
}

/** The fields of the audit that are not the same any more. */
function differences(before: ApiKey, after: ApiKey): Fields {
  const [old, now] = [auditFields(before), auditFields(after)];
  const names = Object.keys(now).filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]));
  const only = (fields: Record<string, unknown>): object => Object.fromEntries(names.map((name) => [name, fields[name]]));
  return { before: only(old), after: only(now) };
}

function auditFields(row: ApiKey): Record<string, unknown> {
  return { ...presentSettings(settingsOf(row)), revoked_at: row.revokedAt?.toISOString() ?? null };
}
