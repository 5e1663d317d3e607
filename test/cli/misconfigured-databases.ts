import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freshKey } from "../config/environment.ts";
import { type Mistake, otherKey, put, usedDatabase } from "./misconfigurations-ground.ts";

/** Databases that the server does not start with. */
export const misconfiguredDatabases: Record<string, Mistake> = {
  "a database file that is a folder": {
    prepare: async (work) => {
      await mkdir(join(work.directory, "there"));
      return { DATABASE_URL: "file:./there" };
    },
    code: 1,
    says: () => "The database ./there is a folder. Name a file: `DATABASE_URL=file:<path>`.",
  },
  "a database file that is none": {
    prepare: async (work) => {
      await writeFile(join(work.directory, "notes.txt"), "not a database, but long enough to be taken for the head of one".repeat(20));
      return { DATABASE_URL: "file:./notes.txt" };
    },
    code: 1,
    says: () => "The database ./notes.txt is damaged (file is not a database). Restore a backup of it.",
  },
  "a database of a newer version": {
    prepare: (work) => usedDatabase(work, "UPDATE _prisma_migrations SET migration_name = '20991231000000_later' WHERE rowid = 1"),
    code: 1,
    says: () =>
      "The database ./data/provost.db has the migration 20991231000000_later, which this version does not know. Run the version that wrote it, or a newer one.",
  },
  "a database of another program": {
    prepare: (work) => usedDatabase(work, "DROP TABLE _prisma_migrations"),
    code: 1,
    says: () =>
      /^The database \.\/data\/provost\.db has the table \w+ but no migrations, so it belongs to another program\. Name an empty one in `DATABASE_URL`\.$/,
  },
  "a database of another installation": {
    prepare: async (work) => {
      await usedDatabase(work, "SELECT 1");
      return put(work, "data/instance_id", "another\n");
    },
    code: 1,
    says: () =>
      /^The database \.\/data\/provost\.db is (empty|that of another installation), but `DATA_DIR` \(\.\/data\) has the files of an installation: put its database back, or start with `--accept-empty-database` to go on with this one\.$/,
  },
  "another secret key than the database was used with": {
    prepare: async (work) => ({ ...(await usedDatabase(work, "SELECT 1")), SECRET_KEY: freshKey() }),
    code: 1,
    says: () => otherKey,
  },
  "a PostgreSQL that is not there": {
    prepare: () => ({ DATABASE_URL: "postgresql://provost:hunter2@127.0.0.1:1/provost" }),
    code: 1,
    says: () => "Can't reach PostgreSQL at 127.0.0.1:1 (connection refused). Check `DATABASE_URL`.",
  },
  "a PostgreSQL at a name that leads nowhere": {
    prepare: () => ({ DATABASE_URL: "postgresql://provost:hunter2@db.invalid/provost" }),
    argv: ["owners", "list"],
    code: 1,
    says: () => /^Can't reach PostgreSQL at db\.invalid:5432 \((no such host|the name cannot be looked up now)\)\. Check `DATABASE_URL`\.$/,
  },
};
