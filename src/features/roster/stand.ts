import type { RosterEvent } from "../../generated/sqlite/client.ts";
import { changesOf, foldOf, inEffect, type FoldedTime } from "./fold.ts";
import type { StandingView } from "./history/history.schema.ts";

const isAboutCallsign = ({ callsign }: RosterEvent): boolean => callsign !== null;

/** The lines by which people held callsigns at a time: of each person and callsign the last one, where it gave and did not take. */
export function holdingLines(lines: readonly RosterEvent[], time: FoldedTime): RosterEvent[] {
  const last = new Map<string, RosterEvent>();
  for (const line of inEffect(lines.filter(isAboutCallsign), time))
    last.set(`${line.userId}:${line.pool ?? ""}:${line.callsign ?? ""}`, line);
  return [...last.values()].filter(({ event }) => event === "callsign_assigned");
}

/** The lines that what somebody stood by came from: of each fact the last one that changed it, and those of their callsigns. */
export function standingLines(lines: readonly RosterEvent[], time: FoldedTime): RosterEvent[] {
  const byFact = new Map<string, RosterEvent>();
  for (const line of inEffect(
    lines.filter((one) => !isAboutCallsign(one)),
    time,
  ))
    for (const fact of Object.keys(changesOf(line).after)) byFact.set(fact, line);
  return [...new Set([...byFact.values(), ...holdingLines(lines, time)])];
}

/** How somebody stood at a time; null when they were neither on the roster nor held a callsign. */
export function standingOf(lines: readonly RosterEvent[], time: FoldedTime): StandingView | null {
  const facts = foldOf(
    lines.filter((line) => !isAboutCallsign(line)),
    time,
  );
  const callsigns = holdingLines(lines, time).flatMap(({ callsign, pool }) => (callsign === null ? [] : [{ callsign, pool: pool ?? "" }]));
  return facts === null && callsigns.length === 0 ? null : { ...facts, callsigns };
}

/** Newest first, and of those at the same time the last one written. */
export function newestFirst(lines: readonly RosterEvent[]): RosterEvent[] {
  return inEffect(lines).toReversed();
}
