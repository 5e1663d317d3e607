import { say } from "../../../kit/say.ts";
import { createHash } from "node:crypto";
import { z } from "zod";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { CallsignsService } from "../../callsigns/callsigns.service.ts";
import type { RosterStatus } from "../../roster/states.ts";
import type { RosterService } from "../../roster/roster.service.ts";
import type { MergeFacts } from "../../servers/merges.ts";
import type { RegistryService } from "../../servers/servers.service.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import { givenByPlan, givingBlockers, type Giving } from "./giving.ts";
import type { MergeInput } from "./inputs.ts";
import type { Approval, Blocker, Done, Due, Json, Reversal, SomeEffects } from "./types.ts";
import type { Undone } from "../../../kernel/undo.ts";

type Move = MergeInput["staff_plan"][number];

export interface MergeEffectDeps {
  registry: RegistryService;
  roster: RosterService;
  callsigns: CallsignsService;
  staff: Pick<StaffService, "staffRoleOf">;
  permissions: Giving;
}

const Plan = z.object({ hash: z.string() });
const MergeUndo = z.object({ merge: z.unknown(), agreements: z.unknown(), roster: z.array(z.unknown()), callsigns: z.array(z.unknown()) });
const day = 86_400_000;
/** How long a merger can be taken back after it was carried out. */
const undoableFor = 30 * day;

/** A merger is planned when it is approved, and carried out at its date if nothing it depends on has changed. */
export function createMergeEffects(parts: MergeEffectDeps): SomeEffects<"merge.plan" | "server.merge"> {
  const { registry } = parts;
  const planOf = ({ tx }: Pick<Approval, "tx">, input: MergeInput): Promise<MergeFacts> =>
    registry.mergeFacts(tx.db, input.source_server_id, input.target_server_id, new Date(input.effective_at));

  return {
    "merge.plan": {
      preview: say("workflows.the-plan-of-the-merger-is-frozen"),
      async check(approval, input) {
        const blockers = [...(await blockersOf(approval.tx, input)), ...(await otherRoles(parts, approval.tx, input))];
        return [...blockers, ...givingBlockers(parts.permissions, approval.tx.call, givenByPlan(input))];
      },
      async apply(approval, input) {
        const hash = hashOf(await planOf(approval, input));
        return [{ status: "done", detail: say("workflows.the-plan-was-frozen-as", { hash: hash.slice(0, 12) }), memo: hash }];
      },
      undo: () => Promise.resolve({ restored: true, detail: say("workflows.the-plan-was-given-up") }),
    },
    "server.merge": {
      preview: ({ effective_at: at }) => say("workflows.at-the-source-becomes-part-of-the", { at }),
      apply({ actorId: by, permission }, { effective_at: at }, earlier): Promise<Done[]> {
        const hash = String(earlier.find(({ key }) => key === "merge.plan")?.memo);
        const input = { hash, decided: { by, permission } };
        return Promise.resolve([
          { status: "pending", detail: say("workflows.the-servers-are-merged-at", { at }), input, dueAt: new Date(at) },
        ]);
      },
      async run(due, { input: plan }, input) {
        if (hashOf(await planOf(due, input)) !== Plan.parse(plan).hash)
          throw new ProblemError("invalid_transition", {
            detail: say("workflows.the-servers-or-their-agreements-changed-since"),
          });
        return await carryOut(parts, due, input);
      },
      undo: (reversal, effect) => takeBack(parts, reversal, effect),
    },
  };
}

/** Both owners have to consent; who they are is what the register says, where it does. */
async function blockersOf({ db }: Approval["tx"], payload: MergeInput): Promise<Blocker[]> {
  const blockers: Blocker[] = [];
  for (const id of [payload.source_server_id, payload.target_server_id]) {
    const server = await db.server.findFirst({
      where: { OR: [{ id }, { aliases: { some: { aliasId: id } } }] },
      select: { ownerUserId: true },
    });
    const owner = server?.ownerUserId ?? null;
    const isConsented = payload.owner_consents.some((consent) => consent.server_id === id && (owner === null || consent.user_id === owner));
    if (!isConsented)
      blockers.push({
        code: "owner_consent_missing",
        detail: say("workflows.the-owner-of-server-has-not-consented", { id }),
        isWaivable: true,
      });
  }
  return blockers;
}

