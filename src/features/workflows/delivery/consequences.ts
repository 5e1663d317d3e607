import type { Tx } from "../../../database/database.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { Prisma, WorkflowEffect } from "../../../generated/sqlite/client.ts";
import type { ActionsService } from "../../cases/actions/actions.service.ts";
import { amendsKeyOf, discordEffect, DiscordEffectInput, hasFailed, isAmends } from "../effects/discord-effect.ts";
import type { Effects } from "../effects/effects.ts";
import type { NoticeTexts } from "../effects/notice-texts.ts";
import type { Done } from "../effects/types.ts";
import { guildOf } from "../requests/fields.ts";
import type { Request } from "../requests/workflows.policy.ts";

export interface ConsequenceDeps {
  /** Where a case keeps what was done about a person, and whether they were told. */
  actions: Pick<ActionsService, "noticeInTx" | "voidInTx" | "undoVoidInTx">;
  effects: Pick<Effects, "append">;
  notices: Pick<NoticeTexts, "notCarriedOut">;
  guildState: Pick<GuildState, "guilds">;
}

type Added = Done & { key: string };

const actKey = "discord.punish";
const noticeKey = "notice.subject";
/** What waits for a date, and is the whole point of its request. */
const datedKey = "server.merge";
/** In the `undo` of an act that failed: how its action in the case counts again. */
const voidedIn = "notCarriedOut";

/** What an attempt keeps of those before it. */
export function keptOf(row: Pick<WorkflowEffect, "status" | "undo">): Record<string, Prisma.InputJsonValue> {
  const kept = voidedBy(row);
  return { ...(kept !== undefined && { [voidedIn]: kept }), ...(hasFailed(row) && { hasFailed: true }) };
}

function voidedBy({ undo }: Pick<WorkflowEffect, "undo">): Prisma.InputJsonValue | undefined {
  return (undo as Record<string, Prisma.InputJsonValue> | null)?.[voidedIn];
}

/**
 * What follows from how an effect ended in Discord. An act that failed counts nothing in its case, the person is told that it does not hold,
 * and so is whoever asked for it; once it succeeds after all, it counts again.
 */
export function createConsequences({ actions, effects, notices, guildState }: ConsequenceDeps) {
  async function keepNotice(tx: Tx, request: Request, { status }: WorkflowEffect): Promise<void> {
    const action = caseActionOf(request);
    if (action === undefined || (status !== "done" && status !== "failed")) return;
    await actions.noticeInTx(tx, action, status === "done" ? "delivered" : "failed");
  }

  /** The action in the case counts no longer. What the person was told is corrected, or not told. */
  async function withdrawAct(tx: Tx, request: Request, act: WorkflowEffect): Promise<Added[]> {
    const userId = userOf(act.input);
    const action = caseActionOf(request);
    const reason = `It was not carried out in Discord: ${act.lastError ?? ""}`.trim();
    const voided = action === undefined ? null : await actions.voidInTx(tx, action, { reason, permission: "system.act" });
    if (voided !== null) await keepIn(tx, act, { ...(act.undo as object), [voidedIn]: voided.undo });
    const notice = request.effects.find(({ key, input }) => key === noticeKey && userOf(input) === userId);
    if (notice?.status === "pending")
      await tx.db.workflowEffect.updateMany({
        where: { ...placeOf(notice), status: "pending", attempts: 0 },
        data: { status: "skipped", dueAt: null, detail: `${notice.detail} It was not sent: the act failed.`, updatedAt: tx.now },
      });
    const { correction } = DiscordEffectInput.safeParse(notice?.input).data ?? {};
    if (notice?.status !== "done" || userId === undefined || correction === undefined) return [];
    const id = `${request.id}:${act.place.toString()}:correction:${tx.now.getTime().toString()}`;
    const message = { kind: "message_user", userId, content: correction, reason: request.reference } as const;
    return [{ key: amendsKeyOf(noticeKey), ...discordEffect(message, { id, detail: "Message to the person: it was not carried out." }) }];
  }

  async function restoreAct(tx: Tx, request: Request, act: WorkflowEffect): Promise<void> {
    for (const row of actsOf(request, userOf(act.input))) {
      const kept = voidedBy(row);
      if (kept === undefined) continue;
      await actions.undoVoidInTx(tx, kept, { reason: "It was carried out in Discord after all.", permission: "system.act" });
      if (row.place !== act.place) await keepIn(tx, row, { mayBeDone: false, ...(hasFailed(row) && { hasFailed: true }) });
    }
  }

  /** Whoever asked for something that others approved hears that it was not done. @param action in Discord; undefined for what is done at a date */
  function tellRequester(tx: Tx, request: Request, act: WorkflowEffect, action?: { guildId: string }): Added[] {
    if (request.isDirect || request.requesterId === null) return [];
    const content = notices.notCarriedOut({
      reference: request.reference,
      guildId: guildOf(request.origin),
      kind: request.type,
      guildName: action === undefined ? null : guildState.guilds().find(({ id }) => id === action.guildId)?.name,
      why: act.lastError ?? "",
    });
    const id = `${request.id}:${act.place.toString()}:failed:${tx.now.getTime().toString()}`;
    const message = { kind: "message_user", userId: request.requesterId, content, reason: request.reference } as const;
    return [
      { key: "notice.requester", ...discordEffect(message, { id, detail: "Message to the requester: it could not be carried out." }) },
    ];
  }

  return {
    /** @param after the effect as it is now; `request` has it as it was before */
    async follow(tx: Tx, request: Request, after: WorkflowEffect): Promise<void> {
      if (after.key === noticeKey) return await keepNotice(tx, request, after);
      if (after.key === datedKey && after.status === "failed") {
        await effects.append(tx, request, tellRequester(tx, request, after));
        return;
      }
      const action = DiscordEffectInput.safeParse(after.input).data?.discord;
      if (isAmends(after) || action === undefined || !("guildId" in action)) return;
      if (after.key === actKey && after.status === "done") return await restoreAct(tx, request, after);
      if (after.status !== "failed") return;
      const others = actsOf(request, action.userId).filter(({ place }) => place !== after.place);
      const isNothingDone = after.key === actKey && others.every(({ status }) => status === "failed" || status === "skipped");
      const added = [...(isNothingDone ? await withdrawAct(tx, request, after) : []), ...tellRequester(tx, request, after, action)];
      if (added.length > 0) await effects.append(tx, request, added);
    },
  };
}

export type Consequences = ReturnType<typeof createConsequences>;

function userOf(input: unknown): string | undefined {
  const action = DiscordEffectInput.safeParse(input).data?.discord;
  return action !== undefined && "userId" in action ? action.userId : undefined;
}

/** What the bot does to somebody for a request. */
function actsOf(request: Request, userId: string | undefined): WorkflowEffect[] {
  return request.effects.filter(({ key, input }) => key === actKey && userOf(input) === userId);
}

/** The action in the case that an approval recorded. */
function caseActionOf(request: Request): string | undefined {
  return request.effects.find(({ targetKind }) => targetKind === "case_action")?.targetId ?? undefined;
}

function placeOf({ requestId, place }: WorkflowEffect) {
  return { requestId, place };
}

async function keepIn(tx: Tx, row: WorkflowEffect, undo: Prisma.InputJsonObject): Promise<void> {
  await tx.db.workflowEffect.updateMany({ where: placeOf(row), data: { undo } });
}
