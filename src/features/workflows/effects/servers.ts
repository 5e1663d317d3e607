import { say, serverId } from "../../../kit/say.ts";
import type { DraftRecords } from "../drafts/records.ts";
import type { RegistryService } from "../../servers/servers.service.ts";
import { agreementDraft } from "./drafts.ts";
import type { Approval, Done, Reversal, SomeEffects, Blocker, Due, Json } from "./types.ts";
import { createHash } from "node:crypto";
import { z } from "zod";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { CallsignsService } from "../../callsigns/callsigns.service.ts";
import type { RosterStatus } from "../../roster/states.ts";
import type { RosterService } from "../../roster/roster.service.ts";
import type { MergeFacts } from "../../servers/merges.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import { givenByPlan, givingBlockers, type Giving } from "./giving.ts";
import type { MergeInput } from "./inputs.ts";
import type { Undone } from "../../../kernel/undo.ts";

type Move = MergeInput["staff_plan"][number];

interface MergeEffectDeps {
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
function createMergeEffects(parts: MergeEffectDeps): SomeEffects<"merge.plan" | "server.merge"> {
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
        detail: say("workflows.the-owner-of-server-has-not-consented", { id: serverId(id) }),
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

type Keys =
  | "agreement.create"
  | "agreements.suspend"
  | "clearance.grant"
  | "clearance.use"
  | "merge.plan"
  | "poach.incident"
  | "server.merge";

export interface ServersEffectDeps extends MergeEffectDeps {
  registry: RegistryService;
  drafts: Pick<DraftRecords, "suggestInTx" | "dismissInTx">;
}

/** From how many incidents in 180 days a server is suggested for the blacklist. */
const incidentsThatSuggest = 3;
const noteOf = ({ reason, permission }: Reversal) => ({ reason, permission });
const suggestionKey = (serverId: string): string => `poaching:${serverId}`;

/** What approvals do between servers. */
export function createServersEffects(parts: ServersEffectDeps): SomeEffects<Keys> {
  return { ...createMergeEffects(parts), ...agreementEffects(parts), ...clearanceEffects(parts), ...incidentEffects(parts) };
}

function agreementEffects({ registry }: ServersEffectDeps): SomeEffects<"agreement.create" | "agreements.suspend"> {
  return {
    "agreement.create": {
      preview: say("workflows.the-agreement-is-made-between-the-servers"),
      check: (_approval, { unsigned }) =>
        Promise.resolve(
          unsigned.map((id) => ({
            code: "signature_missing",
            detail: say("workflows.the-user-has-not-signed-the-agreement", { id }),
            isWaivable: true,
          })),
        ),
      async apply(approval, input) {
        const made = await registry.createAgreementInTx(approval.tx, agreementDraft(approval, input));
        if (made === null) {
          const detail = say("workflows.nothing-was-made-it-would-be-over");
          return [{ status: "skipped", detail }];
        }
        const detail =
          made.status === "scheduled"
            ? say("workflows.the-agreement-was-made-and-begins-at", { at: made.starts_at })
            : say("workflows.the-agreement-was-made");
        return [{ status: "done", target: { kind: "agreement", id: made.id }, detail }];
      },
      async undo(reversal, { targetId }) {
        const before = await reversal.tx.db.agreement.findUnique({ where: { id: targetId ?? "" }, select: { status: true } });
        if (before === null || before.status === "ended")
          return { restored: false, detail: say("workflows.the-agreement-had-ended-already") };
        await registry.endAgreementInTx(reversal.tx, targetId ?? "", noteOf(reversal));
        return { restored: true, detail: say("workflows.the-agreement-was-ended") };
      },
    },
    "agreements.suspend": {
      preview: say("workflows.agreements-with-the-server-are-suspended-while"),
      async apply({ tx, request, permission }, { serverIds }) {
        const note = { reference: request.reference, permission, reason: `Approval of ${request.reference}` };
        const suspended = await registry.suspendAgreementsInTx(tx, [...serverIds], note);
        if (suspended.ids.length === 0) return [{ status: "skipped", detail: say("workflows.there-is-no-agreement-with-the-server") }];
        return [
          {
            status: "done",
            detail: say("workflows.agreements-were-suspended", { count: suspended.ids.length }),
            undo: { ...suspended.undo },
          },
        ];
      },
      undo: (reversal, { undo }) => registry.undoSuspendAgreementsInTx(reversal.tx, undo, noteOf(reversal)),
    },
  };
}

function clearanceEffects({ registry }: ServersEffectDeps): SomeEffects<"clearance.grant" | "clearance.use"> {
  return {
    "clearance.grant": {
      preview: say("workflows.the-user-may-be-recruited-once-in"),
      async apply({ tx, request, permission }, input) {
        const granted = await registry.grantClearanceInTx(tx, {
          ...input,
          originReference: request.reference,
          permission,
        });
        if ("skipped" in granted) return [{ status: "skipped", detail: granted.skipped }];
        return [{ status: "done", target: { kind: "poach_clearance", id: granted.id }, detail: say("workflows.the-clearance-was-given") }];
      },
      undo: (reversal, { targetId }) => registry.revokeClearanceInTx(reversal.tx, targetId ?? "", noteOf(reversal)),
    },
    "clearance.use": {
      preview: say("workflows.a-clearance-of-the-applicant-if-there"),
      async apply({ tx, request, permission }, { userId }): Promise<Done[]> {
        const [clearance] = await registry.findClearances(tx.db, userId, tx.now);
        if (clearance === undefined) return [{ status: "skipped", detail: say("workflows.there-is-no-clearance-to-use") }];
        const used = await registry.useClearanceInTx(tx, { id: clearance.id, reference: request.reference, permission });
        if ("skipped" in used) return [{ status: "skipped", detail: used.skipped }];
        return [
          {
            status: "done",
            target: { kind: "poach_clearance", id: clearance.id },
            detail: say("workflows.the-clearance-was-used"),
            undo: used.undo,
          },
        ];
      },
      undo: (reversal, { undo }) => registry.undoUseClearanceInTx(reversal.tx, undo, noteOf(reversal)),
    },
  };
}

function incidentEffects({ registry, drafts }: ServersEffectDeps): SomeEffects<"poach.incident"> {
  async function suggest({ tx, request }: Approval, serverId: string, count: number): Promise<Done | null> {
    const draft = await drafts.suggestInTx(tx, {
      type: "blacklist-server",
      payload: {
        server_id: serverId,
        category: "poaching",
        reason: say("workflows.reports-of-poaching-in-180-days-the", { count, reference: request.reference }),
      },
      subject: { kind: "server", id: serverId },
      cause: say("workflows.reports-of-poaching-were-approved-in-180", { count }),
      causeReference: request.reference,
      openKey: suggestionKey(serverId),
    });
    const detail = say("workflows.a-request-to-blacklist-the-server-is");
    return draft === null
      ? null
      : {
          key: "draft.blacklist",
          status: "done",
          target: { kind: "request_draft", id: draft.id },
          detail,
          undo: { open_key: suggestionKey(serverId) },
        };
  }

  return {
    "poach.incident": {
      preview: say("workflows.the-incident-counts-against-the-server-for", { count: incidentsThatSuggest }),
      async apply(approval, { serverId, victimServerId, offenderIds, method, occurredAt }) {
        const { tx, request, permission } = approval;
        const { id, count, undo } = await registry.recordIncidentInTx(tx, {
          serverId,
          victimServerId,
          offenderIds,
          method,
          occurredAt: occurredAt ?? tx.now,
          originReference: request.reference,
          permission,
        });
        const detail = say("workflows.the-incident-was-recorded-count-against-the", { count });
        const suggested = count >= incidentsThatSuggest ? await suggest(approval, serverId, count) : null;
        return [{ status: "done", target: { kind: "poach_incident", id }, detail, undo }, ...(suggested === null ? [] : [suggested])];
      },
      undo: (reversal, { targetId }) => registry.voidIncidentInTx(reversal.tx, targetId ?? "", noteOf(reversal)),
    },
  };
}
