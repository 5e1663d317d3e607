import type { AppealEffectParts } from "./effects.appeal.ts";
import { createAppealEffects } from "./effects.appeal.ts";
import type { CasesEffectParts } from "./effects.cases.ts";
import { createCasesEffects } from "./effects.cases.ts";
import type { DiscordEffectParts } from "./effects.discord.ts";
import { createDiscordEffects } from "./effects.discord.ts";
import type { ListingEffectParts } from "./effects.listing.ts";
import { createListingEffects } from "./effects.listing.ts";
import type { ServersEffectParts } from "./effects.servers.ts";
import { createServersEffects } from "./effects.servers.ts";
import type { StaffEffectParts } from "./effects.staff.ts";
import { createStaffEffects } from "./effects.staff.ts";
import type { EffectTable } from "./effects.types.ts";

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
