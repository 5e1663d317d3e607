import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import { requireAnswered, requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { isHeld, type Held } from "../../../kernel/held.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { ConfirmationsService } from "../../confirmations/confirmations.service.ts";
import type { EventsService } from "../../events/events.service.ts";
import { dangerousOf, requireRankAbove, type RequireGrants } from "../grant.ts";
import { applyEdits, editsOf, entriesAt, grantsOf, type Edit, type Wanted } from "../overrides.ts";
import type { Giving } from "../giving.ts";
import { permissionsPolicy } from "../permissions.policy.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import { auditOf, presentUser, requireOffered, userSummary, visibleUser, wantedOf } from "./users.policy.ts";
import {
  ClearUserPermissionsInput,
  HeldUserClear,
  HeldUserUpdate,
  UpdateUserPermissionsInput,
  type UserPermissionsView,
} from "./users.schema.ts";
import type { Access, Override } from "../access/access-directory.ts";
import { createUserRows } from "../user-rows.ts";

export interface UserPermissionsDeps extends Deps<"database" | "servedGuilds" | "access" | "clock"> {
  audit: AuditService;
  events: EventsService;
  confirmations: ConfirmationsService;
  requireGrants: RequireGrants;
  requireMayName: Giving["requireMayName"];
}

/** A change of somebody's entries, by the service method that asks for it. */
interface UserChange {
  action: "permissions.users.update" | "permissions.users.clear";
  userId: string;
  /** Of the person, as known before the transaction. */
  rank: number;
  /** Of a bot that Discord was asked about, as nothing of it is stored. */
  found?: Access;
  ifMatch: number | undefined;
  /** What of the request is kept if it is held. */
  input: object;
  wanted: (entries: readonly Override[]) => Wanted[];
}

/** What single people are allowed and denied besides their roles. */
export function createUserPermissions(deps: UserPermissionsDeps) {
  const { database, audit, events, confirmations, servedGuilds, access, clock, requireGrants, requireMayName } = deps;
  const userRows = createUserRows(access);

  async function apply(tx: Tx, change: UserChange): Promise<UserPermissionsView | Held> {
    const { action, userId, ifMatch, input } = change;
    const { rows, revision } = await userRows.open(tx, userId);
    const rank = Math.max(change.rank, access.of(userId).rank);
    requireRankAbove(tx.call, rank);
    requireRevision(ifMatch, revision);
    const entries = entriesAt(rows, tx.now);
    const wanted = change.wanted(entries);
    requireOffered(wanted, servedGuilds, tx.now);
    const edits = editsOf(entries, wanted);
    if (edits.length === 0) return presentUser(userId, rows, revision, tx.now);
    const grants = grantsOf(edits);
    requireGrants(tx.call, grants);
    for (const person of [access.of(userId), change.found ?? []].flat()) requireMayName(tx.call, person, edits);
    const held = await confirmations.hold(tx, {
      action,
      group: "permissions",
      permission: permissionsPolicy.changeUser,
      input: { user_id: userId, rank, if_match: revision, ...input },
      summary: userSummary(userId, edits),
      dangerous: dangerousOf(grants.map(({ key }) => key)),
      subjectUserId: userId,
      rank,
    });
    return held ?? (await write(tx, userId, rows, edits));
  }

  async function write(tx: Tx, userId: string, rows: readonly Override[], edits: readonly Edit[]): Promise<UserPermissionsView> {
    const made = { idOf: () => uuid7(tx.now.getTime()), by: tx.call.actor?.id ?? null, at: tx.now };
    const after = applyEdits(rows, edits, made);
    const revision = await userRows.save(tx, userId, after);
    const reasons = new Set(edits.map(({ wanted }) => wanted.reason));
    audit.record(tx, {
      action: "user_permissions.update",
      user: userId,
      ...(reasons.size === 1 && { reason: [...reasons].join("") }),
      before: auditOf(edits.flatMap(({ before }) => before ?? [])),
      after: edits.map(({ wanted: { key, effect, guildId, expiresAt, reason } }) => {
        return { key, effect, scope: guildId, reason, expires_at: expiresAt?.toISOString() ?? null };
      }),
      permission: permissionsPolicy.changeUser,
    });
    events.emit(tx, { type: "permission.changed", data: { user_id: userId } });
    return presentUser(userId, after.rows, revision, tx.now);
  }

  type Target = Pick<UserChange, "userId" | "rank" | "found" | "ifMatch">;
  function update(target: Target, input: UpdateUserPermissionsInput): UserChange {
    return { ...target, action: "permissions.users.update", input, wanted: () => wantedOf(input) };
  }
  function clear(target: Target, input: { reason: string }): UserChange {
    const gone = ({ permission: key, guildId }: Override): Wanted => {
      return { key, effect: "clear", guildId, expiresAt: null, reason: input.reason };
    };
    return { ...target, action: "permissions.users.clear", input, wanted: (entries) => entries.map(gone) };
  }

  confirmations.register("permissions.users.update", (tx, held) => {
    requireWrite(tx.call, permissionsPolicy.changeUser);
    const { user_id: userId, rank, if_match: ifMatch, overrides } = HeldUserUpdate.parse(held);
    return apply(tx, update({ userId, rank, ifMatch }, { overrides }));
  });
  confirmations.register("permissions.users.clear", (tx, held) => {
    requireWrite(tx.call, permissionsPolicy.changeUser);
    const { user_id: userId, rank, if_match: ifMatch, reason } = HeldUserClear.parse(held);
    return apply(tx, clear({ userId, rank, ifMatch }, { reason }));
  });

  /** People who are not stored are looked up before the transaction, which waits for nobody. */
  async function change(call: Call, userId: string, ifMatch: number | undefined, of: (target: Target) => UserChange) {
    const target = await access.resolve(userId);
    requireAnswered(target);
    const { rank } = target;
    const answer = await database.write(call, (tx) => apply(tx, of({ userId, rank, found: target, ifMatch })));
    return isHeld(answer) ? answer : visibleUser(call, answer);
  }

  return {
    /** What somebody is allowed and denied besides their roles; somebody without entries is an answer, too. */
    async user(call: Call, userId: string): Promise<UserPermissionsView> {
      requirePermission(call, permissionsPolicy.user, { own: userId });
      // Entries newer than the revision fail a later If-Match; older ones would pass it.
      const set = await database.read.userPermissionSet.findUnique({ where: { userId } });
      const rows = await access.readOverrides(database.read, userId);
      return visibleUser(call, presentUser(userId, rows, set?.revision ?? 0, clock.now()));
    },

    /**
     * Set or clear entries of somebody below the caller; entries that are not named stay.
     * @throws ProblemError validation_failed, hierarchy_violation, precondition_failed, cannot_grant_unheld
     */
    async updateUser(call: Call, userId: string, given: UpdateUserPermissionsInput, ifMatch?: number): Promise<UserPermissionsView | Held> {
      requireWrite(call, permissionsPolicy.changeUser);
      const input = UpdateUserPermissionsInput.parse(given);
      return await change(call, userId, ifMatch, (target) => update(target, input));
    },

    /**
     * Clear every entry of somebody below the caller; a suspension is none of them.
     * @throws ProblemError as `updateUser`
     */
    async clearUser(
      call: Call,
      userId: string,
      given: { reason?: string | undefined },
      ifMatch?: number,
    ): Promise<UserPermissionsView | Held> {
      requireWrite(call, permissionsPolicy.changeUser);
      const input = ClearUserPermissionsInput.parse(given, { reportInput: true });
      return await change(call, userId, ifMatch, (target) => clear(target, input));
    },
  };
}
