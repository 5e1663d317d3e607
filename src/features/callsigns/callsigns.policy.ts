import { say } from "../../kit/say.ts";
import type { CallsignSlot } from "../../generated/sqlite/client.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { isoOrNull, type UserRef } from "../../kernel/fields.ts";
import type { Access, AccessDirectory } from "../permissions/access/access-directory.ts";
import { isOver } from "./keys.ts";
import { standOf } from "./records.ts";
import type { SlotView } from "./callsigns.schema.ts";

/** Who may do what with callsigns. */
export const callsignsPolicy = {
  read: "callsigns.read",
  allocate: "callsigns.allocate",
  release: "callsigns.release",
  manage: "callsigns.manage",
} as const;

/** What may be done to a callsign in which state. */
const moves = {
  release: ["assigned", "reserved", "held"],
  transfer: ["assigned", "held"],
  retire: ["free", "assigned", "reserved", "held"],
  unretire: ["retired"],
  block: ["free", "blocked"],
  unblock: ["free", "blocked"],
} as const;
export type Move = keyof typeof moves;

/** @throws ProblemError invalid_transition with what may be done instead */
export function requireMove(
  from: string,
  action: Move,
  callsign: string,
  detail: string = say("callsigns.state", { callsign, state: from }),
): void {
  const permits = (move: Move): boolean => (moves[move] as readonly string[]).includes(from);
  if (permits(action)) return;
  throw refusedMove(from, action, callsign, detail);
}

/** A callsign stands so that something cannot be done. */
export function refusedMove(from: string, action: string, callsign: string, detail: string): ProblemError {
  const allowed = (Object.keys(moves) as Move[]).filter((move) => (moves[move] as readonly string[]).includes(from));
  return new ProblemError("invalid_transition", { detail, extra: { from, action, allowed, callsign } });
}

/** How a slot stands by the time: what has run out and was not swept yet is over as well. */
export function stateAt(row: CallsignSlot, now: Date): SlotView["state"] {
  return isOver(row, now) ? "ended" : standOf(row).state;
}

export function presentSlot(row: CallsignSlot, access: Pick<AccessDirectory, "of">, now: Date): SlotView {
  return {
    id: row.id,
    pool: row.pool,
    number: row.number,
    callsign: row.callsign,
    state: stateAt(row, now),
    user: row.userId === null ? null : presentUser(access.of(row.userId)),
    since: row.since.toISOString(),
    until: isoOrNull(row.until),
    origin_reference: row.originReference,
    reserved_by: row.reservedBy,
    revision: row.revision,
  };
}

/** A callsign without record. */
export function presentNothing(callsign: string, place: { pool: string; number: number } | null): SlotView {
  const empty = { user: null, since: null, until: null, origin_reference: null, reserved_by: null, revision: 0 };
  return {
    id: null,
    pool: place?.pool ?? null,
    number: place?.number ?? null,
    callsign,
    state: place === null ? "absent" : "free",
    ...empty,
  };
}

function presentUser({ id, members, isInGuild }: Access): UserRef {
  const shown = members.find(({ present }) => present) ?? members[0];
  return {
    id,
    ...(shown !== undefined && { username_snapshot: shown.username, display_name: shown.nick ?? shown.globalName ?? shown.username }),
    in_community: isInGuild,
  };
}
