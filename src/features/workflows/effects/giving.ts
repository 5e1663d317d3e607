import { say } from "../../../kit/say.ts";
import { z } from "zod";
import type { Tx } from "../../../database/database.ts";
import type { Prisma, WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { can, type Call } from "../../../kernel/call.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { roleRef } from "../../../kernel/ids.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import { kinds } from "../kinds/kinds.ts";
import { decidePermission, type Request } from "../requests/workflows.policy.ts";
import type { WorkflowDecision } from "../requests/workflows.schema.ts";
import { Decided, Delivered, DiscordEffectInput, isAmends, mayBeDone } from "./discord-effect.ts";
import type { EffectKey, MergeInput, Use } from "./inputs.ts";
import type { Blocker, Json } from "./types.ts";

/** The rule of who gives staff roles and Discord roles. */
export type Giving = Pick<PermissionsService, "requireMayGiveStaffRole" | "requireMayGiveRole">;

/** A staff role, or a Discord role, that somebody gets. */
type Given = { userId: string } & ({ roleKey: string } | { guildId: string; roleId: string });

const mergeKey = "server.merge";

/** What is left of a change of the roster: enough to see which staff role taking it back gives. */
const RosterChange = z.object({
  user_id: z.string(),
  before: z.object({ staff_role: z.string().nullable(), ended_at: z.string().nullable() }).nullable(),
  after: z.object({ staff_role: z.string().nullable(), ended_at: z.string().nullable() }),
});
const MergerChange = z.object({ roster: z.array(z.unknown()) });
/** What is left of a ruling on an appeal that overturned approvals. */
const Overturned = z.object({ parts: z.array(z.object({ what: z.string(), undo: z.unknown() })) });
const Reversed = z.object({ request_id: z.string() });

export interface LaterGivingDeps {
  access: Pick<AccessDirectory, "of" | "roleAt">;
  permissions: Giving;
}

/** The rule of who gives roles, for what was decided earlier and is done now. */
export function createLaterGiving({ access, permissions }: LaterGivingDeps) {
  /** What an effect that waits gives when it is done. A role that is given back counts only once it stands for another staff role. */
  function givenNow(request: Request, row: WorkflowEffect): Given[] {
    if (row.key === mergeKey) return givenByApproval(request, mergeKey);
    const { discord, staffRole } = DiscordEffectInput.safeParse(row.input).data ?? {};
    if (discord?.kind !== "role_add") return [];
    if (!isAmends(row)) return [discord];
    const present = access.roleAt(roleRef(discord.guildId, discord.roleId))?.key;
    return staffRole === undefined || present === undefined || present === staffRole ? [] : [discord];
  }

  return {
    /**
     * Why a role that was decided to be given is not given now; null: nothing is in the way. The rule is asked again of the person who decided
     * it, or who had it tried again since: they may have lost the right, and the role may have gained permissions.
     */
    whyNotGiven(request: Request, row: WorkflowEffect): string | null {
      const given = givenNow(request, row);
      if (given.length === 0) return null;
      const { by, permission } = decidedOf(request, row);
      const actor = access.of(by);
      const call: Call = { client: null, actor, via: "job", requestId: request.id, idempotency: null, replayed: false };
      const isAllowed = actor.isStaff && can(call, permission as PermissionKey) && givingBlockers(permissions, call, given).length === 0;
      if (isAllowed) return null;
      return row.key === mergeKey ? say("workflows.the-person-who-approved-it-may-no") : say("workflows.the-person-who-decided-it-may-no");
    },
  };
}

/** Who answers for an effect; of one that an earlier version left, whoever made the decision that stands. */
function decidedOf({ type, decision }: Request, row: WorkflowEffect): Decided {
  const kept = Decided.safeParse((row.input as Record<string, unknown> | null)?.["decided"]);
  if (kept.success) return kept.data;
  const { by = "", reversal } = (decision as WorkflowDecision | null) ?? {};
  if (isAmends(row)) return { by: reversal?.by ?? by, permission: `workflows.${type}.reverse` };
  return { by, permission: decidePermission(type as WorkflowKind) };
}

/** What is stored of an effect that is tried again by somebody, who answers for the roles it gives from then on. */
export function decidedAgain(row: WorkflowEffect, decided: Decided): { input?: Json } {
  const isGiving = row.key === mergeKey || DiscordEffectInput.safeParse(row.input).data?.discord.kind === "role_add";
  return isGiving ? { input: { ...(row.input as Json), decided } } : {};
}

/** Why the caller may not give these roles, each reason once. */
export function givingBlockers({ requireMayGiveStaffRole, requireMayGiveRole }: Giving, call: Call, given: readonly Given[]): Blocker[] {
  const found = new Map<string, Blocker>();
  for (const one of given) {
    const refusal = refusalOf(() =>
      "roleKey" in one ? requireMayGiveStaffRole(call, one.roleKey, one) : requireMayGiveRole(call, one, one),
    );
    if (refusal !== null) found.set(refusal.detail, refusal);
  }
  return [...found.values()];
}

/** Why the caller may not take an approval back: roles that it took would be given again. */
export async function reversalBlockers(giving: Giving, tx: Tx, effects: readonly WorkflowEffect[]): Promise<Blocker[]> {
  const given = effects.filter((row) => !isAmends(row)).flatMap(givenBack);
  for (const id of effects.flatMap(overturnedBy)) {
    const request = await tx.db.workflowRequest.findUnique({ where: { id }, select: { type: true, payload: true } });
    if (request !== null) given.push(...givenByApproval(request));
  }
  return givingBlockers(giving, tx.call, given);
}

/** The roles that approving a request gives. @param only by this effect */
function givenByApproval({ type, payload }: { type: string; payload: Prisma.JsonValue }, only?: EffectKey): Given[] {
  const kind = kinds[type as WorkflowKind];
  const parsed = kind.payload.safeParse(jsonObject(payload));
  if (!parsed.success) return [];
  return kind.effects(parsed.data).flatMap((use) => (only === undefined || use.key === only ? givenByUse(use) : []));
}

/** The staff roles that a staff plan gives. */
export function givenByPlan({ staff_plan: plan }: Pick<MergeInput, "staff_plan">): Given[] {
  return plan.flatMap(({ user_id: userId, to_role: roleKey }) => (roleKey === "release" ? [] : [{ userId, roleKey }]));
}

function givenByUse({ key, input }: Use): Given[] {
  if (key === mergeKey) return givenByPlan(input);
  const isGiving = key === "roster.trial" || key === "roster.demote" || key === "discord.roles_add";
  if (!isGiving || !("roleKey" in input) || !("userId" in input) || typeof input.roleKey !== "string") return [];
  return [{ userId: input.userId, roleKey: input.roleKey }];
}

function givenBack(row: WorkflowEffect): Given[] {
  const { data } = DiscordEffectInput.safeParse(row.input);
  if (data?.discord.kind === "role_remove") {
    const isDone = row.status === "done" && Delivered.safeParse(row.undo).data?.changed === true;
    return isDone || mayBeDone(row) ? [data.discord] : [];
  }
  if (row.status !== "done") return [];
  const merger = MergerChange.safeParse(row.undo);
  return (merger.success ? merger.data.roster : [row.undo]).flatMap(staffRoleBefore);
}

function staffRoleBefore(undo: unknown): Given[] {
  const { data } = RosterChange.safeParse(undo);
  const role = data?.before?.staff_role ?? null;
  if (data === undefined || role === null) return [];
  const isBack = data.before?.ended_at === null && data.after.ended_at !== null;
  return isBack || role !== data.after.staff_role ? [{ userId: data.user_id, roleKey: role }] : [];
}

/** The requests whose approval a ruling took back, and which taking the ruling back puts in force again. */
function overturnedBy({ status, undo }: WorkflowEffect): string[] {
  if (status !== "done") return [];
  const parts = Overturned.safeParse(undo).data?.parts ?? [];
  return parts.flatMap(({ what, undo: left }) => {
    const reversed = what === "reverse" ? Reversed.safeParse(left).data : undefined;
    return reversed === undefined ? [] : [reversed.request_id];
  });
}

function refusalOf(rule: () => void): Blocker | null {
  try {
    rule();
    return null;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { code: error.code, detail: error.said };
  }
}
