import { route, type Route } from "../../../operations/route.ts";
import type { RosterEntries } from "../entries.service.ts";
import { HistoryNotes, HistoryQuery, LineView } from "./history.schema.ts";
import { rosterPolicy } from "../roster.policy.ts";

/** The HTTP door to the history of people. */
export function rosterHistoryRoutes(entries: RosterEntries): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/roster/history",
        operationId: "listRosterHistory",
        tags: ["roster"],
        summary: "List what happened to people on the roster, newest first",
        description:
          "In the order in which it took effect; `known_at` leaves out what was written down later. With `on` and `callsign`: the lines by which somebody held it then, none when nobody did. With `on` and `user_id`: the lines that how they stood then came from, and that itself in `meta.standing`. Both are one page.",
        access: { permission: rosterPolicy.history },
        capability: "roster.history",
        request: { query: HistoryQuery },
        success: { status: 200, shape: "list", schema: LineView, notes: HistoryNotes, description: "A page of lines" },
        refusals: ["invalid_cursor", "unknown_parameter"],
      },
      ({ call, query }) => entries.history(call, query),
    ),
  ];
}
