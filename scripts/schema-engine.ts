import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { PrismaBetterSqlite3 } from "@prisma/adapter-better-sqlite3";
import { PrismaPg } from "@prisma/adapter-pg";
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlQuery,
} from "@prisma/driver-adapter-utils";
import * as bindings from "@prisma/schema-engine-wasm/schema_engine_bg";
import type { MigrationList, SchemaEngine, SchemaFilter } from "@prisma/schema-engine-wasm/schema_engine_bg";
import pg from "pg";
import type { Dialect } from "../src/database/dialect.ts";
import { migrationsFolder, readMigrations } from "../src/database/migrate-sqlite.ts";

/** The object ids of PostgreSQL's `"char"` and `text`. */
const charType = 18;
const textType = 25;

export const noFilter: SchemaFilter = { externalTables: [], externalEnums: [] };

/** Node has it, but the type library of this project is without browsers' interfaces. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: {
    compile(bytes: Uint8Array): Promise<object>;
    instantiate(module: object, imports: Record<string, object>): Promise<{ exports: { __wbindgen_start(): void } }>;
  };
};

let isLoaded = false;

/** Node cannot import `.wasm` files, so the package's own entry is replaced by these lines. */
async function load(): Promise<void> {
  if (isLoaded) return;
  const file = createRequire(import.meta.url).resolve("@prisma/schema-engine-wasm/schema_engine_bg");
  const wasm = await WebAssembly.compile(await readFile(file.replace(/\.js$/, ".wasm")));
  const instance = await WebAssembly.instantiate(wasm, { "./schema_engine_bg.js": bindings });
  bindings.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  isLoaded = true;
}

/** Prisma's own schema engine on a database, without its downloaded binary. The caller frees it. */
export async function createSchemaEngine(adapter: SqlMigrationAwareDriverAdapterFactory): Promise<SchemaEngine> {
  await load();
  return bindings.SchemaEngine.new({ datamodels: undefined }, () => undefined, bindMigrationAwareSqlAdapterFactory(adapter));
}

/** A SQLite file as the engine wants it: it sends a whole migration as one statement, which the stock adapter refuses. */
export function sqliteForEngine(url: string): SqlMigrationAwareDriverAdapterFactory {
  const stock = new PrismaBetterSqlite3({ url });
  const whole = (adapter: SqlDriverAdapter) => {
    const executeRaw = adapter.executeRaw.bind(adapter);
    return Object.assign(adapter, {
      async executeRaw(query: SqlQuery) {
        if (query.args.length > 0) return executeRaw(query);
        await adapter.executeScript(query.sql);
        return 0;
      },
    });
  };
  return {
    provider: stock.provider,
    adapterName: stock.adapterName,
    connect: async () => whole(await stock.connect()),
    connectToShadowDb: async () => whole(await stock.connectToShadowDb()),
  };
}

/**
 * A PostgreSQL server as the engine wants it: the database in question, and an empty one it may fill. The stock adapter cannot
 * read the catalogue's columns of type `"char"` and cuts scripts at every semicolon, even inside a function.
 */
export function postgresForEngine(url: string, shadowUrl: string): SqlMigrationAwareDriverAdapterFactory {
  const connect = async (connectionString: string) => {
    const pool = new pg.Pool({ connectionString, max: 2 });
    const query = pool.query.bind(pool) as (config: pg.QueryConfig | string) => Promise<pg.QueryResult>;
    const charColumns = new Set<string>();
    const readable = async (config: pg.QueryConfig): Promise<pg.QueryResult> => {
      const result = await query(config);
      for (const field of result.fields.filter(({ dataTypeID }) => dataTypeID === charType)) {
        charColumns.add(field.name);
        field.dataTypeID = textType;
      }
      return result;
    };
    const adapter = await new PrismaPg(Object.assign(pool, { query: readable }), { disposeExternalPool: true }).connect();
    const queryRaw = adapter.queryRaw.bind(adapter);
    return Object.assign(adapter, {
      async executeScript(script: string) {
        await query(script);
      },
      async queryRaw(sql: SqlQuery) {
        const result = await queryRaw(sql);
        const columnTypes = result.columnNames.map((name, index) =>
          charColumns.has(name) ? ColumnTypeEnum.Character : (result.columnTypes[index] ?? ColumnTypeEnum.Text),
        );
        return { ...result, columnTypes };
      },
    });
  };
  return {
    provider: "postgres",
    adapterName: "@prisma/adapter-pg",
    connect: () => connect(url),
    connectToShadowDb: () => connect(shadowUrl),
  };
}

/**
 * The SQL that leads from the migrations of a dialect to the schema; empty when they already produce it.
 * @param adapter where the engine may make and drop a database of its own
 */
export async function schemaDifference(dialect: Dialect, adapter: SqlMigrationAwareDriverAdapterFactory): Promise<string> {
  const engine = await createSchemaEngine(adapter);
  try {
    const { stdout } = await engine.diff({
      from: { tag: "migrations", ...(await migrationList(dialect)) },
      to: { tag: "schemaDatamodel", files: [await schemaFile(dialect)] },
      script: true,
      exitCode: null,
      filters: noFilter,
    });
    return stdout === null || stdout.includes("This is an empty migration") ? "" : stdout;
  } finally {
    engine.free();
  }
}

/** The schema of a dialect; the PostgreSQL one is derived when the clients are generated. */
export async function schemaFile(dialect: Dialect): Promise<{ path: string; content: string }> {
  const path = fileURLToPath(
    new URL(dialect === "sqlite" ? "../prisma/schema.prisma" : "../src/generated/postgres.prisma", import.meta.url),
  );
  return { path, content: await readFile(path, "utf8") };
}

/** The migrations of a dialect, in the form the engine reads. */
export async function migrationList(dialect: Dialect): Promise<MigrationList> {
  const migrations = await readMigrations(dialect);
  return {
    baseDir: migrationsFolder(dialect),
    lockfile: { path: "migration_lock.toml", content: `provider = "${dialect === "sqlite" ? "sqlite" : "postgresql"}"` },
    shadowDbInitScript: "",
    migrationDirectories: migrations.map(({ name, sql }) => ({
      path: name,
      migrationFile: { path: "migration.sql", content: { tag: "ok", value: sql } },
    })),
  };
}
