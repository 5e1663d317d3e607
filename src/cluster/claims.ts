import { setTimeout as delay } from "node:timers/promises";
import type { Database, Tx } from "../database/database.ts";
import { systemCall, type Call } from "../kernel/call.ts";
import { addSeconds, type Clock } from "../kernel/clock.ts";
import { ProblemError } from "../kernel/errors.ts";
import { uuid7 } from "../kernel/ids.ts";
import { keyedHash } from "../kernel/secrets.ts";

/** What one of several processes may do alone, as rows. A claim ends by itself, also when the process that holds it does not. */
export interface Claims {
  /** Claim a name until a time. Answers false where another claim on it has not ended. @throws ProblemError of the storage */
  take(name: string, until: Date): Promise<boolean>;
  /**
   * Do work while no other process does it. Whoever asks meanwhile gets what came of it; where it failed, they do it themselves.
   * @param seconds longer than the work can take: a process that died keeps the others from it for so long
   * @throws ProblemError storage_busy when others take too long, and what the work throws
   */
  once<T>(name: string, seconds: number, work: () => Promise<T>): Promise<T>;
  /** Delete ended claims; answers how many. A job calls it. */
  sweep(call: Call): Promise<number>;
}

interface ClaimsDeps {
  database: Pick<Database, "read" | "write">;
  clock: Clock;
  /** Of the hashes under which names are stored: some hold the id of a person. */
  key: Buffer;
}

/** Ended claims are kept for so long: the clocks of machines differ. */
const marginSeconds = 60;
/** How long an answer can be had by those who waited for it. */
const answerSeconds = 10;
const [lookMs, patienceMs] = [100, 20_000];

export function createClaims({ database, clock, key }: ClaimsDeps): Claims {
  const hashOf = (name: string): string => keyedHash(key, name);
  const change = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => database.write(systemCall("job", uuid7()), work);

  /** A claim that was answered is over. */
  async function claim(name: string, holder: string, until: Date): Promise<boolean> {
    const count = await change(
      ({ db, now }) => db.$executeRaw`
        INSERT INTO claims (name, holder, expires_at) VALUES (${name}, ${holder}, ${until})
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at, answer = NULL
        WHERE claims.expires_at <= ${now} OR claims.answer IS NOT NULL`,
    );
    return count === 1;
  }

  /** What came of the work of another process; undefined once the claim is this one's. */
  async function claimOrWait(name: string, holder: string, seconds: number): Promise<{ value: unknown } | undefined> {
    const until = (): Date => addSeconds(clock.now(), seconds);
    const end = performance.now() + patienceMs;
    let isOwn = await claim(name, holder, until());
    while (!isOwn) {
      if (performance.now() > end)
        throw new ProblemError("storage_busy", { retryAfter: 5, detail: "Another process of the service is at it, and takes long." });
      await delay(lookMs);
      const running = await database.read.claim.findUnique({ where: { name } });
      if (running !== null && running.answer !== null) return running.answer as { value: unknown };
      if (running === null || running.expiresAt <= clock.now()) isOwn = await claim(name, holder, until());
    }
    return undefined;
  }

  return {
    take: (name, until) => claim(hashOf(name), uuid7(), until),

    async once<T>(plain: string, seconds: number, work: () => Promise<T>): Promise<T> {
      const [name, holder] = [hashOf(plain), uuid7()];
      const answered = await claimOrWait(name, holder, seconds);
      if (answered !== undefined) return answered.value as T;
      const own = { name, holder };
      try {
        const value = await work();
        const data = { answer: { value } as object, expiresAt: addSeconds(clock.now(), answerSeconds) };
        await change(({ db }) => db.claim.updateMany({ where: own, data }));
        return value;
      } catch (error) {
        await change(({ db }) => db.claim.deleteMany({ where: own })).catch(() => undefined);
        throw error;
      }
    },

    async sweep(call) {
      const where = { expiresAt: { lte: addSeconds(clock.now(), -marginSeconds) } };
      if ((await database.read.claim.findFirst({ where, select: { name: true } })) === null) return 0;
      return database.write(call, async ({ db }) => (await db.claim.deleteMany({ where })).count);
    },
  };
}
