import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { Changes } from "../cluster/changes.ts";
import { createHeldRows } from "../cluster/held-rows.ts";
import type { Database, ReadClient, TransactionClient, Tx } from "../database/database.ts";
import type { Prisma } from "../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../kernel/call.ts";
import { recordNotFound } from "../kernel/errors.ts";
import type { PermissionKey } from "../kernel/permissions.ts";
import { requireRevision } from "../kernel/revision.ts";

/** A setting as it is stored. The first revision is that of nothing chosen. */
export interface Stored<Value> {
  value: Value;
  revision: number;
  updated_by: string | null;
  updated_at: string | null;
}

/** Its fields beside the revision, as views show them. */
export function flat<Value extends object>({ value, ...rest }: Stored<Value>): Value & Omit<Stored<Value>, "value"> {
  return { ...value, ...rest };
}

interface Target {
  kind: string;
  id: string;
}

interface Declared<Value, Place> {
  /** The key of its row; where there are several, what precedes the place. */
  key: string;
  /** What it refuses of what is stored counts as never chosen. */
  schema: z.ZodType<Value>;
  nothing: Value;
  permission: Readonly<Record<"read" | "manage", PermissionKey>>;
  action: string;
  /** The field of the row that holds the value, `value` by default; null: the fields of the value stand beside the revision. */
  field?: string | null;
  /** One name that changes of all places wait for, where they depend on each other; the key of the row by default. */
  lock?: string;
  /** What the audit shows of a value that replaces another one or is replaced by it; all of it by default. */
  differing?: (value: Value, other: Value, place: Place) => object;
}

/** What a setting is. `guild`: each guild has its own; `installation`: there is one, or one for each of some names. */
export type SettingSpec<Value, Place extends string> = Declared<Value, Place> &
  ({ per: "guild" } | { per: "installation"; target: (name: Place) => Target });

/** All places of a setting in memory. */
export interface SettingMemory<Value> {
  /** What is chosen in a place. No I/O. */
  known(place: string): Stored<Value>;
  /** From the commit of this transaction on. */
  set(tx: Tx, place: string, stored: Stored<Value>): void;
  /** Read everything, and again whenever any process has changed a setting. */
  follow(changes: Pick<Changes, "listen">): Promise<void>;
}

type Next<Value> = (before: Value) => Value;

export interface SettingDeps<Value, Place, View> {
  database: Database;
  audit: { record(tx: Tx, entry: { action: string; target: Target; before: object; after: object; permission: string }): void };
  present: (place: Place, stored: Stored<Value>) => View;
  /** The place that somebody names; undefined where there is none. */
  placeOf: (name: string) => Place | undefined;
  /** Follows changes, and answers reads. */
  memory?: SettingMemory<Value>;
  /** Refuses another value, or does in its transaction what follows from it. */
  onChange?: (tx: Tx, place: Place, value: Value) => unknown;
}

/** A setting as people read and change it. A change that asks for the same again writes nothing. */
export interface ServedSetting<Value, Place, View> {
  /** @throws ProblemError permission_denied, record_not_found for a place that does not exist */
  get(call: Call, place: string): Promise<View>;
  /** Store what `wanted` parses once the caller may: the value, or how it comes of the one before. @throws ZodError, ProblemError as `get`, and precondition_failed */
  put(call: Call, place: string, wanted: () => Value | Next<Value>, ifMatch?: number): Promise<View>;
  /** Change it in a transaction, of a caller who may. @throws ProblemError precondition_failed */
  change(tx: Tx, place: Place, next: Next<Value>, ifMatch?: number): Promise<Stored<Value>>;
  /** Change it in several places, of a caller who may. */
  changeEach(tx: Tx, places: readonly Place[], next: Next<Value>): Promise<void>;
}

/** What rows are read with. */
export type SettingReader = Pick<ReadClient | TransactionClient, "setting">;

/** A setting, wherever its rows are read and changed. */
export interface Setting<Value, Place extends string = string> {
  /** The key of the row of a place. */
  keyOf(place: Place): string;
  /** What a row holds, as far as it can be read. */
  parse(stored: unknown): Stored<Value>;
  /** What is chosen in a place. */
  read(db: SettingReader, place: Place): Promise<Stored<Value>>;
  /** What is chosen in each of some places, with one query. */
  readEach(db: SettingReader, places: readonly Place[]): Promise<Map<Place, Stored<Value>>>;
  /** Keep all places in memory, once it follows changes. */
  hold(database: Pick<Database, "read">): SettingMemory<Value>;
  /** Answer and change it for people. */
  serve<View>(deps: SettingDeps<Value, Place, View>): ServedSetting<Value, Place, View>;
}

