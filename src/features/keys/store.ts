import { hash, timingSafeEqual } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { importJWK, type CryptoKey } from "jose";
import { LRUCache } from "lru-cache";
import { oneAtATime, type Changes } from "../../cluster/changes.ts";
import type { Database, Logger } from "../../database/database.ts";
import { type ApiKey, Prisma } from "../../generated/sqlite/client.ts";
import { processCall, type CallClient } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import { createAddressCheck } from "./grants.ts";
import { limitsOf, makersOf, settingsOf, stateAt, type KeySettings } from "./keys.policy.ts";
import type { PublicKey } from "./keys.schema.ts";
import type { KeysService } from "./keys.service.ts";
import { parseKey } from "./secrets.ts";

/** A key whose secret was right. */
export type VerifiedKey = ReturnType<typeof toVerified>;

export interface KeyStoreOptions {
  database: Database;
  keys: Pick<KeysService, "onChange">;
  permissions: Pick<PermissionsService, "createScopes">;
  access: Pick<AccessDirectory, "allHold">;
  pepper: Buffer;
  logger?: Logger;
  /** How often keys changed by another process are looked for. */
  pollMs?: number;
  changes?: Changes;
  /** How often the time of last use is written. */
  usageMs?: number;
}

export interface KeyStore {
  /**
   * The client of a key as it stands now, for what goes on in its name; undefined once it has ended.
   * @param id of the key, which is no secret
   * @param isNamed whether it acts for somebody: undefined, too, where it cannot name anybody any more
   */
  find(id: string, now: Date, isNamed: boolean): Promise<CallClient | undefined>;
  /** A key verified before, with its hash compared by look-up; synchronous. */
  recall(presented: string): VerifiedKey | undefined;
  verify(presented: string): Promise<VerifiedKey | undefined>;
  /** Whether there is such a key with this secret, as far as memory knows; synchronous. A key that another process made counts within a second. */
  exists(presented: string): boolean;
  noteUse(key: VerifiedKey, atMs: number): void;
  close(): Promise<void>;
}

const capacity = 10_000;

/** What a verified key is made of. */
const heldFields = [
  "id",
  "keyId",
  "secretHash",
  "name",
  "scopes",
  "delegation",
  "publicKey",
  "ipAllowlist",
  "expiresAt",
  "revokedAt",
  "makers",
  "createdBy",
  "revision",
] as const;

