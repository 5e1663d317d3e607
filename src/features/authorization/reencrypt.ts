import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { requireWrite, type Call } from "../../kernel/call.ts";
import { sealedColumns, type SealedColumn, type SealedText } from "./sealed-columns.ts";

/** How many texts of one column were sealed again, and how many could not be opened with any key there is. */
export interface Reencrypted {
  column: string;
  resealed: number;
  unreadable: number;
}

export interface Reencryption {
  /**
   * Seal everything again that was not sealed with the first key, batch by batch, so that the other keys can go. Ended in
   * between, it goes on where it was; a text that changes meanwhile is left to whoever changed it.
   * @param onProgress hears of every batch what was done in its column so far
   * @throws ProblemError permission_denied, storage_busy
   */
  reencrypt(call: Call, onProgress?: (progress: Reencrypted) => void): Promise<Reencrypted[]>;
}

export type ReencryptionDeps = Deps<"database" | "audit" | "keyring">;

const permission = "system.act";
const batchSize = 200;

export function createReencryption({ database, audit, keyring }: ReencryptionDeps): Reencryption {
  /** The text sealed with the first key; null where no key opens it. */
  function reseal({ sealed, context }: SealedText): string | null {
    try {
      return keyring.encrypt(keyring.decrypt(sealed, context), context);
    } catch {
      return null;
    }
  }

  /** Answers how many were replaced; what somebody changed meanwhile stays as they left it. */
  function replaceAll(call: Call, column: SealedColumn, pairs: readonly Pair[]): Promise<number> {
    return database.write(call, async ({ db }) => {
      let replaced = 0;
      for (const { text, fresh } of pairs) replaced += await column.replace(db, text, fresh);
      return replaced;
    });
  }

  async function walk(call: Call, column: SealedColumn, onProgress: (progress: Reencrypted) => void): Promise<Reencrypted> {
    const done = { column: column.name, resealed: 0, unreadable: 0 };
    for (let after: SealedText["key"] | null = null; ;) {
      const texts = await column.find(database.read, { current: keyring.current, after, limit: batchSize });
      const pairs = texts.flatMap((text) => {
        const fresh = reseal(text);
        return fresh === null ? [] : [{ text, fresh }];
      });
      if (pairs.length > 0) done.resealed += await replaceAll(call, column, pairs);
      done.unreadable += texts.length - pairs.length;
      if (texts.length > 0) onProgress({ ...done });
      after = texts.at(-1)?.key ?? null;
      if (after === null || texts.length < batchSize) return done;
    }
  }

  return {
    async reencrypt(call, onProgress = () => undefined) {
      requireWrite(call, permission);
      const done: Reencrypted[] = [];
      for (const column of sealedColumns) done.push(await walk(call, column, onProgress));
      if (done.some(({ resealed }) => resealed > 0)) await database.write(call, (tx) => Promise.resolve(note(tx, done)));
      return done;
    },
  };

  function note(tx: Tx, done: readonly Reencrypted[]): void {
    audit.record(tx, {
      action: "secrets.reencrypt",
      target: { kind: "system", id: "encryption_keys" },
      after: Object.fromEntries(done.map(({ column, resealed }) => [column, resealed])),
      permission,
    });
  }
}

interface Pair {
  text: SealedText;
  fresh: string;
}
