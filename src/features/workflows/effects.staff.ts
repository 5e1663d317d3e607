import type { ChecksParts } from "./checks.ts";
import { createChecks } from "./checks.ts";
import type { CallsignEffectParts, CallsignKeys } from "./effects.callsigns.ts";
import { createCallsignEffects } from "./effects.callsigns.ts";
import type { HoldEffectParts } from "./effects.holds.ts";
import { createHoldEffects } from "./effects.holds.ts";
import type { MeasureEffectParts, MeasureKeys } from "./effects.measures.ts";
import { createMeasureEffects } from "./effects.measures.ts";
import type { RosterEffectParts, RosterKeys } from "./effects.roster.ts";
import { createRosterEffects } from "./effects.roster.ts";
import type { SomeEffects } from "./effects.types.ts";

type Keys = CallsignKeys | MeasureKeys | RosterKeys | "recruitment.hold";

export type StaffEffectParts = CallsignEffectParts & ChecksParts & HoldEffectParts & MeasureEffectParts & RosterEffectParts;

/** What approvals do to people: their place on the roster, their callsigns, their permissions, and recruitments of them. */
export function createStaffEffects(parts: StaffEffectParts): SomeEffects<Keys> {
  return {
    ...createCallsignEffects(parts),
    ...createHoldEffects(parts),
    ...createMeasureEffects(parts),
    ...createRosterEffects(parts, createChecks(parts)),
  };
}
