import type { z } from "zod";
import type { ReadClient, TransactionClient, Tx } from "../../../database/database.ts";
import type { Prisma } from "../../../generated/sqlite/client.ts";
import { requireRevision } from "../../../kernel/revision.ts";

/** A setting of a server as it is stored; the first revision is that of nothing chosen. */
interface Stored<Value> {
  value: Value;
  revision: number;
  updated_by: string | null;
  updated_at: string | null;
}

type Reader = Pick<ReadClient | TransactionClient, "setting">;

export type GuildSetting<Value> = ReturnType<typeof createGuildSetting<Value>>;

/** One setting that every server has for itself, or the community as a whole (null), kept whole among the settings. */
export function createGuildSetting<Value>(name: string, schema: z.ZodType<Value>, nothing: Value) {
  const keyOf = (guildId: string | null): string => (guildId === null ? name : `${name}:${guildId}`);
  const unset: Stored<Value> = { value: nothing, revision: 1, updated_by: null, updated_at: null };

  async function read(db: Reader, guildId: string | null): Promise<Stored<Value>> {
    const row = await db.setting.findUnique({ where: { key: keyOf(guildId) } });
    const stored = row?.value as unknown as Stored<unknown> | undefined;
    const value = schema.safeParse(stored?.value);
    return stored === undefined || !value.success ? unset : { ...stored, value: value.data };
  }

  return {
    read,

    /**
     * Store another value; the same again changes nothing.
     * @param onChange told the value before, where it is another one
     * @throws ProblemError precondition_failed
     */
    async put(
      tx: Tx,
      guildId: string | null,
      { value, ifMatch }: { value: Value; ifMatch: number | undefined },
      onChange: (before: Value) => void,
    ): Promise<Stored<Value>> {
      await tx.lock(keyOf(guildId));
      const before = await read(tx.db, guildId);
      requireRevision(ifMatch, before.revision);
      if (JSON.stringify(before.value) === JSON.stringify(value)) return before;
      const after = { value, revision: before.revision + 1, updated_by: tx.call.actor?.id ?? null, updated_at: tx.now.toISOString() };
      const [key, json] = [keyOf(guildId), after as Prisma.InputJsonObject];
      await tx.db.setting.upsert({ where: { key }, create: { key, value: json }, update: { value: json } });
      onChange(before.value);
      return after;
    },
  };
}
