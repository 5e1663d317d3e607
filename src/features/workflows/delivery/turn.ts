import type { Tx } from "../../../database/database.ts";
import { Prisma, type WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { memberKey } from "../../../discord-actions/returns.ts";
import { DiscordEffectInput } from "../effects/discord-effect.ts";
import type { Opened } from "./records.ts";

/** What is done to one person in one server goes in order; a message goes before the act that it waits with. Everything else is independent. */
export function keyOf(input: unknown): string | undefined {
  const { data } = DiscordEffectInput.safeParse(input);
  if (data === undefined) return undefined;
  const { discord: action, before } = data;
  if ("guildId" in action) return memberKey(action);
  return before ?? (action.kind === "message_user" ? `user:${action.userId}` : `channel:${action.channelId}`);
}

/**
 * Whether nothing that was left earlier for the same person in the same server waits to be tried again. Messages keep no act waiting; those of
 * one request to one place stay in their order, as a later one may take back what an earlier one says.
 */
export async function isBeforeOthers(tx: Tx, { row, request }: Opened): Promise<boolean> {
  const key = keyOf(row.input);
  const action = DiscordEffectInput.parse(row.input).discord;
  const isAct = "guildId" in action;
  const isAhead = (other: WorkflowEffect): boolean =>
    other.status === "pending" &&
    other.dueAt !== null &&
    keyOf(other.input) === key &&
    isEarlier(other, row) &&
    isAct === "guildId" in DiscordEffectInput.parse(other.input).discord;
  if (request.effects.some((other) => other.place !== row.place && isAhead(other))) return false;
  if (!isAct) return true;
  const others = await tx.db.workflowEffect.findMany({
    where: {
      status: "pending",
      dueAt: { not: null },
      input: { not: Prisma.DbNull },
      requestId: { not: request.id },
      at: { lt: row.at },
      request: { subjects: { some: { kind: "user", subjectId: action.userId } } },
    },
  });
  return !others.some((other) => isAhead(other));
}

function isEarlier(one: WorkflowEffect, other: WorkflowEffect): boolean {
  return one.requestId === other.requestId ? one.place < other.place : one.at < other.at;
}