const Frame = z.looseObject({ revision: z.int().positive(), updated_by: z.string().nullable(), updated_at: z.string() });

/** Declare a setting that is stored whole, with a revision, as a row of the settings. */
export function setting<Value extends object, Place extends string = string>(spec: SettingSpec<Value, Place>): Setting<Value, Place> {
  const { key, schema, field = "value" } = spec;
  const unset: Stored<Value> = { value: spec.nothing, revision: 1, updated_by: null, updated_at: null };
  const keyOf = (place: Place): string => `${key}${place}`;

  function parse(stored: unknown): Stored<Value> {
    const frame = Frame.safeParse(stored);
    if (!frame.success) return unset;
    const value = schema.safeParse(field === null ? stored : frame.data[field]);
    const { revision, updated_by, updated_at } = frame.data;
    return value.success ? { value: value.data, revision, updated_by, updated_at } : unset;
  }

  async function readEach(db: SettingReader, places: readonly Place[]): Promise<Map<Place, Stored<Value>>> {
    const rows = await db.setting.findMany({ where: { key: { in: places.map(keyOf) } } });
    const found = new Map(rows.map((row) => [row.key, row.value]));
    return new Map(places.map((place) => [place, parse(found.get(keyOf(place)))]));
  }

  const declared: Setting<Value, Place> = {
    keyOf,
    parse,
    readEach,
    read: async (db, place) => (await readEach(db, [place])).get(place) ?? unset,
    hold(database) {
      const held = createHeldRows(async () => {
        const rows = await database.read.setting.findMany({ where: { key: { startsWith: key } } });
        return new Map(rows.map((row) => [row.key.slice(key.length), parse(row.value)]));
      });
      return {
        known: (place) => held.get(place) ?? unset,
        set: (tx, place, stored) => tx.afterCommit(() => held.set(place, stored)),
        async follow(changes) {
          changes.listen("settings", held.load);
          await held.load();
        },
      };
    },
    serve: (deps) => serve(spec, declared, deps),
  };
  return declared;
}

function serve<Value extends object, Place extends string, View>(
  spec: SettingSpec<Value, Place>,
  { keyOf, read, readEach }: Setting<Value, Place>,
  { database, audit, present, placeOf, memory, onChange }: SettingDeps<Value, Place, View>,
): ServedSetting<Value, Place, View> {
  const { permission, action, field = "value", differing = (value) => value } = spec;
  const lockOf = (place: Place): string => spec.lock ?? keyOf(place);

  function requirePlace(name: string): Place {
    const place = placeOf(name);
    if (place === undefined) throw recordNotFound();
    return place;
  }

  async function store(tx: Tx, place: Place, before: Stored<Value>, value: Value): Promise<Stored<Value>> {
    if (isDeepStrictEqual(before.value, JSON.parse(JSON.stringify(value)))) {
      memory?.set(tx, place, before);
      return before;
    }
    const frame = { revision: before.revision + 1, updated_by: tx.call.actor?.id ?? null, updated_at: tx.now.toISOString() };
    const after = { value, ...frame };
    // Before what follows from it, which may look at the memory after the commit.
    memory?.set(tx, place, after);
    await onChange?.(tx, place, value);
    const row = { ...(field === null ? value : { [field]: value }), ...frame } as Prisma.InputJsonObject;
    await tx.db.setting.upsert({ where: { key: keyOf(place) }, create: { key: keyOf(place), value: row }, update: { value: row } });
    audit.record(tx, {
      action,
      ...(spec.per === "guild" ? { target: { kind: "guild", id: place }, guildId: place } : { target: spec.target(place) }),
      before: differing(before.value, value, place),
      after: differing(value, before.value, place),
      permission: permission.manage,
    });
    return after;
  }

  async function change(tx: Tx, place: Place, next: Next<Value>, ifMatch?: number): Promise<Stored<Value>> {
    await tx.lock(lockOf(place));
    const before = await read(tx.db, place);
    requireRevision(ifMatch, before.revision);
    return await store(tx, place, before, next(before.value));
  }

  return {
    change,
    async get(call, name) {
      requirePermission(call, permission.read);
      const place = requirePlace(name);
      return present(place, memory?.known(place) ?? (await read(database.read, place)));
    },
    async put(call, name, wanted, ifMatch) {
      requireWrite(call, permission.manage);
      const value = wanted();
      const next = typeof value === "function" ? value : () => value;
      const place = requirePlace(name);
      return await database.write(call, async (tx) => present(place, await change(tx, place, next, ifMatch)));
    },
    async changeEach(tx, places, next) {
      await tx.lock(...new Set(places.map(lockOf)));
      for (const [place, before] of await readEach(tx.db, places)) await store(tx, place, before, next(before.value));
    },
  };
}
