import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { OAuthRefusal, type DiscordOAuth } from "../../discord/oauth.ts";
import type { TokenRevocation } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
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
  /** Tell Discord what it could not be told so far, a bounded part at a time. Answers how often it listened. */
  retryDue(call: Call): Promise<number>;
}

export interface RevocationsDeps extends Deps<"database" | "keyring" | "clock"> {
  oauth: DiscordOAuth;
  pagesKey: Buffer;
}

/** As long as Discord's access tokens live: by then the last one has ended by itself. */
const tokenLifeSeconds = 604_800;
const maxPauseMinutes = 60;
const atOnce = 20;

export function createRevocations({ database, oauth, keyring, clock, pagesKey }: RevocationsDeps): Revocations {
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
      nextAttemptAt: addSeconds(tx.now, 60),
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
      else await db.tokenRevocation.updateMany({ where, data: { attempts: attempts + 1, nextAttemptAt: pauseAfter(attempts, now) } });
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

    async retryDue(call) {
      const now = clock.now();
      if ((await database.read.tokenRevocation.findFirst({ where: { expiresAt: { lte: now } }, select: { id: true } })) !== null)
        await database.write(call, async ({ db }) => void (await db.tokenRevocation.deleteMany({ where: { expiresAt: { lte: now } } })));
      const due = await database.read.tokenRevocation.findMany({
        where: { nextAttemptAt: { lte: now } },
        orderBy: { nextAttemptAt: "asc" },
        take: atOnce,
      });
      let told = 0;
      for (const row of due) {
        // Where Discord does not listen to one, it does not listen to the others either.
        if (!(await attempt(call, row))) break;
        told += 1;
      }
      return told;
    },
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
function pauseAfter(attempts: number, now: Date): Date {
  return addSeconds(now, 60 * Math.min(2 ** attempts, maxPauseMinutes));
}
