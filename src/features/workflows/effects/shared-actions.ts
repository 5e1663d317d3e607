import type { Tx } from "../../../database/database.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { compensationOf, Delivered, isAmends, DiscordEffectInput, type Amended, type Compensating } from "./discord-effect.ts";

type Discord = DiscordEffectInput["discord"];
/** What several approvals can ask for alike, and what stands in Discord once only. */
type Shared = Extract<Discord, { kind: "ban" | "role_remove" }>;
type Found = WorkflowEffect & { request: { status: string } };

/**
 * As `compensationOf`, but what another approval in force asks for alike stays until the last of them is taken back.
 * @param row as the bot delivered it
 */
export async function takenBackOf(row: WorkflowEffect, reversal: Compensating): Promise<Amended | undefined> {
  const { tx } = reversal;
  const action = sharedOf(row);
  const delivered = Delivered.safeParse(row.undo);
  if (action === undefined || !delivered.success) return compensationOf(row, reversal);
  await tx.lock(`discord:${nameOf(action)}`);
  const alike = await alikeOf(tx, row, action);
  const left = alike.filter((other) => isLeft(other));
  if (!delivered.data.changed && left.length === 0) return compensationOf(row, reversal);
  if (alike.some((other) => other.requestId !== row.requestId && isAsking(other))) {
    const undo = { ...delivered.data, ...(delivered.data.changed && { left: true }) };
    return { status: "reversed", detail: `${row.detail} It stays: another approval asks for the same.`, amends: [], undo };
  }
  for (const { requestId, place } of left)
    await tx.db.workflowEffect.updateMany({ where: { requestId, place }, data: { undo: { changed: true } } });
  return compensationOf({ ...row, undo: { ...delivered.data, changed: true } }, reversal);
}

function sharedOf({ input }: Pick<WorkflowEffect, "input">): Shared | undefined {
  const { data } = DiscordEffectInput.safeParse(input);
  return data?.discord.kind === "ban" || data?.discord.kind === "role_remove" ? data.discord : undefined;
}

function nameOf(action: Shared): string {
  return [action.kind, action.guildId, action.userId, ...(action.kind === "role_remove" ? [action.roleId] : [])].join(":");
}

/** Every other effect that does the same to the same person. */
async function alikeOf({ db }: Tx, row: WorkflowEffect, action: Shared): Promise<Found[]> {
  const found = await db.workflowEffect.findMany({
    where: {
      targetKind: row.targetKind,
      targetId: row.targetId,
      status: { in: ["pending", "done", "reversed"] },
      request: { subjects: { some: { kind: "user", subjectId: action.userId } } },
      NOT: { requestId: row.requestId, place: row.place },
    },
    include: { request: { select: { status: true } } },
  });
  return found.filter((other) => {
    const same = sharedOf(other);
    return same !== undefined && !isAmends(other) && nameOf(same) === nameOf(action);
  });
}

function isAsking({ status, request }: Found): boolean {
  return status !== "reversed" && request.status === "approved";
}

function isLeft({ status, undo }: WorkflowEffect): boolean {
  return status === "reversed" && Delivered.safeParse(undo).data?.left === true;
}
