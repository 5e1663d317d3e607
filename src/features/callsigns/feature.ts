import { callsignCommands } from "./callsigns.commands.ts";
import { feature } from "../../compose.ts";
import type { RosterService } from "../roster/roster.service.ts";
import type { RosterSync } from "../roster/sync/sync.service.ts";
import { callsignsRoutes } from "./callsigns.routes.ts";
import { type CallsignsDeps, createCallsignsService } from "./callsigns.service.ts";
import { poolsRoutes } from "./pools/pools.routes.ts";
import { createPoolsService, type PoolsDeps } from "./pools/pools.service.ts";
import { type CallsignRegistryDeps, createCallsignRegistry } from "./registry.service.ts";
import { repairRoutes } from "./repair/repair.routes.ts";
import { createRepairsService, type RepairsDeps } from "./repair/repair.service.ts";

/** Who has which callsign, as other features write it. */
export const callsigns = feature({
  create: ({ roster, ...deps }: Omit<CallsignsDeps, "lines"> & { roster: Pick<RosterService, "lines"> }) => ({
    callsigns: createCallsignsService({ ...deps, lines: roster.lines }),
  }),
  jobs: ({ callsigns }) => ({ callsigns: { run: callsigns.sweep, nextDue: callsigns.nextDue } }),
});

export const callsignRegistry = feature({
  commands: callsignCommands,
  create: (deps: CallsignRegistryDeps & PoolsDeps) => ({
    callsignRegistry: createCallsignRegistry(deps),
    callsignPools: createPoolsService(deps),
  }),
  routes: ({ callsignRegistry, callsignPools }) => [...callsignsRoutes(callsignRegistry), ...poolsRoutes(callsignPools)],
});

export const callsignRepairs = feature({
  create: ({ rosterSync, ...deps }: Omit<RepairsDeps, "isKnown"> & { rosterSync: Pick<RosterSync, "isKnown"> }) => ({
    callsignRepairs: createRepairsService({ ...deps, isKnown: rosterSync.isKnown }),
  }),
  routes: ({ callsignRepairs }) => repairRoutes(callsignRepairs),
  jobs: ({ callsignRepairs }) => ({ callsignRepairs: callsignRepairs.sweep }),
});
