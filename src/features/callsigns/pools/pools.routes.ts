import { z } from "zod";
import { routesFor, type Route } from "../../../operations/route.ts";
import { callsignsPolicy } from "../callsigns.policy.ts";
import { CreatePoolInput, PatchPoolInput, PoolKey, PoolsQuery, PoolView } from "./pools.schema.ts";
import type { CallsignPoolsService } from "./pools.service.ts";

const { del, get, patch, post } = routesFor();

const room = { tags: ["callsigns"], capability: "callsigns.registry" };
const params = z.object({ key: PoolKey });
const single = { status: 200, shape: "single", schema: PoolView } as const;
const examplePool = { key: "south", name: "Southern unit", department: "SOUTH", template: "{dept}-{n:03}", ranges: [[1, 99]], skip: [13] };

/** HTTP routes for pools of callsigns. */
export function poolsRoutes(pools: CallsignPoolsService): Route[] {
  return [...readRoutes(pools), ...writeRoutes(pools)];
}

function readRoutes(pools: CallsignPoolsService): Route[] {
  return [
    get("/callsigns/pools", "listCallsignPools", {
      ...room,
      summary: "List pools of callsigns",
      access: { permission: callsignsPolicy.read },
      request: { query: PoolsQuery },
      success: { status: 200, shape: "list", schema: PoolView, description: "A page of pools, in the order of their keys" },
      handle: ({ call, query }) => pools.list(call, query),
    }),
    get("/callsigns/pools/{key}", "getCallsignPool", {
      ...room,
      summary: "Read one pool of callsigns",
      access: { permission: callsignsPolicy.read },
      request: { params },
      success: { ...single, description: "The pool" },
      handle: ({ call, params: { key } }) => pools.get(call, key),
    }),
  ];
}

function writeRoutes(pools: CallsignPoolsService): Route[] {
  return [
    post("/callsigns/pools", "createCallsignPool", {
      ...room,
      summary: "Create a pool of callsigns",
      access: { permission: callsignsPolicy.manage },
      request: { body: CreatePoolInput, example: examplePool },
      success: { ...single, status: 201, description: "The pool, with `warnings`" },
      refusals: ["duplicate_active_record"],
      handle: ({ call, body }) => pools.create(call, body),
    }),
    patch("/callsigns/pools/{key}", "updateCallsignPool", {
      ...room,
      summary: "Change parts of a pool",
      description: "Callsigns that somebody has stay as they are; those that are outside the ranges now are named in `warnings`.",
      access: { permission: callsignsPolicy.manage },
      request: { params, body: PatchPoolInput, example: { ranges: [[1, 199]] } },
      success: { ...single, description: "The pool as it stands now, with `warnings`" },
      handle: ({ call, params: { key }, body, ifMatch }) => pools.patch(call, key, body, ifMatch),
    }),
    del("/callsigns/pools/{key}", "deleteCallsignPool", {
      ...room,
      summary: "Delete a pool of which nothing is in use",
      description: "Refused with `counts` while any of its numbers is assigned, reserved, resting, retired or blocked.",
      access: { permission: callsignsPolicy.manage },
      request: { params },
      success: { ...single, description: "The pool as it was" },
      refusals: ["invalid_transition"],
      handle: ({ call, params: { key }, ifMatch }) => pools.remove(call, key, ifMatch),
    }),
  ];
}
