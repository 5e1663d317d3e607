import { say } from "../../../kit/say.ts";
import type { Tx } from "../../../database/database.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { Prisma, WorkflowEffect } from "../../../generated/sqlite/client.ts";
import type { ActionsService } from "../../cases/actions/actions.service.ts";
import { amendsKeyOf, discordEffect, DiscordEffectInput, hasFailed, isAmends } from "../effects/discord-effect.ts";
import type { Effects } from "../effects/effects.ts";
import type { EffectKey } from "../effects/inputs.ts";
import type { NotCarriedOutNotice, NoticeTexts } from "../effects/notice-texts.ts";
import type { Done } from "../effects/types.ts";
import { guildOf } from "../requests/fields.ts";
import { repliedSeconds } from "../requests/watching.ts";
import type { Request } from "../requests/workflows.policy.ts";
import type { WorkflowDecision } from "../requests/workflows.schema.ts";

export interface ConsequenceDeps {
  /** Where a case keeps what was done about a person, and whether they were told. */
  actions: Pick<ActionsService, "noticeInTx" | "voidInTx" | "undoVoidInTx">;
  effects: Pick<Effects, "append">;
  notices: Pick<NoticeTexts, "notCarriedOut" | "notDone">;
  guildState: Pick<GuildState, "guilds">;
}

type Added = Done & { key: string };

