import { createAppealEffects, type AppealEffectDeps } from "./appeal.ts";
import { createCasesEffects, type CasesEffectDeps } from "./cases.ts";
import { createDiscordEffects, type DiscordEffectDeps } from "./discord.ts";
import { createListingEffects, type ListingEffectDeps } from "./listing.ts";
import { createServersEffects, type ServersEffectDeps } from "./servers.ts";
import { createStaffEffects, type StaffEffectDeps } from "./staff.ts";
import type { EffectTable } from "./types.ts";

/** The features whose service methods the effects call. */
export type EffectRooms = AppealEffectDeps & CasesEffectDeps & DiscordEffectDeps & ListingEffectDeps & ServersEffectDeps & StaffEffectDeps;

/** Everything approvals can do, one table. */
export function createEffectTable(rooms: EffectRooms): EffectTable {
  return {
    ...createAppealEffects(rooms),
    ...createCasesEffects(rooms),
    ...createDiscordEffects(rooms),
    ...createListingEffects(rooms),
    ...createServersEffects(rooms),
    ...createStaffEffects(rooms),
  };
}
