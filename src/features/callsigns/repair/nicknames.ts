import { foundAt, phases, type NicknameChange, type WhyNot, type Draft, type Found } from "./draft.ts";
import type { Discord } from "../../../discord/client.ts";
import type { CallsignSlot } from "../../../generated/sqlite/client.ts";
import { nicknameFor } from "../../../kernel/nickname.ts";
import type { NicknameResult } from "./repair.schema.ts";

/** What carries out changes in Discord. */
export type Performing = Pick<Discord, "actions">;

/** Holders whose nickname is not what the template of their pool says. */
export async function* findNicknames(draft: Draft): AsyncGenerator<Found> {
  for await (const slot of draft.everySlot()) {
    if (slot.state === "assigned" && wantedFor(draft, slot) !== null && isFirst(draft, slot)) {
      yield foundAt(slot, "Their nickname is not what the template of the pool says.");
    }
  }
}

/** Plan the nickname that a holder should have. */
export function setNickname(draft: Draft, { slot }: Found): WhyNot {
  const change = slot === null ? null : wantedFor(draft, slot);
  if (slot === null || slot.userId === null || change === null) return "The nickname is right already.";
  if (!draft.mayChange(slot.userId)) return "Its holder stands at or above you.";
  const { id, pool, number, callsign, userId } = slot;
  const told = { from: change.from, to: change.to, detail: "The bot sets it; Discord may refuse." };
  const step = { code: "nickname_mismatch", action: "set_nickname", phase: phases.discord, needs_discord: true } as const;
  draft.steps.push({ ...step, pool, number, callsign, user_id: userId, slotId: id, ...told });
  draft.nicknames.push(change);
  return undefined;
}

/** Set nicknames one by one. @param reason for Discord's own audit log */
export async function performNicknames(
  { actions }: Performing,
  id: string,
  changes: readonly NicknameChange[],
  reason: string,
): Promise<NicknameResult[]> {
  const results: NicknameResult[] = [];
  for (const { user_id: userId, guild_id: guildId, to } of changes) {
    const named = { user_id: userId, guild_id: guildId };
    const done = await actions.perform({ kind: "nickname", id: `${id}:${userId}`, reason, guildId, userId, nickname: to });
    const applied = done.outcome === "done";
    results.push({ ...named, applied, reason: applied ? null : done.detail });
  }
  return results;
}

/** Of several callsigns the one of their staff role's pool counts, else the one of the first pool. */
function isFirst(draft: Draft, slot: CallsignSlot): boolean {
  const { userId } = slot;
  if (userId === null) return false;
  const role = draft.enlisted.get(userId)?.staffRole ?? null;
  const theirs = role === null ? null : draft.poolOf(role);
  const pools = theirs === null ? [...draft.pools.keys()] : [theirs, ...draft.pools.keys()];
  const first = pools.flatMap((pool) => draft.ofHolder(pool, userId)).find(({ state }) => state === "assigned");
  return first === slot;
}

function wantedFor(draft: Draft, { pool, callsign, userId }: CallsignSlot): NicknameChange | null {
  const template = draft.pools.get(pool)?.nicknameTemplate ?? null;
  const shown = userId === null ? null : draft.presence.shown(userId);
  if (template === null || shown === null || userId === null) return null;
  const called = shown.nickname ?? shown.name;
  const to = nicknameFor(template, callsign, called);
  return to === called ? null : { user_id: userId, guild_id: shown.guildId, from: shown.nickname, to };
}