/** Verified keys in memory. A change of any key, here or in another process, empties it. */
export function createKeyStore(options: KeyStoreOptions): KeyStore {
  const { database, keys, permissions, access, pepper, logger, changes, pollMs = 1000, usageMs = 60_000 } = options;
  const verified = new LRUCache<string, VerifiedKey>({ max: capacity });
  const used = new Map<string, number>();
  let secretHashes: ReadonlyMap<string, string> = new Map();
  let rows: readonly object[] | undefined;
  let generation = 0;
  let seen: string | undefined;
  const forget = (): void => {
    generation += 1;
    verified.clear();
  };
  keys.onChange(forget);

  /** Keys are never deleted and every change raises a revision, so count and sum tell of any change. */
  async function poll(): Promise<void> {
    const [sum] = await database.read.$queryRaw<{ keys: number | bigint; revisions: unknown }[]>`
      SELECT COUNT(*) AS keys, SUM(revision) AS revisions FROM api_keys`;
    const found = `${String(sum?.keys)}:${String(sum?.revisions)}`;
    if (found === seen) return;
    await compare();
    seen = found;
  }

  /** Look at all that is stored of every key, but for its last use. */
  async function compare(): Promise<void> {
    const found = await database.read.$select("ApiKey", Prisma.sql`ORDER BY t.id`, heldFields);
    if (isDeepStrictEqual(found, rows)) return;
    forget();
    secretHashes = new Map(found.map(({ keyId, secretHash }) => [keyId, secretHash]));
    rows = found;
  }

  changes?.listen("api_keys", oneAtATime(poll), compare);

  async function writeUse(): Promise<void> {
    const uses = [...used];
    if (uses.length === 0) return;
    used.clear();
    try {
      await database.write(processCall(uuid7()), async ({ db }) => {
        for (const [id, at] of uses) await db.apiKey.update({ where: { id }, data: { lastUsedAt: new Date(at) } });
      });
    } catch (error) {
      for (const [id, at] of uses) if (!used.has(id)) used.set(id, at);
      throw error;
    }
  }

  const quietly = (work: () => Promise<void>, what: string) => () =>
    void work().catch((error: unknown) => logger?.warn({ err: error }, `${what} could not be done; it is tried again`));
  const timers = [
    setInterval(quietly(poll, "looking for changed keys"), pollMs).unref(),
    setInterval(quietly(writeUse, "noting the use of keys"), usageMs).unref(),
  ];

  /** Verify by the database; undefined when the key is unknown or its secret wrong. */
  async function verify(presented: string): Promise<VerifiedKey | undefined> {
    const text = parseKey(presented);
    if (text === undefined) return undefined;
    const before = generation;
    const [row] = await database.read.$select("ApiKey", Prisma.sql`WHERE t.key_id = ${text.keyId}`);
    if (!isSecret(text.secret, row?.secretHash, pepper) || row === undefined) return undefined;
    const settings = settingsOf(row);
    const key = toVerified(row, settings, limitsFor(row, settings), await importKey(settings.publicKey));
    // A revocation during the look-up must not be outlived by what was read before it.
    if (!key.isRevoked && generation === before) verified.set(digest(presented), key);
    return key;
  }

  const limitsFor = (row: ApiKey, settings: KeySettings) => limitsOf(access, makersOf(row), permissions.createScopes(settings.scopes));

  return {
    async find(id: string, now: Date, isNamed: boolean): Promise<CallClient | undefined> {
      const [row] = await database.read.$select("ApiKey", Prisma.sql`WHERE t.id = ${id}`);
      if (row === undefined || stateAt(row, now) !== "active") return undefined;
      const settings = settingsOf(row);
      const limits = limitsFor(row, settings);
      return isNamed && (settings.delegation === "none" || !limits.mayName()) ? undefined : clientOf(row, settings, limits);
    },
    recall: (presented: string): VerifiedKey | undefined => verified.get(digest(presented)),
    verify,
    exists(presented: string): boolean {
      const text = parseKey(presented);
      return text !== undefined && isSecret(text.secret, secretHashes.get(text.keyId), pepper);
    },
    noteUse: (key: VerifiedKey, atMs: number): void => void used.set(key.caller.id, atMs),
    async close(): Promise<void> {
      for (const timer of timers) clearInterval(timer);
      await writeUse().catch(() => undefined);
    },
  };
}

function digest(presented: string): string {
  return hash("sha256", presented, "base64");
}

/** An unknown key costs the same comparison as a wrong secret. */
function isSecret(secret: string, secretHash: string | undefined, pepper: Buffer): boolean {
  const given = Buffer.from(keyedHash(pepper, secret));
  const wanted = Buffer.from(secretHash ?? keyedHash(pepper, ""));
  return given.length === wanted.length && timingSafeEqual(given, wanted) && secretHash !== undefined;
}

async function importKey(jwk: PublicKey | null): Promise<CryptoKey | undefined> {
  if (jwk === null) return undefined;
  const { kty, crv, x } = jwk;
  const key = await importJWK({ kty, crv, x }, "EdDSA");
  return key instanceof Uint8Array ? undefined : key;
}

function clientOf({ id }: ApiKey, { name, expiresAt }: KeySettings, limits: ReturnType<typeof limitsOf>) {
  return { id, name, expiresAt, ...limits } satisfies CallClient;
}

function toVerified(row: ApiKey, settings: KeySettings, limits: ReturnType<typeof limitsOf>, publicKey: CryptoKey | undefined) {
  const { delegation, ipAllowlist, expiresAt } = settings;
  return {
    client: clientOf(row, settings, limits),
    makers: makersOf(row),
    /** What the pipeline is told about the client; one object per key. */
    caller: { id: row.id, keyId: row.keyId, expiresAt },
    expiresAtMs: expiresAt.getTime(),
    isRevoked: row.revokedAt !== null,
    /** Whether it may name acting users: not at all, by its word, or by a signature. */
    delegation,
    /** What its assertions are verified with; only of signed keys. */
    publicKey,
    allowsAddress: createAddressCheck(ipAllowlist),
  };
}
