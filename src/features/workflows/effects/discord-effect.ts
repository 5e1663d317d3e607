import { say } from "../../../kit/say.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { DiscordAction, type DiscordActionDraft } from "../../../kernel/discord-port.ts";
import { z } from "zod";
import type { Done, Json, Reversal } from "./types.ts";

/** Who decided that a role is given, and the permission by which they did. */
export const Decided = z.object({ by: z.string(), permission: z.string() });
export type Decided = z.output<typeof Decided>;

/** What an effect leaves for the bot: an action, and the words that make up for a message when its ground is taken back. */
export const DiscordEffectInput = z.object({
  discord: DiscordAction,
  amends: z.string().optional(),
  /** Of a message: the act in Discord that follows it (`guildId:userId`). There is one brief attempt, and the act does not depend on it. */
  before: z.string().optional(),
  /** Of a message: what takes it back if the act that it announces is not carried out. */
  correction: z.string().optional(),
  /** Of a role that is given: who answers for it. */
  decided: Decided.optional(),
  /** Of a role that is taken, or given back: the key of the staff role that it stood for then. */
  staffRole: z.string().optional(),
});
export type DiscordEffectInput = z.output<typeof DiscordEffectInput>;

/** What is known of a delivered action. */
export const Delivered = z.object({
  changed: z.boolean(),
  until: z.string().optional(),
  /** Its ground was taken back, and it was left in place for another approval. Written by versions before 2026-12; now the other one is marked. */
  left: z.boolean().optional(),
});
export type Delivered = z.output<typeof Delivered>;

/** What is known of an action that was begun and has no end yet, or has failed. */
const Begun = z.object({ mayBeDone: z.boolean(), code: z.number().nullish(), hasFailed: z.literal(true).optional() });

/** Discord's code of the last refusal of an effect; null where there was none. */
export function refusalOf({ undo }: Pick<WorkflowEffect, "undo">): number | null {
  return Begun.safeParse(undo).data?.code ?? null;
}

/** What is known of an effect that failed and is tried again. */
export function retriedFrom(row: Pick<WorkflowEffect, "undo">): Json {
  return { ...(row.undo as Json | null), mayBeDone: mayBeDone(row), hasFailed: true };
}

/** Whether an effect has failed and was not done since. It may be on its way once more. */
export function hasFailed({ status, undo }: Pick<WorkflowEffect, "status" | "undo">): boolean {
  return status === "failed" || (status === "pending" && Begun.safeParse(undo).data?.hasFailed === true);
}

/** What makes up for an effect is named after it. */
export const amendsKeyOf = (key: string): string => `${key}.undo`;

/** Whether an effect makes up for another one: that stays, whatever becomes of the request after it. */
export const isAmends = ({ key }: Pick<WorkflowEffect, "key">): boolean => key.endsWith(amendsKeyOf(""));

/** Whether Discord may have carried an effect out, though no answer says so. */
export function mayBeDone({ undo }: Pick<WorkflowEffect, "undo">): boolean {
  const begun = Begun.safeParse(undo);
  return begun.success && begun.data.mayBeDone;
}

interface DiscordEffect {
  key?: string;
  /** Unique within the request: the same thing left again gets another one. */
  id: string;
  detail: string;
  target?: Done["target"];
  amends?: string;
  before?: string | undefined;
  correction?: string | undefined;
  decided?: Decided;
  staffRole?: string | undefined;
}

/** Leave something for the bot to do in Discord after the commit. */
export function discordEffect(action: DiscordActionDraft, { key, id, detail, target, ...words }: DiscordEffect): Done {
  const more = Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined));
  const input = { discord: { ...action, id }, ...more } as unknown as Json;
  return { ...(key !== undefined && { key }), status: "pending", detail, ...(target && { target }), input };
}

/** What a stored effect is about, for what makes up for it. */
export function targetOf({ targetKind, targetId }: Pick<WorkflowEffect, "targetKind" | "targetId">): Done["target"] {
  return targetKind === null || targetId === null ? null : { kind: targetKind, id: targetId };
}

export interface Amended {
  status: string;
  detail: string;
  amends: Done[];
  /** What is known of the action from now on. */
  undo?: Delivered;
}

/** A reversal as what was delivered is taken back for it. */
export interface Compensating extends Pick<Reversal, "tx" | "reason"> {
  /** Adds to the words that make up for a message; they stay as they are by default. */
  reworded?: (amends: string) => string;
}

const asStored = (amends: string): string => amends;

/** The name of what makes up for an effect: the same effect is taken back once at a time. */
export function amendsIdOf({ requestId, place }: Pick<WorkflowEffect, "requestId" | "place">, now: Date): string {
  return `${requestId}:${place.toString()}:undo:${now.getTime().toString()}`;
}

/**
 * How a delivered effect stands once its approval is taken back, and what is left to be done for it. What several causes can ask for alike
 * is taken back by `takenBackOf`.
 * @returns undefined when the bot did nothing for it, or only told somebody of what happened to a request: that stays true
 */
export function compensationOf(row: WorkflowEffect, { tx, reason, reworded = asStored }: Compensating): Amended | undefined {
  const input = DiscordEffectInput.safeParse(row.input);
  if (!input.success) return undefined;
  const { discord, amends: words } = input.data;
  if (words === undefined && (discord.kind === "message_user" || discord.kind === "message_channel")) return undefined;
  const delivered = Delivered.safeParse(row.undo);
  if (!delivered.success || !delivered.data.changed) return { status: "reversed", detail: row.detail, amends: [] };
  const id = amendsIdOf(row, tx.now);
  if (discord.kind === "unban") {
    const { guildId, userId } = discord;
    const ban = { kind: "ban", guildId, userId, reason } as const;
    const detail = say("workflows.reversal-in-discord", { what: row.detail });
    return { status: "reversed", detail: row.detail, amends: [discordEffect(ban, { id, detail, target: targetOf(row) })] };
  }
  if (words === undefined || discord.kind !== "message_user")
    return { status: "reversed", detail: `${row.detail} ${say("workflows.cannot-be-undone")}`, amends: [] };
  const message = { kind: "message_user", userId: discord.userId, content: reworded(words), reason } as const;
  return {
    status: "reversed",
    detail: row.detail,
    amends: [discordEffect(message, { id, detail: say("workflows.message-about-the-reversal") })],
  };
}

/** What was not done will not be. What the bot may have done all the same is due once more: nothing of it stays. */
export function calledOff(row: WorkflowEffect, now: Date): { status: string; detail: string; dueAt?: Date } {
  if (!mayBeDone(row)) return { status: "skipped", detail: `${row.detail} ${say("workflows.called-off-before")}` };
  return { status: "skipped", detail: `${row.detail} ${say("workflows.called-off-while")}`, dueAt: row.dueAt ?? now };
}
