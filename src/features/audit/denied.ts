import type { Clock } from "../../kernel/clock.ts";
import type { DeniedAttempt } from "../../kernel/denied.ts";

/** Attempts of one kind: by the same caller, at the same, refused for the same reason. */
export interface DeniedAttempts {
  attempt: DeniedAttempt;
  count: number;
  firstAt: Date;
  lastAt: Date;
}

export interface DeniedOptions {
  clock: Clock;
  /** Writes attempts; what it throws leaves them waiting. `overflow` are those nobody kept apart. */
  write: (attempts: readonly DeniedAttempts[], overflow: number) => Promise<void>;
  onFailure: (error: unknown) => void;
}

interface Kind extends DeniedAttempts {
  writtenAt: number;
}

/** How many kinds are told apart in a minute. */
const maxKinds = 120;
const minuteMs = 60_000;
/** How long the first attempt of a kind waits for others. */
const waitMs = 4000;

/** Collects refused attempts in memory: a flood of them becomes a few entries a minute. */
export function createDenied({ clock, write, onFailure }: DeniedOptions) {
  const kinds = new Map<string, Kind>();
  let overflow = 0;
  let overflowAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let isClosed = false;

  function schedule(): void {
    if (isClosed) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      void flush();
    }, waitMs).unref();
  }

  async function drain(isEnd: boolean): Promise<void> {
    const now = clock.now().getTime();
    const isDue = (writtenAt: number): boolean => isEnd || now - writtenAt >= minuteMs;
    const due = [...kinds.values()].filter(({ count, writtenAt }) => count > 0 && isDue(writtenAt));
    const beyond = isDue(overflowAt) ? overflow : 0;
    if (due.length > 0 || beyond > 0) {
      const told = due.map((kind) => ({ ...kind }));
      await write(told, beyond);
      for (const [index, kind] of due.entries()) Object.assign(kind, { count: kind.count - (told[index]?.count ?? 0), writtenAt: now });
      overflow -= beyond;
      if (beyond > 0) overflowAt = now;
    }
    for (const [key, { count, writtenAt }] of kinds) if (count === 0 && now - writtenAt >= minuteMs) kinds.delete(key);
    if (kinds.size > 0 || overflow > 0) schedule();
  }

  function flush(isEnd = false): Promise<void> {
    running = running
      .then(() => drain(isEnd))
      .catch((error: unknown) => {
        onFailure(error);
        schedule();
      });
    return running;
  }

  return {
    note(attempt: DeniedAttempt): void {
      const key = keyOf(attempt);
      const at = clock.now();
      const kind = kinds.get(key);
      if (kind !== undefined) {
        if (kind.count === 0) kind.firstAt = at;
        kind.count += 1;
        kind.lastAt = at;
      } else if (kinds.size < maxKinds) kinds.set(key, { attempt, count: 1, firstAt: at, lastAt: at, writtenAt: 0 });
      else overflow += 1;
      schedule();
    },
    /** Write what is due: at most once a minute for each kind of attempt. */
    flush: () => flush(),
    /** Write everything that waits. */
    close(): Promise<void> {
      isClosed = true;
      clearTimeout(timer);
      return flush(true);
    },
  };
}

function keyOf({ caller, action, code, target }: DeniedAttempt): string {
  return JSON.stringify([caller.clientId, caller.actorId, action, code, target?.kind, target?.id]);
}
