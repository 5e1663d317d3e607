import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { requireWrite, type Call } from "../../kernel/call.ts";
import type { ServerBoxDeps } from "../../kernel/server-box.ts";
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
  /**
   * Seal again what has a form that is not written any more; for the job that runs each minute. Once all was looked at, nothing is done
   * until the next start. @returns how many texts were sealed again
   */
  renewForms(call: Call): Promise<number>;
}

export interface ReencryptionDeps extends Deps<"database" | "audit">, ServerBoxDeps {}

const permission = "system.act";
const batchSize = 200;

export function createReencryption(deps: ReencryptionDeps): Reencryption {
  const { database, audit, keyring } = deps;
  let areFormsCurrent = false;

  /** The text sealed with the first key; null where no key opens it. */
  function reseal(column: SealedColumn, text: SealedText): string | null {
    try {
      return column.reseal(deps, text);
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

  /** @param current how the texts begin that stay as they are */
  async function walk(
    call: Call,
    column: SealedColumn,
    current: string,
    onProgress: (progress: Reencrypted) => void = () => undefined,
  ): Promise<Reencrypted> {
    const done = { column: column.name, resealed: 0, unreadable: 0 };
    for (let after: SealedText["key"] | null = null; ;) {
      const texts = await column.find(database.read, { current, after, limit: batchSize });
      const pairs = texts.flatMap((text) => {
        const fresh = reseal(column, text);
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
    async reencrypt(call, onProgress) {
      requireWrite(call, permission);
      const done: Reencrypted[] = [];
      for (const column of sealedColumns) done.push(await walk(call, column, keyring.current(column.form), onProgress));
      await noteIfAny(call, done);
      return done;
    },

    async renewForms(call) {
      requireWrite(call, permission);
      if (areFormsCurrent) return 0;
      const done: Reencrypted[] = [];
      for (const column of sealedColumns) if (column.form !== "v1") done.push(await walk(call, column, `${column.form}.`));
      await noteIfAny(call, done);
      areFormsCurrent = true;
      return done.reduce((sum, { resealed }) => sum + resealed, 0);
    },
  };

  async function noteIfAny(call: Call, done: readonly Reencrypted[]): Promise<void> {
    if (done.some(({ resealed }) => resealed > 0)) await database.write(call, (tx) => Promise.resolve(note(tx, done)));
  }

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
