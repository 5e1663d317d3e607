import { say } from "../../../kit/say.ts";
import { foundAt, phases, type WhyNot, type Draft, type Found, type NicknameChange, hasForeignKey, keysOf } from "./draft.ts";
import type { CallsignSlot } from "../../../generated/sqlite/client.ts";
import { end, give, hold, move, protect, rename } from "./fixes.ts";
import type { Finding, RepairCode, NicknameResult } from "./repair.schema.ts";
import { isWrittenRight } from "./text.ts";
import type { DiscordActions } from "../../../discord-actions/discord-actions.ts";
import { nicknameFor } from "../../../kernel/nickname.ts";
import { liveKeyOf } from "../keys.ts";
import { isHolding } from "../records.ts";

/** Which of two slots stays, the first before the others. */
const standing = ["assigned", "retired", "blocked", "reserved", "held"];

/** Slots whose number another slot has as well. */
async function* byNumber(draft: Draft): AsyncGenerator<Found> {
  for await (const slot of draft.everySlot()) {
    if (slot.state === "ended") continue;
    const [stays, ...others] = draft.ofNumber(slot.pool, slot.number).toSorted(inOrder("liveKey"));
    if (others.length === 0 || slot === stays) continue;
    draft.damaged.add(slot.id);
    yield foundAt(slot, say("callsigns.another-slot-has-the-same-number"));
  }
}

/** Slots whose holder has, or has reserved, another one of the pool. */
async function* byPerson(draft: Draft): AsyncGenerator<Found> {
  for await (const slot of draft.everySlot()) {
    if (slot.userId === null || !isHolding(slot.state) || draft.damaged.has(slot.id)) continue;
    const own = draft.ofHolder(slot.pool, slot.userId).filter(({ id, state }) => isHolding(state) && !draft.damaged.has(id));
    const [stays, ...others] = own.toSorted(inOrder("holderKey"));
    if (others.length === 0 || slot === stays) continue;
    draft.damaged.add(slot.id);
    yield foundAt(slot, say("callsigns.its-holder-has-another-one-of-the"));
  }
}

