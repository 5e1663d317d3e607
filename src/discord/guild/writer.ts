import type { Logger } from "pino";
import type { Database } from "../../database/database.ts";
import { systemCall } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { emptyRows, type GuildRows, writeRows } from "./mirror.ts";
import { backOff, pause } from "../../kernel/pause.ts";

/** Rows of one transaction: enough to swallow a burst, few enough that other writers wait milliseconds. */
const batchSize = 1000;

interface GuildWriterOptions {
  database: Database;
  logger: Logger;
  /** After each commit, with the rows to show from now on. Must not throw. */
  onCommitted(rows: GuildRows): void;
  /** Rows of these guilds were given up after an error that repeating cannot fix. */
  onGivenUp(guildIds: ReadonlySet<string>): void;
  /** First pause after a refusal of the database; doubles up to 5 s. */
  retryMs?: number;
}

/**
 * Writes wanted rows to the database. A row that is set twice before it is written is written once,
 * so a burst costs few transactions and a busy database loses nothing.
 */
export interface GuildWriter {
  /** Rows wanted and not committed yet; put rows here, then call `schedule`. */
  wanted: GuildRows;
  schedule(): void;
  /** Resolves when every row wanted so far is committed or given up. */
  idle(): Promise<void>;
  /** True from the first refusal of the database to the next commit. */
  isFailing(): boolean;
  /** Write what is wanted, at most for `ms`, and nothing afterwards. */
  stop(ms: number): Promise<void>;
}

/** A writer without wanted rows; it writes from `schedule` to `stop`. */
export function createGuildWriter({ database, logger, onCommitted, onGivenUp, retryMs = 100 }: GuildWriterOptions): GuildWriter {
  const wanted = emptyRows();
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let failures = 0;

  const refused = async (batch: GuildRows, error: unknown): Promise<void> => {
    failures += 1;
    if (!(error instanceof ProblemError)) {
      logger.error({ err: error }, "guild state: a write failed; its guilds are read again");
      forget(wanted, batch);
      onGivenUp(guildsOf(batch));
    } else if (failures === 1) {
      logger.warn({ code: error.code }, "guild state: the database refuses writes; they are repeated");
    }
    await pause(backOff(failures, { firstMs: retryMs, mostMs: 5000 }), stopping.signal);
  };

  const drain = async (): Promise<void> => {
    // Events that arrive in the same tick share a transaction.
    await new Promise(setImmediate);
    while (wanted.guilds.size + wanted.roles.size + wanted.members.size > 0 && !stopping.signal.aborted) {
      const batch = takeBatch(wanted);
      try {
        await database.write(systemCall("job", uuid7()), (tx) => writeRows(tx, batch));
      } catch (error) {
        await refused(batch, error);
        continue;
      }
      failures = 0;
      forget(wanted, batch);
      onCommitted(batch);
    }
    running = undefined;
  };

  return {
    wanted,
    schedule() {
      if (!stopping.signal.aborted) running ??= drain();
    },
    idle: async () => running,
    isFailing: () => failures > 0,
    async stop(ms) {
      const limit = setTimeout(() => stopping.abort(), ms);
      await running;
      clearTimeout(limit);
      stopping.abort();
    },
  };
}

function takeBatch(wanted: GuildRows): GuildRows {
  const members = wanted.members.size <= batchSize ? new Map(wanted.members) : new Map([...wanted.members].slice(0, batchSize));
  return { guilds: new Map(wanted.guilds), roles: new Map(wanted.roles), members };
}

/** Removes written rows, unless they were set again in the meantime. */
function forget(wanted: GuildRows, batch: GuildRows): void {
  const remove = <T>(from: Map<string, T>, done: ReadonlyMap<string, T>): void => {
    for (const [key, value] of done) if (from.get(key) === value) from.delete(key);
  };
  remove(wanted.guilds, batch.guilds);
  remove(wanted.roles, batch.roles);
  remove(wanted.members, batch.members);
}

function guildsOf(batch: GuildRows): Set<string> {
  return new Set([...batch.guilds.keys(), ...batch.roles.keys(), ...[...batch.members.values()].map((state) => state.guildId)]);
}
