import { routesFor, type Route } from "../../../operations/route.ts";
import { SyncMemberInput, SyncMemberView, SyncPlanView, SyncRosterInput, SyncStatusView } from "./sync.schema.ts";
import type { RosterSync } from "./sync.service.ts";

const { get, post } = routesFor("roster");
const capability = "roster.sync_member";

/** HTTP routes for the comparison of Discord and the roster. */
export function rosterSyncRoutes(sync: RosterSync): Route[] {
  return [
    post("/roster/sync-member", "syncRosterMember", {
      capability,
      summary: "Compare a Discord member with the roster, or bring one in line with the other",
      description:
        "A report and a dry run write nothing; anything else needs an acting user and current guild state. Discord roles that stand for no staff role are never given or taken. What could not be done in Discord is told change by change.",
      access: { permission: "roster.sync" },
      write: false,
      limit: "write",
      request: { body: SyncMemberInput, example: { discord_user_id: "80351110224678912" } },
      success: { status: 200, shape: "single", schema: SyncMemberView, description: "What differs, and what was done about it" },
      refusals: ["acting_user_required", "conflict_of_interest", "hierarchy_violation", "cannot_grant_unheld", "roster_stale"],
      handle: ({ call, body }) => sync.member(call, body),
    }),
    post("/roster/sync", "syncRoster", {
      capability,
      summary: "See or apply everything in which the roster and Discord differ",
      description:
        "Without `dry_run: false` the plan is answered. Applying needs its `plan_hash` and changes the roster, never Discord, however many people it is about.",
      access: { permission: "roster.apply_fixes" },
      request: { body: SyncRosterInput, bodyOptional: true, example: { dry_run: true } },
      success: { status: 200, shape: "single", schema: SyncPlanView, description: "The plan, applied or not" },
      refusals: ["invalid_transition"],
      handle: ({ call, body }) => sync.all(call, body),
    }),
    get("/roster/sync", "getRosterSync", {
      capability,
      summary: "How the roster follows Discord",
      access: { permission: "roster.sync" },
      success: { status: 200, shape: "single", schema: SyncStatusView, description: "What is pending, and what is held back" },
      handle: ({ call }) => sync.status(call),
    }),
  ];
}
