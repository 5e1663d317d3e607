import type { Deps } from "../deps.ts";
import type { Database, Logger, Tx } from "../../database/database.ts";
import type { ApiKey, Prisma } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call, requireWrite } from "../../kernel/call.ts";
import { systemClock, addSeconds, type Clock } from "../../kernel/clock.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import { createKeyChanges, createKeyCreation, inWords } from "./change.ts";
import { createKeyGrants, type GrantingPermissions, type KeyGrants } from "./grants.ts";
import {
  keysPolicy,
  makersOf,
  presentKey,
  secondsPerDay,
  type PresentKey,
  boundEnd,
  endOf,
  requireActive,
  settingsOf,
} from "./keys.policy.ts";
import { createKeyRecords, type KeyRecords } from "./records.ts";
import {
  type KeyView,
  type KeysListQuery,
  RotateKeyInput,
  type CreatedKeyView,
  type UpdateKeyInput,
  type CreateKeyInput,
  type BootstrapInput,
} from "./keys.schema.ts";
import { createKeySecrets, type KeySecrets } from "./secrets.ts";
import { z } from "zod";
import type { Held } from "../../kernel/held.ts";
import { requireRevision } from "../../kernel/revision.ts";

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
function createKeyRotation({ database, confirmations, records, grants, secrets, present }: RotateDeps) {
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

export interface KeysService {
  rotate(call: Call, id: string, given?: RotateKeyInput, ifMatch?: number): Promise<CreatedKeyView | Held>;
  sweep(call: Call): Promise<number>;
  /** Keys, oldest first, the ended ones too. @throws ProblemError invalid_cursor */
  list(call: Call, query: KeysListQuery): Promise<Page<KeyView>>;
  /** @param id the id of the record or the public key id. @throws ProblemError record_not_found */
  get(call: Call, id: string): Promise<KeyView>;
  /**
   * The public ids of the keys in force that somebody made or may know the secret of, sorted. For features that take permissions away:
   * these keys do nothing meanwhile that this person may not do.
   */
  madeBy(tx: Tx, userId: string): Promise<string[]>;
  /**
   * Change a key that is active. What only renames or narrows it needs nothing more; anything else needs a caller who holds all
   * that the key has afterwards, until its end.
   * @param ifMatch the revision the caller read
   * @throws ProblemError record_not_found, precondition_failed, invalid_transition, validation_failed, cannot_grant_unheld
   */
  update(call: Call, id: string, given: UpdateKeyInput, ifMatch?: number): Promise<KeyView | Held>;
  /**
   * End a key at once; a revoked key stays revoked.
   * @param ifMatch the revision the caller read
   * @throws ProblemError record_not_found, precondition_failed
   */
  revoke(call: Call, id: string, ifMatch?: number): Promise<KeyView | Held>;
  /**
   * Make a key.
   * @returns the key with its secret; of a change that is held, the secret as well: it works once the change is confirmed
   * @throws ProblemError validation_failed (unknown scopes, a public key that is missing or not wanted), cannot_grant_unheld
   */
  create(call: Call, given: CreateKeyInput): Promise<CreatedKeyView | Held>;
  /** Make the first owner and a key with every scope that may name acting users, in one step. */
  bootstrap(call: Call, given: BootstrapInput): Promise<CreatedKeyView>;
  /** Hear that a key was changed or ended here. */
  onChange(listener: () => void): void;
}

export interface KeysDeps extends Deps<"database" | "cursors"> {
  audit: AuditService;
  access: Pick<AccessDirectory, "allHold">;
  permissions: GrantingPermissions & Pick<PermissionsService, "addOwner">;
  events: EventsService;
  confirmations: ConfirmationsService;
  clock?: Clock;
  /** Told of keys that end soon. */
  logger: Pick<Logger, "warn" | "error">;
  /** The key of the hashes of secrets. */
  pepper: Buffer;
}

/** API keys: who may call, with which scopes, from where, until when. */
export function createKeysService(deps: KeysDeps): KeysService {
  const { database, permissions, access, cursors, pepper, clock = systemClock, logger } = deps;
  const records = createKeyRecords(deps);
  const grants = createKeyGrants(permissions, access);
  const present: PresentKey = (row, now) => presentKey(row, now, grants.isLimited(row));
  const ground = { ...deps, records, grants, present, secrets: createKeySecrets(pepper) };

  return {
    onChange: records.onChange,
    ...createKeyCreation(ground),
    ...createKeyChanges(ground),
    rotate: createKeyRotation(ground),
    sweep: createKeySweep({ database, records, clock, logger }),

    async list(call: Call, query: KeysListQuery): Promise<Page<KeyView>> {
      requirePermission(call, keysPolicy.read);
      const { limit, cursor } = query;
      const filters = { state: query.state, q: query.q };
      const after = cursor === undefined ? "" : cursors.decode("keys", filters, cursor)[1];
      const now = clock.now();
      const where = conditions(filters, now, database.dialect);
      const rows = await database.read.apiKey.findMany({
        where: { AND: [where, { id: { gt: after } }] },
        orderBy: { id: "asc" },
        take: limit + 1,
      });
      const found = toPage(
        rows,
        limit,
        (row) => present(row, now),
        (last) => cursors.encode("keys", filters, [last.id, last.id]),
      );
      return withTotal(found, query, () => database.read.apiKey.count({ where }));
    },

    async get(call: Call, id: string): Promise<KeyView> {
      requirePermission(call, keysPolicy.read);
      const row = await database.read.apiKey.findFirst({ where: { OR: [{ id }, { keyId: id }] } });
      if (row === null) throw recordNotFound();
      return present(row, clock.now());
    },

    async madeBy({ db, now }: Tx, userId: string): Promise<string[]> {
      const rows = await db.apiKey.findMany({ where: conditions({ state: "active", q: undefined }, now, database.dialect) });
      return rows.flatMap((row) => (makersOf(row).includes(userId) ? [row.keyId] : [])).toSorted();
    },
  };
}

type Where = Prisma.ApiKeyWhereInput;

/** The database's words for the filters of the list; SQLite ignores the case of names by itself. */
function conditions({ state, q }: Pick<KeysListQuery, "state" | "q">, now: Date, dialect: Database["dialect"]): Where {
  const states: Record<NonNullable<KeysListQuery["state"]>, Where> = {
    active: { revokedAt: null, expiresAt: { gt: now } },
    expired: { revokedAt: null, expiresAt: { lte: now } },
    revoked: { NOT: { revokedAt: null } },
  };
  const contains = { contains: q ?? "", ...(dialect === "postgres" && { mode: "insensitive" }) };
  return {
    AND: [state === undefined ? {} : states[state], q === undefined ? {} : { OR: [{ name: contains }, { keyId: { startsWith: q } }] }],
  };
}

/** How many days before its end a key is spoken of, each once. */
const notices = [1, 7, 30] as const;
const batch = 100;

interface SweepDeps extends Deps<"database" | "clock"> {
  records: KeyRecords;
  logger: Pick<Logger, "warn" | "error">;
}

/** What time does to keys: the notice that one ends soon. */
export function createKeySweep({ database, records, clock, logger }: SweepDeps) {
  /** @returns whether the notice was due still */
  async function emitExpiry(tx: Tx, id: string): Promise<boolean> {
    const row = await records.lock(tx, id);
    const noticeDays = dueNotice(row, tx.now);
    if (noticeDays === undefined) return false;
    await tx.db.apiKey.update({ where: { id }, data: { noticeDays } });
    const daysLeft = Math.ceil((row.expiresAt.getTime() - tx.now.getTime()) / (secondsPerDay * 1000));
    const about = { action: "api_key.expiring", event: "api_key.expiring", permission: keysPolicy.sweep } as const;
    const told = { days_left: daysLeft, expires_at: row.expiresAt.toISOString() };
    records.note(tx, row, { ...about, data: told }, { after: told });
    tx.afterCommit(() => logger.warn({ key_id: row.keyId, name: row.name, days_left: daysLeft }, "an API key ends soon"));
    return true;
  }

  const findDue = (after: { id: string } | undefined): Promise<{ id: string }[]> => {
    const now = clock.now();
    const due = notices.map((days) => ({
      expiresAt: { gt: now, lte: addSeconds(now, days * secondsPerDay) },
      OR: [{ noticeDays: null }, { noticeDays: { gt: days } }],
    }));
    const where = { revokedAt: null, OR: due, ...(after !== undefined && { id: { gt: after.id } }) };
    return database.read.apiKey.findMany({ where, select: { id: true }, orderBy: { id: "asc" }, take: batch });
  };

  const tellAll = (call: Call, rows: readonly { id: string }[]): Promise<number> =>
    database.write(call, async (tx) => {
      let count = 0;
      for (const { id } of rows) if (await emitExpiry(tx, id)) count += 1;
      return count;
    });

  /**
   * Tell of every key that ends within 30, 7 or 1 days, once each. For the job that runs each minute.
   * @returns how many notices were given
   */
  return async (call: Call): Promise<number> => {
    requirePermission(call, keysPolicy.sweep);
    return await sweepIsolated({
      size: batch,
      find: findDue,
      work: (rows) => tellAll(call, rows),
      logger,
      failure: "nobody could be told that an API key ends soon; it is tried again in a minute",
      idsOf: ({ id }) => ({ api_key: id }),
    });
  };
}

/** The notice to be given now, in days. */
function dueNotice({ revokedAt, expiresAt, noticeDays }: ApiKey, now: Date): number | undefined {
  if (revokedAt !== null || expiresAt <= now) return undefined;
  const days = notices.find((count) => expiresAt <= addSeconds(now, count * secondsPerDay));
  return days !== undefined && (noticeDays === null || noticeDays > days) ? days : undefined;
}
