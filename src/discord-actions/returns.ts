import type { Logger } from "pino";
import type { Database, Tx } from "../database/database.ts";
import type { Presence, Presences } from "../discord/guild/presence.ts";
import { systemCall } from "../kernel/call.ts";
import { uuid7 } from "../kernel/ids.ts";

/** Somebody in a server. */
export type Member = Pick<Presence, "guildId" | "userId">;

/** The key of every task that acts on a person in a guild, of whichever source. */
export function memberKey({ guildId, userId }: Member): string {
  return `${guildId}:${userId}`;
}

/** Where a source keeps what waits until people return. */
export interface Waiting {
  /** Everybody for whom something waits. */
  waitingFor(): Promise<readonly Member[]>;
  /** Have what waits for somebody done now. */
  requeue(tx: Tx, member: Member): Promise<unknown>;
}

export interface ReturnsDeps {
  database: Pick<Database, "write">;
  presences: Pick<Presences, "onSeen" | "joinedAt">;
  logger: Logger;
}

/**
 * Does what waits for people as soon as they are back in the server. Whom it waits for is held in memory, so that the many others who come and
 * go cost nothing.
 */
export function createReturns(source: Waiting, { database, presences, logger }: ReturnsDeps, wake: () => void) {
  const awaited = new Set<string>();
  let isListening = false;

  async function returned(member: Member): Promise<void> {
    awaited.delete(memberKey(member));
    await database.write(systemCall("job", uuid7()), (tx) => source.requeue(tx, member));
    wake();
  }

  /** What fails is found again at the next start, or when they come back once more. */
  function seen(member: Member): void {
    if (!awaited.has(memberKey(member))) return;
    returned(member).catch((error: unknown) => {
      awaited.add(memberKey(member));
      logger.warn({ err: error, guild_id: member.guildId }, "what waited for a person to return could not be taken up");
    });
  }

  return {
    /** Something waits for a person since a moment (milliseconds since 1970). They may have come back meanwhile. */
    wait(member: Member, since: number): void {
      awaited.add(memberKey(member));
      if ((presences.joinedAt(member.guildId, member.userId) ?? 0) >= since) seen(member);
    },

    /** Wait for everybody for whom something was left. Whoever is back by now is named when the member lists are read. */
    async start(): Promise<void> {
      if (!isListening) presences.onSeen(seen);
      isListening = true;
      for (const member of await source.waitingFor()) {
        awaited.add(memberKey(member));
        if (presences.joinedAt(member.guildId, member.userId) !== undefined) seen(member);
      }
    },
  };
}