/** Slots with the text of another number of their pool. Those that the pool writes otherwise give way. */
async function* byText(draft: Draft): AsyncGenerator<Found> {
  const groups = new Map<string, CallsignSlot[]>();
  for await (const slot of draft.everySlot()) {
    if (slot.state === "ended") continue;
    const key = `${slot.pool}\n${slot.callsign}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [slot]);
    else group.push(slot);
  }
  for (const group of groups.values()) {
    if (new Set(group.map(({ pool, number }) => liveKeyOf(pool, number))).size < 2) continue;
    const wrong = group.filter((slot) => !isRight(draft, slot));
    for (const slot of wrong.length > 0 ? wrong : group.slice(1)) yield foundAt(slot, say("callsigns.another-number-of-the-pool-has-the"));
  }
}

/** Slots that take a number or a person that is not theirs, and so stand in the way of whose it is. */
async function* byForeignKey(draft: Draft): AsyncGenerator<Found> {
  for await (const slot of draft.everySlot()) {
    if (!hasForeignKey(slot)) continue;
    yield foundAt(
      slot,
      slot.state === "ended" ? say("callsigns.it-is-over-but-still-takes-a") : say("callsigns.it-takes-a-number-or-a-person"),
    );
  }
}

/** Slots that the database does not keep to one holder. */
async function* byMissingKey(draft: Draft): AsyncGenerator<Found> {
  for await (const slot of draft.everySlot()) {
    const { liveKey, holderKey } = keysOf(slot);
    if ((slot.liveKey === liveKey && slot.holderKey === holderKey) || hasForeignKey(slot) || draft.damaged.has(slot.id)) continue;
    yield foundAt(slot, say("callsigns.its-number-could-be-given-twice"));
  }
}

/** Take a number from whom it does not belong to; somebody who is left with none gets another. */
function freeOrMove(draft: Draft, slot: CallsignSlot): WhyNot {
  const isNeeded = slot.state === "assigned" && slot.userId !== null && !draft.hasAnother(slot);
  return isNeeded
    ? move(draft, "duplicate", slot, "end")
    : end(draft, "duplicate", slot, say("callsigns.another-slot-has-the-same-number"));
}

function isRight({ pools, enlisted }: Draft, { pool: key, callsign, number, userId }: CallsignSlot): boolean {
  const pool = pools.get(key);
  return pool !== undefined && isWrittenRight(pool, callsign, number, userId === null ? undefined : enlisted.get(userId));
}

/** Who has the right key stays, else who has it longer. */
function inOrder(column: "liveKey" | "holderKey") {
  const rank = (slot: CallsignSlot): (string | number)[] => [
    standing.indexOf(slot.state),
    slot[column] === keysOf(slot)[column] ? 0 : 1,
    slot.since.getTime(),
    slot.id,
  ];
  return (one: CallsignSlot, other: CallsignSlot): number => {
    const [left, right] = [rank(one), rank(other)];
    const place = left.findIndex((value, index) => value !== right[index]);
    if (place === -1) return 0;
    return (left[place] ?? 0) < (right[place] ?? 0) ? -1 : 1;
  };
}

/** One way in which the registry can be damaged. */
export interface Check {
  code: RepairCode;
  severity: Finding["severity"];
  /** Whether it takes guilds that are known completely. */
  needsGuilds?: true;
  find(draft: Draft): AsyncIterable<Found>;
  /** Plan what puts it right. @returns why it cannot be */
  plan(draft: Draft, found: Found): WhyNot;
}

/** Who is to have a callsign of the pool of their staff role. */
const entitled: ReadonlySet<string> = new Set(["trial", "active", "loa", "probation", "suspended"]);

const onSlot =
  (work: (draft: Draft, slot: CallsignSlot) => WhyNot): Check["plan"] =>
  (draft, { slot }) =>
    slot === null ? say("callsigns.there-is-no-slot-to-change") : work(draft, slot);

/** Every check, in the order in which they look: what frees numbers, then what gives them, then what they are called. */
export const checks: readonly Check[] = [
  { code: "duplicate", severity: "warning", find: byForeignKey, plan: onSlot((draft, slot) => protect(draft, "duplicate", slot)) },
  {
    code: "expired_reservation",
    severity: "info",
    find: (draft) =>
      slotsWhere(draft, (slot) => (slot.state === "reserved" && isOver(draft, slot) ? say("callsigns.the-reservation-is-over") : null)),
    plan: onSlot((draft, slot) => end(draft, "expired_reservation", slot, say("callsigns.the-reservation-is-over"))),
  },
  {
    code: "hold_over",
    severity: "info",
    find: (draft) =>
      slotsWhere(draft, (slot) => (slot.state === "held" && isOver(draft, slot) ? say("callsigns.it-has-rested-long-enough") : null)),
    plan: onSlot((draft, slot) => end(draft, "hold_over", slot, say("callsigns.it-has-rested-long-enough"))),
  },
  {
    code: "orphan_assignment",
    severity: "error",
    needsGuilds: true,
    find: (draft) => slotsWhere(draft, (slot) => (hasLeft(draft, slot) ? say("callsigns.its-holder-has-left-the-guilds") : null)),
    plan: onSlot((draft, slot) => hold(draft, "orphan_assignment", slot, say("callsigns.its-holder-has-left-the-guilds"))),
  },
  {
    code: "callsign_without_roster",
    severity: "warning",
    find: (draft) => slotsWhere(draft, (slot) => (isOffRoster(draft, slot) ? say("callsigns.its-holder-is-not-on-the-roster") : null)),
    plan: onSlot((draft, slot) => hold(draft, "callsign_without_roster", slot, say("callsigns.its-holder-is-not-on-the-roster"))),
  },
  { code: "duplicate", severity: "error", find: byNumber, plan: onSlot(freeOrMove) },
  {
    code: "duplicate",
    severity: "error",
    find: byPerson,
    plan: onSlot((draft, slot) =>
      slot.state === "reserved"
        ? end(draft, "duplicate", slot, say("callsigns.its-holder-has-another-one-of-the"))
        : hold(draft, "duplicate", slot, say("callsigns.its-holder-has-another-one-of-the")),
    ),
  },
  { code: "duplicate", severity: "warning", find: byMissingKey, plan: onSlot((draft, slot) => protect(draft, "duplicate", slot)) },
  {
    code: "out_of_range",
    severity: "warning",
    find: (draft) => slotsWhere(draft, (slot) => whyOutside(draft, slot)),
    plan: onSlot((draft, slot) =>
      slot.state === "reserved"
        ? end(draft, "out_of_range", slot, say("callsigns.it-lies-outside-the-range-of-the"))
        : move(draft, "out_of_range", slot, "hold"),
    ),
  },
  { code: "roster_without_callsign", severity: "warning", find: withoutCallsign, plan: giveTo },
  { code: "duplicate", severity: "error", find: byText, plan: onSlot((draft, slot) => rename(draft, "duplicate", slot)) },
  { code: "case_collision", severity: "warning", find: collisions, plan: onSlot((draft, slot) => rename(draft, "case_collision", slot)) },
  {
    code: "template_drift",
    severity: "warning",
    find: (draft) => slotsWhere(draft, (slot) => (isDrifted(draft, slot) ? say("callsigns.the-pool-writes-it-otherwise") : null)),
    plan: onSlot((draft, slot) => rename(draft, "template_drift", slot)),
  },
  { code: "nickname_mismatch", severity: "info", needsGuilds: true, find: findNicknames, plan: setNickname },
];

async function* slotsWhere(draft: Draft, why: (slot: CallsignSlot) => string | null): AsyncGenerator<Found> {
  for await (const slot of draft.everySlot()) {
    const detail = slot.state === "ended" ? null : why(slot);
    if (detail !== null) yield foundAt(slot, detail);
  }
}

function isOver({ now }: Draft, { until }: CallsignSlot): boolean {
  return until !== null && until <= now;
}

function hasLeft({ presence }: Draft, { state, userId }: CallsignSlot): boolean {
  return state === "assigned" && userId !== null && presence.hasLeft(userId);
}

/** Who has left the guilds as far as is known is told of by that, once it is certain. */
function isOffRoster({ presence, enlisted }: Draft, { state, userId }: CallsignSlot): boolean {
  return state === "assigned" && userId !== null && !enlisted.has(userId) && !presence.hasLeft(userId);
}

function whyOutside(draft: Draft, slot: CallsignSlot): string | null {
  const { state, userId, number } = slot;
  if (state !== "assigned" && state !== "reserved") return null;
  const pool = draft.pools.get(slot.pool);
  if (pool === undefined) return say("callsigns.there-is-no-such-pool-any-more");
  const holder = userId === null ? undefined : draft.enlisted.get(userId);
  return draft.isInRange(pool, number, holder) ? null : say("callsigns.its-number-lies-outside-the-range-of");
}

function isDrifted({ pools, enlisted }: Draft, { state, pool: key, callsign, number, userId }: CallsignSlot): boolean {
  const pool = pools.get(key);
  if (pool === undefined || state === "ended") return false;
  return !isWrittenRight(pool, callsign, number, userId === null ? undefined : enlisted.get(userId));
}

/** Callsigns that differ from an earlier one only by upper and lower case. Those that their pool writes otherwise give way. */
async function* collisions(draft: Draft): AsyncGenerator<Found> {
  const groups = new Map<string, CallsignSlot[]>();
  for await (const slot of draft.everySlot()) {
    if (slot.state === "ended") continue;
    const group = groups.get(slot.callsign.toLowerCase());
    if (group === undefined) groups.set(slot.callsign.toLowerCase(), [slot]);
    else group.push(slot);
  }
  for (const group of groups.values()) {
    if (new Set(group.map(({ callsign }) => callsign)).size < 2) continue;
    const drifted = group.filter((slot) => isDrifted(draft, slot));
    for (const slot of drifted.length > 0 ? drifted : group.slice(1)) {
      yield foundAt(slot, say("callsigns.it-differs-from-another-callsign-only-by"));
    }
  }
}

async function* withoutCallsign(draft: Draft): AsyncGenerator<Found> {
  for await (const { userId, status, staffRole } of draft.everyone()) {
    const key = staffRole === null || !entitled.has(status) ? null : draft.poolOf(staffRole);
    const pool = key === null ? undefined : draft.pools.get(key);
    if (pool === undefined || draft.presence.hasLeft(userId)) continue;
    if (draft.ofHolder(pool.key, userId).some(({ state }) => state === "assigned")) continue;
    const detail = say("callsigns.they-are-on-the-roster-without-a");
    yield { slot: null, pool: pool.key, number: null, callsign: null, user_id: userId, detail };
  }
}

function giveTo(draft: Draft, { pool: key, user_id: userId }: Found): WhyNot {
  const pool = draft.pools.get(key);
  return pool === undefined || userId === null
    ? say("callsigns.there-is-no-such-pool")
    : give(draft, "roster_without_callsign", pool, userId);
}

/** What carries out changes in Discord. */
export type Performing = Pick<DiscordActions, "perform">;

/** Holders whose nickname is not what the template of their pool says. */
export async function* findNicknames(draft: Draft): AsyncGenerator<Found> {
  for await (const slot of draft.everySlot()) {
    if (slot.state === "assigned" && wantedFor(draft, slot) !== null && isFirst(draft, slot)) {
      yield foundAt(slot, say("callsigns.their-nickname-is-not-what-the-template"));
    }
  }
}

/** Plan the nickname that a holder should have. */
export function setNickname(draft: Draft, { slot }: Found): WhyNot {
  const change = slot === null ? null : wantedFor(draft, slot);
  if (slot === null || slot.userId === null || change === null) return say("callsigns.the-nickname-is-right-already");
  if (!draft.mayChange(slot.userId)) return say("callsigns.its-holder-stands-at-or-above-you");
  if (!draft.mayActIn(change.guild_id)) return say("callsigns.you-may-not-do-this-in-the");
  const { id, pool, number, callsign, userId } = slot;
  const told = { from: change.from, to: change.to, detail: say("callsigns.the-bot-sets-it-discord-may-refuse") };
  const step = { code: "nickname_mismatch", action: "set_nickname", phase: phases.discord, needs_discord: true } as const;
  draft.steps.push({ ...step, pool, number, callsign, user_id: userId, slotId: id, ...told });
  draft.nicknames.push(change);
  return undefined;
}

/** Set nicknames one by one. @param reason for Discord's own audit log */
export async function performNicknames(
  { perform }: Performing,
  id: string,
  changes: readonly NicknameChange[],
  reason: string,
): Promise<NicknameResult[]> {
  const results: NicknameResult[] = [];
  for (const { user_id: userId, guild_id: guildId, to } of changes) {
    const named = { user_id: userId, guild_id: guildId };
    const done = await perform({ kind: "nickname", id: `${id}:${userId}`, reason, guildId, userId, nickname: to });
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
