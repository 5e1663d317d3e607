import { say } from "../../../kit/say.ts";
import type { DiscordAction } from "../../../kernel/discord-port.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { Prisma } from "../../../generated/sqlite/client.ts";
import type { Tx } from "../../../database/database.ts";
import type { EndedByHand } from "../../native-actions/records.ts";
import { Delivered, DiscordEffectInput, mayBeDone } from "../effects/discord-effect.ts";
import { openEffect, type EffectRecords, type Place } from "./records.ts";

/** The clocks of Discord and of this machine differ by this many milliseconds at most. */
const apartMs = 2000;
/** Discord's limit for a timeout: 28 days. */
const maxTimeoutSeconds = 28 * 86_400;

/**
 * What keeps an end of a ban or timeout from being carried out later than it was decided: somebody has done the same anew by hand since.
 * @param at when it was decided
 * @returns a sentence; undefined when nothing does
 */
export async function redoneByHand({ db, now }: Tx, action: DiscordAction, at: Date): Promise<string | undefined> {
  const isUnban = action.kind === "unban";
  if (!isUnban && (action.kind !== "timeout_lift" || action.until !== undefined)) return undefined;
  const { guildId, userId } = action;
  const kind = isUnban ? { in: ["ban", "unban"] } : { in: ["timeout", "timeout_lift"] };
  // Of what the log has not named, only when it was heard of is known.
  const where = { guildId, userId, kind, entryId: { not: null }, at: { gt: addSeconds(at, apartMs / 1000) } };
  const last = await db.nativeAction.findFirst({ where, orderBy: [{ at: "desc" }, { id: "desc" }] });
  if (last?.kind === "ban") return say("discord.somebody-else-banned-them-and-i-left");
  // Of a timeout by AutoMod only that it ends within Discord's limit is known.
  const isInForce = last?.kind === "timeout" && (last.until ?? addSeconds(last.at, maxTimeoutSeconds)) > now;
  return isInForce ? say("discord.they-have-another-timeout-which-i-left") : undefined;
}

/** Ends what approvals had the bot do, once somebody else has ended it in Discord: nobody is told of it, and a reversal does not lift it again. */
export function createEndedByHand(records: Pick<EffectRecords, "write">) {
  /** Bans and timeouts of these people in these guilds that were delivered, or that Discord may have carried out without an answer. */
  async function standing({ db }: Tx, ended: readonly EndedByHand[]) {
    const userIds = [...new Set(ended.map(({ userId }) => userId))];
    const rows = await db.workflowEffect.findMany({
      where: {
        targetKind: "server",
        targetId: { in: [...new Set(ended.map(({ guildId }) => guildId))] },
        status: { in: ["done", "pending"] },
        input: { not: Prisma.DbNull },
        request: { subjects: { some: { kind: "user", subjectId: { in: userIds } } } },
      },
      orderBy: [{ requestId: "asc" }, { place: "asc" }],
    });
    return rows.flatMap((row) => {
      const action = DiscordEffectInput.safeParse(row.input).data?.discord;
      const by = ended.find(({ kind, guildId, userId }) => action?.kind === kind && action.guildId === guildId && action.userId === userId);
      const delivered = Delivered.safeParse(row.undo).data;
      if (by === undefined || (row.status === "pending" ? !mayBeDone(row) : delivered === undefined)) return [];
      // A timeout whose time was over by then ended by itself.
      const isOver = delivered?.until !== undefined && new Date(delivered.until) <= by.at;
      const isLater = row.updatedAt.getTime() > by.at.getTime() + apartMs;
      return isOver || isLater ? [] : [{ place: row satisfies Place, by }];
    });
  }

  return async (tx: Tx, ended: readonly EndedByHand[]): Promise<void> => {
    for (const { place, by } of await standing(tx, ended)) {
      const opened = await openEffect(tx, place);
      if (opened === undefined || (opened.row.status !== "done" && !(opened.row.status === "pending" && mayBeDone(opened.row)))) continue;
      const { detail } = opened.row;
      const said = `${detail} ${by.actorId === null ? say("lists.it-was-ended-by-hand-in-discord") : say("workflows.ended-by-hand-by", { user: by.actorId })}`;
      await records.write(tx, opened, { status: "ended", detail: said, dueAt: null });
    }
  };
}
