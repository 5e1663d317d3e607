import { z } from "zod";
import type { Database, Tx } from "../../database/database.ts";
import { insertRows } from "../../database/insert.ts";
import { inBatches } from "../../kernel/pause.ts";
import { systemCall, type Call } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { textColumns, wordRows } from "./words.ts";

/** Another version of how words are made: every record's are made anew. */
const version = 1;
const key = "blacklist_words";
const batch = 200;

/** How far it came: the last record that has its words, or null once all have. */
const Progress = z.object({ version: z.literal(version), after: z.string().nullable() });

/** Gives their words to records that were stored before there were any. */
export function createWordsCatchUp({ database }: { database: Database }) {
  let isDone = false;

  async function next(tx: Tx, after: string): Promise<number> {
    const where = { id: { gt: after } };
    const some = await tx.db.blacklistRecord.findMany({ where, select: { id: true }, orderBy: { id: "asc" }, take: batch });
    // Nobody changes a text between its reading and the writing of its words.
    for (const { id } of some) await tx.lock(`blacklist:${id}`);
    const ids = some.map(({ id }) => id);
    const rows = await tx.db.blacklistRecord.findMany({ where: { id: { in: ids } }, select: textColumns });
    await tx.db.blacklistWord.deleteMany({ where: { recordId: { in: ids } } });
    await insertRows(tx, "blacklist_words", rows.flatMap(wordRows));
    const value = { version, after: some.length < batch ? null : (ids.at(-1) ?? null) };
    await tx.db.setting.upsert({ where: { key }, create: { key, value }, update: { value } });
    return some.length;
  }

  /** @returns from where on records lack their words; null when none does */
  async function progress(db: Pick<Tx["db"] | Database["read"], "setting">): Promise<string | null> {
    const known = Progress.safeParse((await db.setting.findUnique({ where: { key } }))?.value);
    return known.success ? known.data.after : "";
  }

  async function part(call: Call): Promise<number> {
    // Usually nothing is left, and that alone is no reason to write.
    if ((await progress(database.read)) === null) return 0;
    return database.write(call, async (tx) => {
      await tx.lock(key);
      const after = await progress(tx.db);
      return after === null ? 0 : next(tx, after);
    });
  }

  return {
    /** A first part, which is all there is in a new or small database. */
    async begin(): Promise<void> {
      isDone = (await part(systemCall("job", uuid7()))) < batch;
    },

    /** All that is left, a bounded part at a time; answers how many. */
    async catchUp(call: Call): Promise<number> {
      if (isDone) return 0;
      const total = await inBatches(batch, () => part(call));
      isDone = true;
      return total;
    },
  };
}
