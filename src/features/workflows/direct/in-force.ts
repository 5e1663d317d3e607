import type { TransactionClient } from "../../../database/database.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import { DiscordEffectInput } from "../effects/discord-effect.ts";

/** What has a length, and can be lifted. */
export type Lasting = "ban" | "timeout";

/** What is in force against somebody in a server, as far as it is known. */
export interface InForce {
  /** The longest of it, in seconds; Infinity for what has no end, and for what nobody knows of. */
  seconds: number;
  /** A rule about a list, or several people together, decided it. */
  by: "list" | "several" | null;
  /** The payloads of the requests that it comes from. */
  payloads: readonly Record<string, unknown>[];
}

interface Where {
  guildId: string;
  userId: string;
  kind: Lasting;
}

/** Discord times nobody out for longer. */
const longestTimeout = 28 * 86_400;

/** Find what lifting a ban or a timeout would end: requests, lists, and what was done by hand in Discord. */
export async function inForceAgainst(db: TransactionClient, where: Where, now: Date): Promise<InForce> {
  const { guildId, userId, kind } = where;
  const ofList = { guildId, userId, action: kind, stance: "apply", state: { in: ["pending", "done"] }, standingKey: { not: null } };
  const isListed = (await db.listAction.findFirst({ where: ofList, select: { id: true } })) !== null;
  const requests = await requestsOf(db, where, now);
  const lengths = [...requests.map(({ seconds }) => seconds), ...(await byHand(db, where, now))];
  const isSeveral = requests.some(({ approvers }) => approvers > 1);
  return {
    seconds: lengths.length > 0 ? Math.max(...lengths) : kind === "ban" ? Infinity : longestTimeout,
    by: isListed ? "list" : isSeveral ? "several" : null,
    payloads: requests.map(({ payload }) => payload),
  };
}

async function requestsOf({ workflowEffect }: TransactionClient, { guildId, userId, kind }: Where, now: Date) {
  const there = { targetKind: "server", targetId: guildId };
  const rows = await workflowEffect.findMany({
    where: {
      ...there,
      key: "discord.punish",
      status: { in: ["pending", "done"] },
      request: { status: "approved", subjects: { some: { kind: "user", subjectId: userId } } },
    },
    include: { request: { select: { payload: true, votes: true, effects: { where: { ...there, key: "discord.ban_end" } } } } },
  });
  return rows.flatMap(({ input, at, request: { payload, votes, effects } }) => {
    const discord = DiscordEffectInput.safeParse(input).data?.discord;
    if (discord?.kind !== kind) return [];
    const end = discord.kind === "timeout" ? new Date(discord.until) : (effects.find(({ dueAt }) => dueAt !== null)?.dueAt ?? null);
    if (discord.kind === "timeout" && end !== null && end <= now) return [];
    const approvers = votes.filter(
      ({ about, verdict, lapsedAt }) => about === "decision" && verdict === "approve" && lapsedAt === null,
    ).length;
    return [{ payload: jsonObject(payload), approvers, seconds: secondsBetween(at, end) }];
  });
}

/** The length of what the last entry about them in Discord's own log says was done, if it is in force. */
async function byHand({ nativeAction }: TransactionClient, { guildId, userId, kind }: Where, now: Date): Promise<number[]> {
  const opposite = kind === "ban" ? "unban" : "timeout_lift";
  const last = await nativeAction.findFirst({
    // Of what AutoMod did nobody knows how long it lasts.
    where: { guildId, userId, kind: { in: [kind, opposite] }, rule: null },
    orderBy: [{ at: "desc" }, { id: "desc" }],
  });
  const isOver = last?.until !== undefined && last.until !== null && last.until <= now;
  return last?.kind === kind && !isOver ? [secondsBetween(last.at, last.until)] : [];
}

/** @param end null: there is none */
function secondsBetween(at: Date, end: Date | null): number {
  return end === null ? Infinity : (end.getTime() - at.getTime()) / 1000;
}
