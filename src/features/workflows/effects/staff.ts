import { createChecks, type ChecksParts } from "../checks/checks.ts";
import { createCallsignEffects, type CallsignEffectParts, type CallsignKeys } from "./callsigns.ts";
import { createHoldEffects, type HoldEffectParts } from "./holds.ts";
import { createMeasureEffects, type MeasureEffectParts, type MeasureKeys } from "./measures.ts";
import { createRosterEffects, type RosterEffectParts, type RosterKeys } from "./roster.ts";
import type { SomeEffects } from "./types.ts";

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
