import type { RosterEventName, RosterStatus } from "../../src/features/roster/states.ts";
import type { GrowthStore, People } from "./list.ts";
import { arbitrary, days, few, idOf, oneOf, snowflake, timeOf } from "./values.ts";

const supervisor = snowflake(1);

/** Of the oldest ones each has a value that hardly another has; half of the others are active moderators of the north. */
function entryOf(index: number, rows: number) {
  const isRare = index < few;
  const isUsual = !isRare && arbitrary(index, 2) === 0;
  const at = timeOf(index, rows);
  const status: RosterStatus = isRare ? "probation" : isUsual ? "active" : oneOf(["resigned", "terminated", "trial"], index, 1);
  return {
    id: idOf(index),
    userId: snowflake(index),
    status,
    staffRole: isRare ? "captain" : isUsual ? "moderator" : "helper",
    department: isRare ? "harbour" : isUsual ? "north" : "south",
    supervisorId: isRare ? snowflake(2) : isUsual ? supervisor : null,
    inGuild: isUsual,
    nickname: isRare ? "zeppelin" : isUsual ? `sailor ${index.toString()}` : `cook ${index.toString()}`,
    joinedAt: at,
    createdAt: at,
    updatedAt: isRare ? days(1) : arbitrary(index, 2, 6) === 0 ? days(-0.5) : at,
  };
}

function lineOf(index: number, rows: number) {
  const isRare = index < few;
  const isUsual = !isRare && arbitrary(index, 2) === 0;
  const event: RosterEventName = isRare ? "terminated" : isUsual ? "callsign_assigned" : "promoted";
  return {
    id: idOf(index, 1),
    entryId: idOf(index),
    userId: isUsual ? snowflake(5) : snowflake(index),
    event,
    before: {},
    after: {},
    formerRole: isUsual ? null : "helper",
    staffRole: isRare ? "captain" : isUsual ? null : "moderator",
    pool: isUsual ? "main" : null,
    callsign: isUsual ? "N-001" : null,
    source: isRare ? "discord" : isUsual ? "staff" : "request",
    effectiveAt: timeOf(index, rows),
    recordedAt: timeOf(index, rows),
  };
}

export const store: GrowthStore = {
  ordinary: "senior",
  rowsOf: (index: number, rows: number, _people: People) => [
    { model: "RosterEntry", rows: [entryOf(index, rows)] },
    { model: "RosterEvent", rows: [lineOf(index, rows)] },
  ],
  lists: [
    {
      path: "/roster",
      cases: [
        { query: "" },
        { query: "", isDeep: true },
        { query: "include_left=true" },
        { query: "include_left=true", isDeep: true },
        { query: "sort=-created_at" },
        { query: "sort=created_at" },
        { query: "sort=-updated_at" },
        { query: "sort=-updated_at&include_left=true", isDeep: true },
        { query: "status=active", note: "half" },
        { query: "status=active", note: "half", isDeep: true },
        { query: "status=probation", note: "five" },
        { query: "status=transferred", note: "none" },
        { query: "staff_role=moderator", note: "half" },
        { query: "staff_role=captain", note: "five" },
        { query: "staff_role=cook", note: "none" },
        { query: "department=north", note: "half" },
        { query: "department=harbour", note: "five" },
        { query: "department=west", note: "none" },
        { query: `supervisor_id=${supervisor}`, note: "half" },
        { query: `supervisor_id=${snowflake(2)}`, note: "five" },
        { query: "supervisor_id=1234567890123456789", note: "none" },
        { query: "in_guild=true", note: "half" },
        { query: "in_guild=false", note: "some" },
        { query: "q=sailor", note: "half" },
        { query: "q=zeppelin", note: "five" },
        { query: "q=unheard", note: "none" },
        { query: "status=resigned&department=north", note: "none, a sixth and half" },
      ],
    },
    {
      path: "/roster/history",
      cases: [
        { query: "" },
        { query: "", isDeep: true },
        { query: `user_id=${snowflake(5)}`, note: "half" },
        { query: `user_id=${snowflake(5)}`, note: "half", isDeep: true },
        { query: `user_id=${snowflake(3)}`, note: "one" },
        { query: "callsign=N-001", note: "half" },
        { query: "callsign=N-002", note: "none" },
        { query: "role=moderator", note: "half" },
        { query: "role=captain", note: "five" },
        { query: "role=cook", note: "none" },
        { query: "event=callsign_assigned", note: "half" },
        { query: "event=terminated", note: "five" },
        { query: "event=renamed", note: "none" },
        { query: "source=staff", note: "half" },
        { query: "source=discord", note: "five" },
        { query: "source=time", note: "none" },
        { query: `from=${days(-3).toISOString()}`, note: "864" },
        { query: `to=${days(-2000).toISOString()}`, note: "none" },
        { query: `known_at=${days(-3).toISOString()}`, note: "nearly all" },
        { query: `known_at=${days(-2000).toISOString()}`, note: "none" },
        { query: `user_id=${snowflake(3)}&on=${days(1).toISOString()}`, note: "one" },
      ],
    },
  ],
};