/** People of the plan who no longer have the staff role it moves them from. */
async function otherRoles({ roster }: MergeEffectDeps, { db }: Approval["tx"], { staff_plan: plan }: MergeInput): Promise<Blocker[]> {
  const blockers: Blocker[] = [];
  for (const { user_id: userId, from_role: role } of plan) {
    if (role === undefined || (await roster.find(db, userId))?.staffRole === role) continue;
    blockers.push({
      code: "staff_plan_differs",
      detail: say("workflows.the-user-does-not-have-the-staff", { id: userId, role }),
      isWaivable: true,
    });
  }
  return blockers;
}

function hashOf(facts: MergeFacts): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex");
}

async function carryOut(parts: MergeEffectDeps, due: Due, input: MergeInput): Promise<Done> {
  const { registry } = parts;
  const { tx, request, permission } = due;
  const { source_server_id: sourceId, target_server_id: targetId, staff_plan: staffPlan } = input;
  const note = { permission, reason: `Approval of ${request.reference}` };
  // The register before the agreements: in the order in which everybody else takes them.
  const { undo: merge } = await registry.mergeInTx(tx, { sourceId, targetId, permission, causeReference: request.reference });
  const { undo: agreements } = await registry.repointAgreementsInTx(tx, sourceId, targetId, note);
  const roster: unknown[] = [];
  const callsigns: unknown[] = [];
  for (const move of staffPlan) {
    const moved = await moveStaff(parts, due, { ...move, renumbers: input.callsign_policy === "renumber" });
    roster.push(...moved.roster);
    callsigns.push(...moved.callsigns);
  }
  const undo = { merge, agreements, roster, callsigns } as unknown as Json;
  const detail = say("workflows.the-servers-were-merged-of-staff-members", { moved: roster.length, all: staffPlan.length });
  return { status: "done", target: { kind: "server", id: sourceId }, detail, undo };
}

/** Somebody of the plan gets the new role, or leaves; anyone who is not on the roster stays off it. */
async function moveStaff(
  { roster, callsigns, staff }: MergeEffectDeps,
  { tx, request, permission }: Due,
  move: Move & { renumbers: boolean },
) {
  const { user_id: userId, to_role: role, renumbers } = move;
  const isReleased = role === "release";
  const note = { causeReference: request.reference, permission, reason: `Merger of servers, ${request.reference}` };
  const entry = await roster.find(tx.db, userId);
  const wanted = isReleased ? { to: "transferred" as const } : { to: entry?.status as RosterStatus | undefined, staffRole: role };
  const moved = await roster.moveInTx(tx, userId, { ...wanted, event: "transferred", ...note });
  if ("skipped" in moved) return { roster: [], callsigns: [] };
  const undos: unknown[] = [];
  const pool = isReleased ? null : (staff.staffRoleOf(role)?.callsignPool ?? null);
  const isRenumbered = renumbers && pool !== null && (await callsigns.knowsPool(tx.db, pool));
  if (isReleased || isRenumbered) undos.push((await callsigns.holdAllInTx(tx, userId, note)).undo);
  if (isRenumbered) undos.push((await callsigns.allocateInTx(tx, { pool, userId, roleKey: role, ...note })).undo);
  return { roster: [moved.undo], callsigns: undos };
}

async function takeBack({ registry, roster, callsigns }: MergeEffectDeps, reversal: Reversal, row: WorkflowEffect): Promise<Undone> {
  const { tx, reason, permission, request } = reversal;
  if (tx.now.getTime() - row.updatedAt.getTime() > undoableFor)
    throw new ProblemError("invalid_transition", {
      detail: say("workflows.the-merger-was-carried-out-more-than"),
      extra: { from: "approved", action: "reverse", allowed: [] },
    });
  const undo = MergeUndo.parse(row.undo);
  const note = { reason, permission };
  const told = { ...note, causeReference: request.reference };
  const results: Undone[] = [];
  for (const one of undo.roster.toReversed()) results.push(await roster.undoInTx(tx, one, told));
  for (const one of undo.callsigns.toReversed()) results.push(await callsigns.undoInTx(tx, one, told));
  results.push(await registry.undoMergeInTx(tx, undo.merge, note), await registry.undoRepointInTx(tx, undo.agreements, note));
  const kept = results.filter(({ restored }) => !restored);
  return {
    restored: kept.length === 0,
    detail: kept.length === 0 ? say("workflows.the-servers-stand-for-themselves-again") : kept.map(({ detail }) => detail).join(" "),
  };
}
