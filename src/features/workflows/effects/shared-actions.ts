import { say } from "../../../kit/say.ts";
import type { Tx } from "../../../database/database.ts";
import type { CauseInForce, CausesInForce, Place } from "../../../discord-actions/in-force.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import {
  amendsIdOf,
  compensationOf,
  Delivered,
  discordEffect,
  DiscordEffectInput,
  targetOf,
  type Amended,
  type Compensating,
} from "./discord-effect.ts";

/** How the causes of all features are asked what remains of an action. */
export type Causes = Pick<CausesInForce, "afterWithdrawing">;

type EffectCause = CauseInForce & Place;

/**
 * Work out what is left to be done once the approval behind a delivered effect is taken back. What another approval or a list asks for
 * alike stays in place.
 * @param row as the bot delivered it
 */
export async function takenBackOf(causes: Causes, row: WorkflowEffect, reversal: Compensating): Promise<Amended | undefined> {
  const { tx, reason } = reversal;
  const seen = causeOf(row, "");
  if (seen === undefined || !Delivered.safeParse(row.undo).success) return compensationOf(row, reversal);
  const { stays, next } = await causes.afterWithdrawing(tx, seen, async () => ({
    ...(causeOf({ ...row, undo: await markedBy(tx, row) }, "") ?? seen),
    reason,
  }));
  const detail =
    next?.kind === "timeout"
      ? say("workflows.new-end-of-the-timeout", { at: next.until })
      : say("workflows.reversal-in-discord", { what: row.detail });
  const { staffRole } = DiscordEffectInput.parse(row.input);
  return {
    status: "reversed",
    detail: stays === null ? row.detail : `${row.detail} ${stays}`,
    amends: next === null ? [] : [discordEffect(next, { id: amendsIdOf(row, tx.now), detail, target: targetOf(row), staffRole })],
  };
}

/** What is known of a delivered effect by now: another cause may have left to it what the bot had done. */
async function markedBy({ db }: Tx, { requestId, place, undo }: WorkflowEffect): Promise<WorkflowEffect["undo"]> {
  const now = await db.workflowEffect.findUnique({ where: { requestId_place: { requestId, place } }, select: { undo: true } });
  return Delivered.safeParse(now?.undo).data?.changed === true ? (now?.undo ?? null) : undo;
}

/** What an effect keeps in force in Discord; undefined for what only happens once. @param reference of its request */
export function causeOf(row: WorkflowEffect, reference: string): EffectCause | undefined {
  const action = DiscordEffectInput.safeParse(row.input).data?.discord;
  if (action?.kind !== "ban" && action?.kind !== "timeout" && action?.kind !== "role_add" && action?.kind !== "role_remove")
    return undefined;
  const { changed = false, until: shown } = Delivered.safeParse(row.undo).data ?? {};
  return {
    feature: "request",
    id: causeIdOf(row),
    reference,
    kind: action.kind,
    guildId: action.guildId,
    userId: action.userId,
    ...("roleId" in action && { roleId: action.roleId }),
    until: action.kind === "timeout" ? new Date(action.until) : null,
    ...(changed && shown !== undefined && { shown: new Date(shown) }),
    changed,
    state: row.status === "pending" ? "pending" : "done",
    at: row.at,
  };
}

export function causeIdOf({ requestId, place }: Pick<WorkflowEffect, "requestId" | "place">): string {
  return `${requestId}:${place.toString()}`;
}
