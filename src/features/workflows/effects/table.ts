import { createAppealEffects, type AppealEffectParts } from "./appeal.ts";
import { createCasesEffects, type CasesEffectParts } from "./cases.ts";
import { createDiscordEffects, type DiscordEffectParts } from "./discord.ts";
import { createListingEffects, type ListingEffectParts } from "./listing.ts";
import { createServersEffects, type ServersEffectParts } from "./servers.ts";
import { createStaffEffects, type StaffEffectParts } from "./staff.ts";
import type { EffectTable } from "./types.ts";

/** The rooms whose verbs the effects call. */
export type EffectRooms = AppealEffectParts &
  CasesEffectParts &
  DiscordEffectParts &
  ListingEffectParts &
  ServersEffectParts &
  StaffEffectParts;

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
