import { z } from "zod";
import type { Tx } from "../../../database/database.ts";
import type { Prisma, WorkflowEffect } from "../../../generated/sqlite/client.ts";
import type { Call } from "../../../kernel/call.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import { kinds } from "../kinds/kinds.ts";
import { Delivered, DiscordEffectInput, isAmends, mayBeDone } from "./discord-effect.ts";
import type { Use } from "./inputs.ts";
import type { Blocker } from "./types.ts";

/** The rule of who gives staff roles and Discord roles. */
export type Giving = Pick<PermissionsService, "requireMayGiveStaffRole" | "requireMayGiveRole">;

/** A staff role, or a Discord role, that somebody gets. */
type Given = { userId: string } & ({ roleKey: string } | { guildId: string; roleId: string });

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

/** The roles that approving a request gives. */
function givenByApproval({ type, payload }: { type: string; payload: Prisma.JsonValue }): Given[] {
  const kind = kinds[type as WorkflowKind];
  const parsed = kind.payload.safeParse(jsonObject(payload));
  return parsed.success ? kind.effects(parsed.data).flatMap(givenByUse) : [];
}

function givenByUse({ key, input }: Use): Given[] {
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
    return { code: error.code, detail: error.message };
  }
}
