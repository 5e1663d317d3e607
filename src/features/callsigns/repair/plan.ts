import { say } from "../../../kit/say.ts";
import { hash } from "node:crypto";
import type { CallsignSlot } from "../../../generated/sqlite/client.ts";
import { checks, type Check } from "./checks.ts";
import { createDraft, type Draft, type DraftDeps, type DraftStep, type Found } from "./draft.ts";
import { repairCodes, type Finding, type RepairCode, type RepairStep, type RepairView, type Unfixable } from "./repair.schema.ts";

/** What is asked for. */
export interface Scope {
  /** One pool; null: every pool. */
  pool: string | null;
  fix: readonly RepairCode[];
}

export interface Limits {
  findings: number;
  steps: number;
}

/** What an answer holds, and one transaction does, at most. */
export const usualLimits: Limits = { findings: 5000, steps: 1000 };

type Told = "plan_hash" | "findings" | "unfixable" | "not_looked_for" | "left_off" | "summary";

/** A plan, and how the registry stands when it is carried out. */
export type Plan = Pick<RepairView, Told> & {
  steps: readonly DraftStep[];
  draft: Draft;
};

/**
 * Look for damage, and plan what puts it right: in one order, no matter who asks, and in slices, so that others have their turn.
 */
export async function makePlan(parts: DraftDeps, scope: Scope, limits: Limits): Promise<Plan> {
  const draft = await createDraft(parts);
  const findings: Finding[] = [];
  const unfixable: Unfixable[] = [];
  const counts = new Map<RepairCode, number>();
  const leftOff = { findings: 0, steps: 0 };

  function planFinding({ code, severity, plan }: Check, found: Found): void {
    counts.set(code, (counts.get(code) ?? 0) + 1);
    const { slot: _, ...rest } = found;
    const finding = { code, severity, ...rest };
    const isListed = findings.length < limits.findings;
    if (isListed) findings.push(finding);
    else leftOff.findings += 1;
    if (!scope.fix.includes(code)) return;
    // A number that moves takes two steps.
    if (!isListed || draft.steps.length + 2 > limits.steps) leftOff.steps += 1;
    else {
      const why = plan(draft, found);
      if (why !== undefined) unfixable.push({ ...finding, why });
    }
  }

  const looking = checks.filter(({ needsGuilds }) => needsGuilds !== true || parts.presence.isComplete);
  for (const check of looking) {
    for (const found of await all(check.find(draft))) {
      if (scope.pool === null || found.pool === scope.pool) planFinding(check, found);
    }
  }
  const looked = new Set(looking.map(({ code }) => code));
  const why = say("callsigns.what-is-known-of-the-guilds-is");
  const steps = draft.steps.toSorted((one, other) => one.phase - other.phase);
  return {
    draft,
    steps,
    findings,
    unfixable,
    not_looked_for: repairCodes.filter((code) => !looked.has(code)).map((code) => ({ code, why })),
    left_off: leftOff,
    summary: Object.fromEntries(repairCodes.flatMap((code) => (counts.has(code) ? [[code, counts.get(code) ?? 0]] : []))),
    plan_hash: hashOf(parts, scope, draft, steps),
  };
}

/** The steps as they are told. */
export function presentSteps(steps: readonly DraftStep[]): RepairStep[] {
  return steps.map(({ phase: _phase, slotId: _slotId, ...step }, index) => ({ position: index + 1, ...step }));
}

/** Changes with the plan, and with every record that it was made from. */
function hashOf({ registry }: DraftDeps, { pool, fix }: Scope, { slots }: Draft, steps: readonly DraftStep[]): string {
  const ids = new Set(steps.map(({ slotId }) => slotId));
  const users = new Set(slots.flatMap(({ id, userId }) => (ids.has(id) && userId !== null ? [userId] : [])));
  const from = {
    pools: [...registry.pools.values()].map(({ key, revision }) => [key, revision]),
    slots: registry.slots.filter(({ id, userId }) => ids.has(id) || (userId !== null && users.has(userId))).map(standOf),
    entries: [...users].toSorted().map((userId) => [userId, registry.enlisted.get(userId)?.revision ?? null]),
  };
  return hash("sha256", JSON.stringify({ pool, fix: [...fix].toSorted(), steps, from }));
}

function standOf({ id, state, liveKey, holderKey, userId, callsign, revision }: CallsignSlot) {
  return [id, state, liveKey, holderKey, userId, callsign, revision];
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}
