import { walkDescription, WalkNotes } from "../../kernel/keyset.ts";
import { z } from "zod";
import { routesFor, withContentEtag, type Route } from "../../operations/route.ts";
import type { RosterEntries } from "./entries.service.ts";
import { rosterPolicy } from "./roster.policy.ts";
import { CreateEntryInput, EntryKey, EntryView, ListEntriesQuery, OneEntryView, UpdateEntryInput } from "./roster.schema.ts";
import { HistoryNotes, HistoryQuery, LineView } from "./history/history.schema.ts";

const { get, patch, post } = routesFor("roster");
const capability = "roster.entries";
const params = z.object({ id: EntryKey });

/** HTTP routes for entries of the roster. */
export function rosterRoutes(entries: RosterEntries): Route[] {
  return [
    get("/roster", "listRoster", {
      summary: "List the roster, the newest entry first",
      description: `Those who have not left, unless a status or \`include_left\` is asked for. ${walkDescription}`,
      access: { permission: rosterPolicy.read },
      capability,
      request: { query: ListEntriesQuery },
      success: { status: 200, shape: "list", schema: EntryView, notes: WalkNotes, description: "A page of entries" },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => entries.list(call, query),
    }),
    post("/roster", "createRosterEntry", {
      summary: "Put somebody on the roster without a request",
      description: "Who was on it comes back with their history; who was terminated needs `roster.apply_fixes` besides.",
      access: { permission: rosterPolicy.edit },
      capability,
      request: {
        body: CreateEntryInput,
        example: { user_id: "80351110224678912", department: "north", trial_days: 30, reason: "Was chosen by the team." },
      },
      success: { status: 201, shape: "single", schema: EntryView, description: "The entry" },
      refusals: ["conflict_of_interest", "hierarchy_violation", "cannot_grant_unheld", "invalid_transition"],
      handle: async ({ call, body }) => withContentEtag(await entries.create(call, body)),
    }),
    get("/roster/{id}", "getRosterEntry", {
      summary: "Read the entry of somebody",
      description: "An id of nobody answers `state: absent`.",
      access: { permission: rosterPolicy.read },
      capability,
      request: { params },
      success: { status: 200, shape: "single", schema: OneEntryView, description: "The entry, or that there is none" },
      handle: async ({ call, params: { id } }) => {
        const view = await entries.get(call, id);
        return view.state === "present" ? withContentEtag(view) : view;
      },
    }),
    patch("/roster/{id}", "updateRosterEntry", {
      summary: "Move somebody on the roster, or change their entry",
      description:
        "Fields that are not sent stay. The history names what happened: a status by the table of docs/roster.md, a higher or lower staff role as promoted or demoted, a department as transferred, all else as corrected. With `effective_at` it is so since then, and what later lines changed stays changed. Leaves are taken at `/staff/{discord_user_id}/loa`. Whoever leaves leaves their callsigns.",
      access: { permission: rosterPolicy.edit },
      capability,
      request: { params, body: UpdateEntryInput, example: { department: "south" } },
      success: { status: 200, shape: "single", schema: EntryView, description: "The entry" },
      refusals: ["conflict_of_interest", "hierarchy_violation", "cannot_grant_unheld", "precondition_failed", "invalid_transition"],
      handle: async ({ call, params: { id }, body, ifMatch }) => withContentEtag(await entries.update(call, id, body, ifMatch)),
    }),
  ];
}

/** HTTP routes for the history of people. */
export function rosterHistoryRoutes(entries: RosterEntries): Route[] {
  return [
    get("/roster/history", "listRosterHistory", {
      summary: "List what happened to people on the roster, newest first",
      description: `In the order in which it took effect; \`known_at\` leaves out what was written down later. With \`on\` and \`callsign\`: the lines by which somebody held it then, none when nobody did. With \`on\` and \`user_id\`: the lines that how they stood then came from, and that itself in \`meta.standing\`. Both are one page. ${walkDescription}`,
      access: { permission: rosterPolicy.history },
      capability: "roster.history",
      request: { query: HistoryQuery },
      success: { status: 200, shape: "list", schema: LineView, notes: HistoryNotes, description: "A page of lines" },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => entries.history(call, query),
    }),
  ];
}
