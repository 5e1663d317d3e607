import { z } from "zod";
import { routesFor, type Route } from "../../../operations/route.ts";
import { Snowflake } from "../../../kernel/fields.ts";
import { EndLeaveInput, LeaveStateView, ReinstateInput, StartLeaveInput, SuspendInput, SuspensionStateView } from "./duty.schema.ts";
import { staffPolicy } from "../staff.policy.ts";
import type { StaffService } from "../staff.service.ts";

const { del, post } = routesFor("staff");
const params = z.object({ discord_user_id: Snowflake });
const exampleId = "80351110224678912";
const exampleSuspension = {
  user_id: exampleId,
  status: "suspended",
  suspension: {
    id: "0199f2a4-5c1e-7d3a-9b7e-2f6c1d8e4a10",
    reason: "Under review after the leak.",
    by: "41771983423143937",
    at: "2026-11-20T10:00:00.000Z",
    until: "2026-11-27T10:00:00.000Z",
  },
  revision: 1,
  keys: ["0HjVw3tqZB9m"],
};
const exampleLeave = {
  user_id: exampleId,
  status: "loa",
  leave: { from: "2026-11-20T10:00:00.000Z", until: null, reason: "Away until the exams are over." },
  revision: 3,
};

/** HTTP routes for suspensions and leave. */
export function staffDutyRoutes(staff: StaffService): Route[] {
  return [...suspensionRoutes(staff), ...leaveRoutes(staff)];
}

function suspensionRoutes(staff: StaffService): Route[] {
  const access = { permission: staffPolicy.suspend };
  const refusals = ["record_not_found", "hierarchy_violation", "invalid_transition"] as const;
  return [
    post("/staff/{discord_user_id}/suspend", "suspendStaff", {
      summary: "Suspend a staff member",
      description:
        "Takes every permission away at once, until it ends or they are reinstated. Nobody suspends an owner, themselves, or anybody of equal or higher rank.",
      access,
      request: { params, body: SuspendInput, example: { reason: "Under review after the leak.", duration: "7d" } },
      success: {
        status: 200,
        shape: "single",
        schema: SuspensionStateView,
        description: "How it stands now",
        example: exampleSuspension,
      },
      refusals,
      handle: ({ call, params: { discord_user_id }, body }) => staff.suspend(call, discord_user_id, body),
    }),
    post("/staff/{discord_user_id}/reinstate", "reinstateStaff", {
      summary: "End a suspension",
      access,
      request: { params, body: ReinstateInput, example: { reason: "The review found nothing." } },
      success: {
        status: 200,
        shape: "single",
        schema: SuspensionStateView,
        description: "How it stands now",
        example: { ...exampleSuspension, status: "active", suspension: null, revision: 2 },
      },
      refusals,
      handle: ({ call, params: { discord_user_id }, body }) => staff.reinstate(call, discord_user_id, body),
    }),
  ];
}

function leaveRoutes(staff: StaffService): Route[] {
  const path = "/staff/{discord_user_id}/loa";
  const access = { permission: staffPolicy.manage, own: "discord_user_id" };
  return [
    post(path, "startStaffLeave", {
      summary: "Begin or plan a leave of absence",
      description:
        "Everybody may take their own; a planned leave is replaced, a running one has to be ended first. Whether leave takes access away is a setting of the installation.",
      access,
      request: { params, body: StartLeaveInput, example: { reason: "Away until the exams are over.", duration: "30d" } },
      success: { status: 200, shape: "single", schema: LeaveStateView, description: "How it stands now", example: exampleLeave },
      refusals: ["record_not_found", "hierarchy_violation", "invalid_transition"],
      handle: ({ call, params: { discord_user_id }, body }) => staff.startLeave(call, discord_user_id, body),
    }),
    del(path, "endStaffLeave", {
      summary: "End a leave of absence, or call a planned one off",
      description:
        "Everybody may end their own; while it takes their access away, only one that they took themselves. The reason stands in the body or in `?reason=`.",
      access,
      request: {
        params,
        query: z.object(EndLeaveInput.shape),
        body: EndLeaveInput,
        bodyOptional: true,
        example: { reason: "Back early." },
      },
      success: {
        status: 200,
        shape: "single",
        schema: LeaveStateView,
        description: "How it stands now",
        example: { ...exampleLeave, status: "active", leave: null, revision: 4 },
      },
      refusals: ["record_not_found", "hierarchy_violation", "precondition_failed", "invalid_transition"],
      handle: ({ call, params: { discord_user_id }, query, body, ifMatch }) =>
        staff.endLeave(call, discord_user_id, { ...query, ...body }, ifMatch),
    }),
  ];
}
