import { setTimeout as delay } from "node:timers/promises";
import type { Database, Logger, Tx } from "../database/database.ts";
import { processCall, type Call } from "../kernel/call.ts";
import { addSeconds, type Clock } from "../kernel/clock.ts";
import { ProblemError } from "../kernel/errors.ts";
import { uuid7 } from "../kernel/ids.ts";
import { keyedHash } from "../kernel/secrets.ts";

/** What one of several processes may do alone, as rows. A claim ends by itself, also when the process that holds it does not. */
export interface Claims {
  /** Claim a name until a time. Answers false where another claim on it has not ended. @throws ProblemError of the storage */
  take(name: string, until: Date): Promise<boolean>;
  /**
   * Claim a name for as long as something is done; the claim of a process that dies ends soon after.
   * @returns what gives it back, or undefined where another process holds it @throws ProblemError of the storage
   */
  hold(name: string): Promise<(() => Promise<void>) | undefined>;
  /** Whether a process holds it. */
  isHeld(name: string): Promise<boolean>;
  /**
   * Do work while no other process does it. Whoever asks meanwhile gets what came of it; where it failed, they do it themselves.
   * @throws ProblemError storage_busy when others take too long, and what the work throws
   */
  once<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Delete ended claims; answers how many. A job calls it. */
  sweep(call: Call): Promise<number>;
}

interface ClaimsDeps {
  database: Pick<Database, "read" | "write">;
  clock: Clock;
  logger: Pick<Logger, "warn">;
  /** Of the hashes under which names are stored: some hold the id of a person. */
  key: Buffer;
}

/** Ended claims are kept for so long: the clocks of machines differ. */
const marginSeconds = 60;
/** How long a claim lasts that is renewed, and how often it is. */
const [heldSeconds, renewMs] = [15, 5000];
/** How long an answer can be had by those who waited for it. */
const answerSeconds = 10;
const [lookMs, patienceMs] = [100, 20_000];

export function createClaims({ database, clock, logger, key }: ClaimsDeps): Claims {
  const hashOf = (name: string): string => keyedHash(key, name);
  const change = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => database.write(processCall(uuid7()), work);
  const inSeconds = (seconds: number): Date => addSeconds(clock.now(), seconds);

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

  /** A claim that is renewed until it is ended. */
  async function claimOn(name: string): Promise<Held | undefined> {
    const own = { name, holder: uuid7() };
    if (!(await claim(own.name, own.holder, inSeconds(heldSeconds)))) return undefined;
    const update = (data: object): Promise<unknown> => change(({ db }) => db.claim.updateMany({ where: own, data }));
    const late = (error: unknown): void => logger.warn({ err: error }, "a claim could not be kept up to date; it ends by itself");
    const renewal = setInterval(() => void update({ expiresAt: inSeconds(heldSeconds) }).catch(late), renewMs).unref();
    return {
      async end(answer) {
        clearInterval(renewal);
        if (answer === undefined) await change(({ db }) => db.claim.deleteMany({ where: own })).catch(late);
        else await update({ answer, expiresAt: inSeconds(answerSeconds) }).catch(late);
      },
    };
  }

  /** A claim of this process, or what came of the work of another. */
  async function claimOrWait(name: string): Promise<Held | { value: unknown }> {
    const end = performance.now() + patienceMs;
    for (let held = await claimOn(name); ;) {
      if (held !== undefined) return held;
      if (performance.now() > end)
        throw new ProblemError("storage_busy", { retryAfter: 5, detail: "Another process of the service is at it, and takes long." });
      await delay(lookMs);
      const running = await database.read.claim.findUnique({ where: { name } });
      if (running !== null && running.answer !== null) return running.answer as { value: unknown };
      if (running === null || running.expiresAt <= clock.now()) held = await claimOn(name);
    }
  }

  return {
    take: (name, until) => claim(hashOf(name), uuid7(), until),

    async hold(name) {
      const held = await claimOn(hashOf(name));
      return held && (() => held.end());
    },

    async isHeld(name) {
      const found = await database.read.claim.findUnique({ where: { name: hashOf(name) } });
      return found !== null && found.answer === null && found.expiresAt > clock.now();
    },

    async once<T>(name: string, work: () => Promise<T>): Promise<T> {
      const held = await claimOrWait(hashOf(name));
      if ("value" in held) return held.value as T;
      let answer: { value: T } | undefined;
      try {
        answer = { value: await work() };
        return answer.value;
      } finally {
        await held.end(answer);
      }
    },

    async sweep(call) {
      const where = { expiresAt: { lte: inSeconds(-marginSeconds) } };
      if ((await database.read.claim.findFirst({ where, select: { name: true } })) === null) return 0;
      return database.write(call, async ({ db }) => (await db.claim.deleteMany({ where })).count);
    },
  };
}

interface Held {
  /** @param answer for those who wait; without it they do the work themselves */
  end(answer?: { value: unknown }): Promise<void>;
}