const actKey = "discord.punish";
const endKey: EffectKey = "discord.ban_end";
const noticeKey = "notice.subject";
/** What is nothing without what the bot does: everything else that was decided stays so where Discord refuses its part. */
const measures: ReadonlySet<unknown> = new Set(["timeout", "kick", "ban", "untimeout", "unban"]);
const requesterDetail = say("workflows.message-to-the-requester-it-could-not");
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
export function createConsequences({ actions, effects, notices, guildState }: ConsequenceDeps): Consequences {
  /** The case keeps whether the person was told. What they were told that was refused meanwhile is corrected. */
  async function keepNotice(tx: Tx, request: Request, notice: WorkflowEffect): Promise<Added[]> {
    const { status } = notice;
    const action = caseActionOf(request, notice);
    if (action !== undefined && (status === "done" || status === "failed"))
      await actions.noticeInTx(tx, action, status === "done" ? "delivered" : "failed");
    if (status !== "done") return [];
    const acts = actsOf(request, notice);
    const refused = acts.filter((act) => act.status === "failed");
    const [first] = refused;
    if (first === undefined) return [];
    if (isMeasure(request) && acts.every(isNotDone)) return correctAll(tx, request, { act: first, notice });
    return refused.flatMap((act) => correctOne(tx, request, act));
  }

  /** Tell the person that nothing of what was written to them holds. */
  function correctAll(tx: Tx, request: Request, { act, notice }: Told): Added[] {
    const { correction } = DiscordEffectInput.safeParse(notice.input).data ?? {};
    return correction === undefined ? [] : [correctionOf(tx, request, act, { of: "all", content: correction })];
  }

  /** Tell the person which part of what was written to them was not done. */
  function correctOne(tx: Tx, request: Request, act: WorkflowEffect): Added[] {
    const action = DiscordEffectInput.safeParse(act.input).data?.discord;
    if (action?.kind !== "timeout" && action?.kind !== "kick" && action?.kind !== "ban" && action?.kind !== "role_remove") return [];
    const about = { reference: request.reference, guildId: guildOf(request.origin), action: action.kind };
    return [correctionOf(tx, request, act, { of: "act", content: notices.notDone({ ...about, guildName: nameOf(action.guildId) }) })];
  }

  function correctionOf(tx: Tx, request: Request, act: WorkflowEffect, { of, content }: { of: Corrected; content: string }): Added {
    const id = `${correctionPrefix(act, of)}${tx.now.getTime().toString()}`;
    const message = { kind: "message_user", userId: userOf(act.input) ?? "", content, reason: request.reference } as const;
    return { key: amendsKeyOf(noticeKey), ...discordEffect(message, { id, detail: say("workflows.message-to-the-person-it-was-not") }) };
  }

  const nameOf = (guildId: string): string | undefined => guildState.guilds().find(({ id }) => id === guildId)?.name;

  /** What the person was told is corrected: of a measure that was done nowhere all of it, which counts in the case no longer. */
  async function followRefusal(tx: Tx, request: Request, act: WorkflowEffect): Promise<Added[]> {
    const others = actsOf(request, act).filter(({ place }) => place !== act.place);
    const notice = noticeOf(request, act);
    const isAll = isMeasure(request) && others.every(isNotDone);
    if (isAll) await withdrawAct(tx, request, { act, notice });
    if (notice?.status !== "done") return [];
    return isAll ? correctAll(tx, request, { act, notice }) : correctOne(tx, request, act);
  }

  /** The action in the case counts no longer, and nobody is told of it. */
  async function withdrawAct(
    tx: Tx,
    request: Request,
    { act, notice }: { act: WorkflowEffect; notice: WorkflowEffect | undefined },
  ): Promise<void> {
    const action = caseActionOf(request, act);
    const reason = `It was not carried out in Discord: ${act.lastError ?? ""}`.trim();
    const voided = action === undefined ? null : await actions.voidInTx(tx, action, { reason, permission: "system.act" });
    if (voided !== null) await keepIn(tx, act, { ...(act.undo as object), [voidedIn]: voided.undo });
    if (notice?.status === "pending")
      await tx.db.workflowEffect.updateMany({
        where: { ...placeOf(notice), status: "pending", attempts: 0 },
        data: { status: "skipped", dueAt: null, detail: `${notice.detail} ${say("workflows.not-sent")}`, updatedAt: tx.now },
      });
  }

  /** The action in the case counts again, and whoever read that it does not is told what was decided once more. */
  async function restoreAct(tx: Tx, request: Request, act: WorkflowEffect): Promise<Added[]> {
    const acts = actsOf(request, act);
    for (const row of acts) {
      const kept = voidedBy(row);
      if (kept === undefined) continue;
      await actions.undoVoidInTx(tx, kept, { reason: say("workflows.it-was-carried-out-in-discord-after"), permission: "system.act" });
      if (row.place !== act.place) await keepIn(tx, row, { mayBeDone: false, ...(hasFailed(row) && { hasFailed: true }) });
    }
    const told = DiscordEffectInput.safeParse(noticeOf(request, act)?.input).data?.discord;
    const ids = request.effects.flatMap(({ input }) => DiscordEffectInput.safeParse(input).data?.discord.id ?? []);
    const prefixes = [correctionPrefix(act, "act"), ...acts.map((row) => correctionPrefix(row, "all"))];
    const isCorrected = ids.some((id) => prefixes.some((prefix) => id.startsWith(prefix)));
    if (told?.kind !== "message_user" || !isCorrected) return [];
    const id = `${request.id}:${act.place.toString()}:again:${tx.now.getTime().toString()}`;
    const detail = say("workflows.message-to-the-person-it-was-carried");
    const again = { key: amendsKeyOf(noticeKey), ...discordEffect({ ...told, reason: request.reference }, { id, detail }) };
    const refused = acts.filter(({ place, status }) => place !== act.place && status === "failed");
    return [again, ...refused.flatMap((row) => correctOne(tx, request, row))];
  }

  /** Whoever can do something about it hears that it was not done, unless they read it in the reply to their command. */
  function tellFailure(tx: Tx, request: Request, effect: WorkflowEffect): Added[] {
    const userId = answerableFor(request, effect);
    if (userId === null || isReplied(request, effect, tx.now)) return [];
    const guildId = placeOfEffect(effect);
    const content = notices.notCarriedOut({
      reference: request.reference,
      guildId: guildOf(request.origin),
      kind: request.type,
      extent: extentOf(request, effect),
      guildName: guildId === undefined ? undefined : nameOf(guildId),
      what: effect.detail,
      why: effect.lastError ?? "",
    });
    const id = `${request.id}:${effect.place.toString()}:failed:${tx.now.getTime().toString()}`;
    const message = { kind: "message_user", userId, content, reason: request.reference } as const;
    const detail = isAmends(effect) ? say("workflows.message-to-whoever-changed-the-decision-it") : requesterDetail;
    return [{ key: "notice.requester", ...discordEffect(message, { id, detail }) }];
  }

  async function addedAfter(tx: Tx, request: Request, after: WorkflowEffect): Promise<Added[]> {
    if (after.key === noticeKey) return await keepNotice(tx, request, after);
    const action = DiscordEffectInput.safeParse(after.input).data?.discord;
    const isMessage = action === undefined ? after.key.startsWith("notice.") : !("guildId" in action);
    if (isMessage) return [];
    if (after.key === actKey && after.status === "done") return await restoreAct(tx, request, after);
    if (after.status !== "failed") return [];
    return [...(after.key === actKey ? await followRefusal(tx, request, after) : []), ...tellFailure(tx, request, after)];
  }

  return {
    async follow(tx: Tx, request: Request, after: WorkflowEffect): Promise<void> {
      const added = await addedAfter(tx, request, after);
      if (added.length > 0) await effects.append(tx, request, added);
    },
  };
}

