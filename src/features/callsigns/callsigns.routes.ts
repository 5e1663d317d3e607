import { z } from "zod";
import { routesFor, type Route } from "../../operations/route.ts";
import { callsignsPolicy } from "./callsigns.policy.ts";
import type { CallsignRegistry } from "./registry.service.ts";
import {
  BlockInput,
  BlockView,
  CallsignParam,
  CallsignQuery,
  LookUpQuery,
  NextInput,
  NextView,
  ReleaseInput,
  RetireInput,
  SlotsQuery,
  SlotView,
  TransferInput,
} from "./callsigns.schema.ts";

const { get, post } = routesFor("callsigns");
const params = z.object({ callsign: CallsignParam });
const capability = "callsigns.registry";
const slot = { status: 200, shape: "single", schema: SlotView } as const;
const next = { status: 200, shape: "single", schema: NextView } as const;
const refusals = ["precondition_failed", "hierarchy_violation", "invalid_transition"] as const;
const exampleNext = {
  callsign: "NORTH-007",
  number: 7,
  pool: "north",
  state: "assigned",
  user_id: "80351110224678912",
  reused: false,
  skipped: [{ number: 1, reason: "taken" }],
  free: 92,
} as const;

/** HTTP routes for callsigns. */
export function callsignsRoutes(callsigns: CallsignRegistry): Route[] {
  return [
    ...nextRoutes(callsigns),
    ...readRoutes(callsigns),
    ...holderRoutes(callsigns),
    ...retireRoutes(callsigns),
    ...blockRoutes(callsigns),
  ];
}

function nextRoutes(callsigns: CallsignRegistry): Route[] {
  return [
    post("/callsigns/next", "nextCallsign", {
      summary: "Allocate, reserve or preview the next callsign",
      description:
        "A person has one callsign of a pool: who asks again gets the same one, also while it rests after them. A reservation is kept for the minutes its pool says; whoever made it, or a holder of `callsigns.manage`, confirms it with `reservation_id`. When no number is left: 409 `pool_exhausted` with `capacity`; widen the ranges of the pool then.",
      access: { permission: callsignsPolicy.allocate },
      capability: "callsigns.next",
      request: { body: NextInput, bodyOptional: true, example: { pool: "north", user_id: "80351110224678912" } },
      success: { ...next, description: "The callsign", example: exampleNext },
      refusals: ["pool_exhausted", "invalid_transition"],
      handle: ({ call, body }) => callsigns.next(call, body),
    }),
    get("/callsigns/next", "lookUpNextCallsign", {
      summary: "Look which callsign would be given next",
      description: "Takes nothing: somebody else may get it first.",
      access: { permission: callsignsPolicy.read },
      capability: "callsigns.lookup",
      request: { query: LookUpQuery },
      success: {
        ...next,
        description: "The callsign as it would be given now",
        example: { ...exampleNext, state: "free", advisory: true },
      },
      handle: ({ call, query }) => callsigns.lookUp(call, query),
    }),
  ];
}

function readRoutes(callsigns: CallsignRegistry): Route[] {
  return [
    get("/callsigns", "listCallsigns", {
      capability,
      summary: "List callsigns that somebody has, had or may not have",
      description: "By pool and number. Numbers that nobody has are not listed.",
      access: { permission: callsignsPolicy.read },
      request: { query: SlotsQuery },
      success: { status: 200, shape: "list", schema: SlotView, description: "A page of callsigns" },
      handle: ({ call, query }) => callsigns.list(call, query),
    }),
    get("/callsigns/{callsign}", "getCallsign", {
      capability,
      summary: "Read who has a callsign",
      access: { permission: callsignsPolicy.read },
      request: { params, query: CallsignQuery },
      success: { ...slot, description: "The callsign; `free` or `absent` where nobody has it" },
      handle: ({ call, params: { callsign }, query }) => callsigns.get(call, callsign, query),
    }),
  ];
}

function holderRoutes(callsigns: CallsignRegistry): Route[] {
  return [
    post("/callsigns/{callsign}/release", "releaseCallsign", {
      capability,
      summary: "Take a callsign back",
      description: "Its number rests for as long as its pool says, so that nobody is taken for whoever had it. Reservations end at once.",
      access: { permission: callsignsPolicy.release },
      request: { params, query: CallsignQuery, body: ReleaseInput, example: { reason: "They left the team." } },
      success: { ...slot, description: "The callsign as it stands now" },
      refusals,
      handle: ({ call, params: { callsign }, query, body, ifMatch }) => callsigns.release(call, { ...query, callsign, ifMatch }, body),
    }),
    post("/callsigns/{callsign}/transfer", "transferCallsign", {
      capability,
      summary: "Give a callsign to somebody else",
      description: "Whoever had it loses it at once. Both find it in their history.",
      access: { permission: callsignsPolicy.manage },
      request: {
        params,
        query: CallsignQuery,
        body: TransferInput,
        example: { user_id: "80351110224678912", reason: "They lead the unit now." },
      },
      success: { ...slot, description: "The callsign as it stands now" },
      refusals,
      handle: ({ call, params: { callsign }, query, body, ifMatch }) => callsigns.transfer(call, { ...query, callsign, ifMatch }, body),
    }),
  ];
}

function retireRoutes(callsigns: CallsignRegistry): Route[] {
  return [
    post("/callsigns/{callsign}/retire", "retireCallsign", {
      capability,
      summary: "Never give a callsign again",
      access: { permission: callsignsPolicy.manage },
      request: { params, query: CallsignQuery, body: RetireInput, example: { reason: "In memory of whoever had it." } },
      success: { ...slot, description: "The callsign as it stands now" },
      refusals,
      handle: ({ call, params: { callsign }, query, body, ifMatch }) => callsigns.retire(call, { ...query, callsign, ifMatch }, body),
    }),
    post("/callsigns/{callsign}/unretire", "unretireCallsign", {
      capability,
      summary: "Let a retired callsign be given again",
      access: { permission: callsignsPolicy.manage },
      request: { params, query: CallsignQuery, body: RetireInput, example: { reason: "It was retired by mistake." } },
      success: { ...slot, description: "The callsign as it was" },
      refusals,
      handle: ({ call, params: { callsign }, query, body, ifMatch }) => callsigns.unretire(call, { ...query, callsign, ifMatch }, body),
    }),
  ];
}

function blockRoutes(callsigns: CallsignRegistry): Route[] {
  return [
    post("/callsigns/block", "blockCallsigns", {
      capability,
      summary: "Keep free numbers from being given",
      description: "All of them or none: a number that somebody has cannot be blocked.",
      access: { permission: callsignsPolicy.manage },
      request: { body: BlockInput, example: { pool: "north", numbers: [13], reason: "Used by a partner." } },
      success: { status: 200, shape: "single", schema: BlockView, description: "The numbers as they stand now" },
      refusals: ["invalid_transition"],
      handle: ({ call, body }) => callsigns.block(call, body),
    }),
    post("/callsigns/unblock", "unblockCallsigns", {
      capability,
      summary: "Let blocked numbers be given again",
      access: { permission: callsignsPolicy.manage },
      request: { body: BlockInput, example: { pool: "north", numbers: [13], reason: "The partner has left." } },
      success: { status: 200, shape: "single", schema: BlockView, description: "The numbers as they stand now" },
      refusals: ["invalid_transition"],
      handle: ({ call, body }) => callsigns.unblock(call, body),
    }),
  ];
}
