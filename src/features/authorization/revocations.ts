import type { Deps } from "../deps.ts";
import type { Logger } from "pino";
import type { Tx } from "../../database/database.ts";
import { OAuthRefusal, type DiscordOAuth } from "../../discord/oauth.ts";
import { Prisma, type TokenRevocation } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { backOff } from "../../kernel/pause.ts";
import { createTasks, type Tasks } from "../../kit/task.ts";
import { sealedIn, keyedHash } from "../../kernel/secrets.ts";

/**
 * Telling Discord that a grant is over, until Discord has heard it. Ending one token ends all that the person allowed, so there is
 * one row a person, and a new grant takes it away: it would be ended with the old one.
 */
export interface Revocations {
  /** Owe Discord the end of a person's grant, from this transaction's commit on. */
  owe(tx: Tx, userId: string, token: string): Promise<void>;
  /** End tokens that nobody stored, now or as soon as Discord listens; not where it would end a grant the person has by now. */
  end(call: Call, userId: string, token: string): Promise<void>;
  /** A new grant is given: nothing is owed any more. */
  forget(tx: Tx, userId: string): Promise<void>;
  /** Tell Discord what is owed about a person, if anything, and never fail: the job goes on where this does not get through. */
  tell(call: Call, userId: string): Promise<void>;
  /** What Discord could not be told so far is tried again, later each time. */
  tasks: Tasks;
}

export interface RevocationsDeps extends Deps<"database" | "keyring" | "clock"> {
  oauth: DiscordOAuth;
  pagesKey: Buffer;
  logger: Logger;
}

/** As long as Discord's access tokens live: by then the last one has ended by itself. */
const tokenLifeSeconds = 604_800;
/** In seconds. */
const firstPause = 60;

export function createRevocations({ database, oauth, keyring, clock, pagesKey, logger }: RevocationsDeps): Revocations {
  /** The row of a person, which says nobody's name. */
  const idOf = (userId: string): string => keyedHash(pagesKey, `revocation:${userId}`);

  /** Null where the key of the token is gone: then nobody can be told of it. */
  function unseal({ id, token }: TokenRevocation): string | null {
    try {
      return keyring.decrypt(token, sealedIn.tokenRevocation(id));
    } catch {
      return null;
    }
  }

  async function owe(tx: Tx, userId: string, token: string): Promise<void> {
    const id = idOf(userId);
    const owed = {
      token: keyring.encrypt(token, sealedIn.tokenRevocation(id)),
      attempts: 0,
      createdAt: tx.now,
      // The first attempt follows the commit; the job comes after it.
      nextAttemptAt: addSeconds(tx.now, firstPause),
      expiresAt: addSeconds(tx.now, tokenLifeSeconds),
    };
    await tx.db.tokenRevocation.upsert({ where: { id }, create: { id, ...owed }, update: owed });
  }

  async function attempt(call: Call, row: TokenRevocation): Promise<boolean> {
    const token = unseal(row);
    const isDone = token === null || (await isAccepted(() => oauth.revoke(token)));
    const { id, createdAt, attempts } = row;
    const where = { id, createdAt, attempts };
    await database.write({ ...call, idempotency: null }, async ({ db, now }) => {
      if (isDone) await db.tokenRevocation.deleteMany({ where });
      else await db.tokenRevocation.updateMany({ where, data: { attempts: attempts + 1, nextAttemptAt: nextAfter(attempts + 1, now) } });
    });
    return isDone;
  }

  return {
    owe,

    async end(call, userId, token) {
      const hasGrant = { where: { userId, status: "active" } };
      if ((await database.read.authorization.count(hasGrant)) > 0) return;
      if (await isAccepted(() => oauth.revoke(token))) return;
      await database.write({ ...call, idempotency: null }, async (tx) => {
        if ((await tx.db.authorization.count(hasGrant)) === 0) await owe(tx, userId, token);
      });
    },

    async forget(tx, userId) {
      await tx.db.tokenRevocation.deleteMany({ where: { id: idOf(userId) } });
    },

    async tell(call, userId) {
      try {
        const row = await database.read.tokenRevocation.findUnique({ where: { id: idOf(userId) } });
        if (row !== null) await attempt(call, row);
      } catch {
        // What is owed is stored: the job meets the same failure, and says so where it lasts.
      }
    },

    tasks: createTasks(
      {
        name: "token revocations",
        places: 1,
        async due(now, most, after) {
          const behind = after === undefined ? Prisma.empty : Prisma.sql`AND (t.next_attempt_at, t.id) > (${after.dueAt}, ${after.id})`;
          const rows = await database.read.$select(
            "TokenRevocation",
            Prisma.sql`WHERE t.next_attempt_at <= ${now} ${behind} ORDER BY t.next_attempt_at, t.id LIMIT ${most}`,
            ["id", "nextAttemptAt"],
          );
          return rows.map(({ id, nextAttemptAt: dueAt }) => ({ id, key: id, dueAt }));
        },
        async nextDue(now) {
          const where = { nextAttemptAt: { gt: now } };
          const row = await database.read.tokenRevocation.findFirst({
            where,
            orderBy: { nextAttemptAt: "asc" },
            select: { nextAttemptAt: true },
          });
          return row?.nextAttemptAt ?? null;
        },
        async attempt(call, id) {
          const row = await database.read.tokenRevocation.findUnique({ where: { id } });
          if (row === null) return "passed";
          if (row.expiresAt > clock.now()) return (await attempt(call, row)) ? "ended" : "later";
          await database.write(call, async ({ db }) => void (await db.tokenRevocation.deleteMany({ where: { id } })));
          return "passed";
        },
      },
      { clock, logger },
    ),
  };
}

async function isAccepted(revoke: () => Promise<void>): Promise<boolean> {
  try {
    await revoke();
    return true;
  } catch (error) {
    if (error instanceof ProblemError || error instanceof OAuthRefusal) return false;
    throw error;
  }
}

/** 1, 2, 4 … minutes, and an hour at most. */
function nextAfter(attempts: number, now: Date): Date {
  return addSeconds(now, backOff(attempts, { firstMs: firstPause * 1000 }) / 1000);
}