export interface Consequences {
  /** @param after the effect as it is now; `request` has it as it was before */
  follow(tx: Tx, request: Request, after: WorkflowEffect): Promise<void>;
}

/** A refused act, and the message that announced it. */
interface Told {
  act: WorkflowEffect;
  notice: WorkflowEffect;
}

/** Whether a punishment is what the bot does, and nothing without it. */
function isMeasure({ payload }: Request): boolean {
  return measures.has(jsonObject(payload)["action"]);
}

/** What a correction takes back: all that the person was told, or what they were told of one act. */
type Corrected = "all" | "act";

/** The names of the corrections that an act led to begin so. */
function correctionPrefix({ requestId, place }: WorkflowEffect, of: Corrected): string {
  return `${requestId}:${place.toString()}:correction:${of}:`;
}

/** Who can do something about what failed: whoever asked for it, or whoever changed the decision since. */
function answerableFor(request: Request, effect: WorkflowEffect): string | null {
  if (!isAmends(effect)) return request.requesterId;
  const { by, reversal } = decisionOf(request);
  return [reversal?.by, by].find((id) => id !== undefined && id !== "") ?? null;
}

function decisionOf({ decision }: Request): Partial<WorkflowDecision> {
  return (decision as WorkflowDecision | null) ?? {};
}

/** Whether the reply to a command still says how an effect ended: to an act that one person decided, or took back, alone. */
function isReplied(request: Request, effect: WorkflowEffect, now: Date): boolean {
  const { by, reversal } = decisionOf(request);
  const isOwn = request.isDirect && (!isAmends(effect) || reversal?.by === by);
  return isOwn && effect.key !== endKey && now < addSeconds(effect.at, repliedSeconds);
}

/** The server that an effect is about; undefined for one that is about none. */
function placeOfEffect({ key, input, targetId }: WorkflowEffect): string | undefined {
  const action = DiscordEffectInput.safeParse(input).data?.discord;
  if (action !== undefined && "guildId" in action) return action.guildId;
  return key === endKey ? (targetId ?? undefined) : undefined;
}

/** How much of what was decided an effect is. */
function extentOf(request: Request, effect: WorkflowEffect): NotCarriedOutNotice["extent"] {
  if (effect.key === endKey) return "end";
  if (isAmends(effect)) return "change";
  if (placeOfEffect(effect) === undefined) return "dated";
  return effect.key === actKey && isMeasure(request) ? "all" : "part";
}

const isNotDone = ({ status }: WorkflowEffect): boolean => status === "failed" || status === "skipped";

function userOf(input: unknown): string | undefined {
  const action = DiscordEffectInput.safeParse(input).data?.discord;
  return action !== undefined && "userId" in action ? action.userId : undefined;
}

/** What the same approval left or did: one that is put in force again does all of it anew. */
function besides({ effects }: Request, { at }: WorkflowEffect): WorkflowEffect[] {
  return effects.filter((row) => row.at.getTime() === at.getTime());
}

/** What the bot does to the same person for the same approval. */
function actsOf(request: Request, effect: WorkflowEffect): WorkflowEffect[] {
  return besides(request, effect).filter(({ key, input }) => key === actKey && userOf(input) === userOf(effect.input));
}

/** The message that announced an act. */
function noticeOf(request: Request, act: WorkflowEffect): WorkflowEffect | undefined {
  return besides(request, act).find(({ key, input }) => key === noticeKey && userOf(input) === userOf(act.input));
}

/** The action in the case that the same approval recorded. */
function caseActionOf(request: Request, effect: WorkflowEffect): string | undefined {
  return besides(request, effect).find(({ targetKind }) => targetKind === "case_action")?.targetId ?? undefined;
}

function placeOf({ requestId, place }: WorkflowEffect) {
  return { requestId, place };
}

async function keepIn(tx: Tx, row: WorkflowEffect, undo: Prisma.InputJsonObject): Promise<void> {
  await tx.db.workflowEffect.updateMany({ where: placeOf(row), data: { undo } });
}
