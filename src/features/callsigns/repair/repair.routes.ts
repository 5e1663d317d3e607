import { z } from "zod";
import { routesFor, type Access, type Route } from "../../../operations/route.ts";
import {
  ListRepairsQuery,
  RepairInput,
  repairPermission,
  RepairRecordView,
  RepairView,
  UndoneRepairView,
  UndoRepairInput,
} from "./repair.schema.ts";
import type { RepairsService } from "./repair.service.ts";

const { get, post } = routesFor();

const shared = { tags: ["callsigns"], access: { permission: repairPermission } satisfies Access, capability: "callsigns.repair" };
const params = z.object({ id: z.string().min(1).max(64).meta({ description: "The `undo_token` of a repair" }) });

/** HTTP routes for repairs of the registry. */
export function repairRoutes(repairs: RepairsService): Route[] {
  return [
    post("/callsigns/repair", "repairCallsigns", {
      ...shared,
      summary: "Find and repair damage in the registry of callsigns",
      description:
        "Without `dry_run: false` it only looks, and answers an ordered plan with its `plan_hash`. That plan, and no other, is carried out when the hash is sent back: in one transaction, and it can be undone for a day. Nicknames are set in Discord after that; what Discord refuses is named in `nicknames`.",
      request: { body: RepairInput, bodyOptional: true, example: { dry_run: true } },
      success: { status: 200, shape: "single", schema: RepairView, description: "What is damaged, and what is or was done about it" },
      comparesRevision: false,
      refusals: ["precondition_failed"],
      handle: ({ call, body }) => repairs.repair(call, body),
    }),
    post("/callsigns/repair/{id}/undo", "undoCallsignRepair", {
      ...shared,
      summary: "Take a repair back",
      description:
        "Every slot that still stands as the repair left it goes back to how it stood. What has changed since stays, and is named.",
      request: { params, body: UndoRepairInput, example: { reason: "The wrong pool was repaired." } },
      success: { status: 200, shape: "single", schema: UndoneRepairView, description: "What was put back, and what stays" },
      refusals: ["invalid_transition"],
      handle: ({ call, params: { id }, body }) => repairs.undo(call, id, body),
    }),
    get("/callsigns/repairs", "listCallsignRepairs", {
      ...shared,
      summary: "List the repairs of the registry of callsigns",
      request: { query: ListRepairsQuery },
      success: { status: 200, shape: "list", schema: RepairRecordView, description: "A page of repairs, newest first" },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => repairs.list(call, query),
    }),
  ];
}
