import { Prisma } from "../../../generated/sqlite/client.ts";
import type { Tx } from "../../../database/database.ts";
import type { EndedByHand } from "../../native-actions/records.ts";
import { Delivered, DiscordEffectInput } from "../effects/discord-effect.ts";
import { openEffect, type EffectRecords, type Place } from "./records.ts";

/** The clocks of Discord and of this machine differ by this many milliseconds at most. */
const apartMs = 2000;

/** Ends what approvals had the bot do, once somebody else has ended it in Discord: nobody is told of it, and a reversal does not lift it again. */
export function createEndedByHand(records: Pick<EffectRecords, "write">) {
  /** Delivered bans and timeouts of these people in these guilds. */
  async function standing({ db }: Tx, ended: readonly EndedByHand[]) {
    const userIds = [...new Set(ended.map(({ userId }) => userId))];
    const rows = await db.workflowEffect.findMany({
      where: {
        targetKind: "server",
        targetId: { in: [...new Set(ended.map(({ guildId }) => guildId))] },
        status: "done",
        input: { not: Prisma.DbNull },
        request: { subjects: { some: { kind: "user", subjectId: { in: userIds } } } },
      },
      orderBy: [{ requestId: "asc" }, { place: "asc" }],
    });
    return rows.flatMap((row) => {
      const action = DiscordEffectInput.safeParse(row.input).data?.discord;
      const by = ended.find(({ kind, guildId, userId }) => action?.kind === kind && action.guildId === guildId && action.userId === userId);
      const delivered = Delivered.safeParse(row.undo).data;
      if (by === undefined || delivered === undefined) return [];
      // A timeout whose time was over by then ended by itself.
      const isOver = delivered.until !== undefined && new Date(delivered.until) <= by.at;
      const isLater = row.updatedAt.getTime() > by.at.getTime() + apartMs;
      return isOver || isLater ? [] : [{ place: row satisfies Place, by }];
    });
  }

  return async (tx: Tx, ended: readonly EndedByHand[]): Promise<void> => {
    for (const { place, by } of await standing(tx, ended)) {
      const opened = await openEffect(tx, place);
      if (opened?.row.status !== "done") continue;
      const { detail } = opened.row;
      const said =
        by.actorId === null ? `${detail} It was ended by hand in Discord.` : `${detail} It was ended by hand in Discord by ${by.actorId}.`;
      await records.write(tx, opened, { status: "ended", detail: said, dueAt: null });
    }
  };
}
