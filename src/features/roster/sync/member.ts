import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { compare, stateOf, type Known, type Difference, type SyncField } from "./compare.ts";
import type { RosterEntry } from "../../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, unanswered, type Call } from "../../../kernel/call.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { Conflicts } from "../../links/conflicts.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { RosterService } from "../roster.service.ts";
import { highestOf, shownOf, stepsFor, storedOf, type Following, type Shown } from "./diff.ts";
import type { People } from "./people.ts";
import { presentPerson, rankOfPerson, syncPolicy } from "./sync.policy.ts";
import { SyncMemberInput, type SyncChange, type SyncMemberView } from "./sync.schema.ts";
import type { ToDiscord } from "./to-discord.ts";

export interface MemberDeps extends Deps<"database" | "guildState" | "access" | "clock"> {
  permissions: Pick<PermissionsService, "requireRankAbove">;
  roster: Pick<RosterService, "records" | "find">;
  conflicts: Pick<Conflicts, "requireNoOtherOwn">;
}

/** Compares one person, or brings one side in line with the other. */
export function createSyncMember(deps: MemberDeps, people: People, out: ToDiscord) {
  const { database, guildState, access, permissions, roster, conflicts, clock } = deps;

  function viewOf(
    { person, input }: Known,
    entry: RosterEntry | null,
    changes: SyncChange[],
    warnings: readonly string[] = [],
  ): SyncMemberView {
    return {
      user: presentPerson(person),
      direction: input.direction,
      dry_run: input.dry_run,
      state: stateOf(entry),
      in_sync: changes.length === 0,
      changes,
      warnings: [...(person.members.length === 0 ? [say("roster.discord-shows-nothing-of-this-person")] : []), ...warnings],
      stale: !people.isKnown(),
    };
  }

  /** The changes of the roster, and what makes them. @throws ProblemError hierarchy_violation */
  function rosterChanges(call: Call, { person, shown, input }: Known, entry: RosterEntry | null, at: Date): RosterChanges {
    const rows = compare(entry, shown, person, people.rankOf);
    const isAsked = (field: SyncField): boolean => input.apply?.includes(field) ?? true;
    const wanted = rows.filter(({ field, reason }) => reason === null && isAsked(field));
    const isDone = !input.dry_run && wanted.length > 0;
    const changes = rows.map((row) => inwardChange(row, wanted.includes(row), isDone, isAsked(row.field)));
    const following = wanted.length === 0 || shown === null ? null : followingOf(entry, shown, wanted, at);
    if (following !== null) permissions.requireRankAbove(call, rankOfPerson(access, person.id, entry, following.steps));
    return { changes, following };
  }

  function followingOf(entry: RosterEntry | null, shown: Shown, wanted: readonly Difference[], at: Date): Following | null {
    if (entry === null) return stepsFor(null, shown, people.rankOf, at);
    const stored = storedOf(entry);
    const isWanted = (field: SyncField): boolean => wanted.some((row) => row.field === field);
    const merged: Shown = {
      in_guild: isWanted("in_guild") ? shown.in_guild : stored.in_guild,
      held_roles: isWanted("held_roles") ? shown.held_roles : (stored.held_roles ?? shown.held_roles),
      nickname: isWanted("nickname") ? shown.nickname : stored.nickname,
    };
    const staffRole = isWanted("staff_role") ? highestOf(shown.held_roles, people.rankOf) : entry.staffRole;
    return stepsFor(entry, merged, people.rankOf, at, { staffRole });
  }

  async function fromDiscord(call: Call, known: Known): Promise<SyncMemberView> {
    const userId = known.person.id;
    if (!people.isKnown()) throw new ProblemError("roster_stale", { retryAfter: 30 });
    return await database.write(call, async (tx) => {
      await roster.records.lock(tx, userId);
      const entry = await roster.find(tx.db, userId);
      const { changes, following } = rosterChanges(call, known, entry, tx.now);
      const [first, ...more] = following?.steps ?? [];
      if (following === null) return viewOf(known, entry, changes);
      const note = { causeReference: null, source: "discord", permission: syncPolicy.member, reason: known.input.reason } as const;
      if (first !== undefined) {
        const written = await roster.records.write(tx, { userId, entry }, [first, ...more], note, { extras: following.extras });
        return viewOf(known, written, changes);
      }
      if (entry !== null) await tx.db.rosterEntry.update({ where: { id: entry.id }, data: following.extras });
      return viewOf(known, entry, changes);
    });
  }

  return {
    /**
     * Compare one person, or bring the roster in line with Discord, or Discord with the roster. A report and a dry run write nothing.
     * @throws ProblemError permission_denied, acting_user_required, validation_failed, conflict_of_interest, hierarchy_violation, roster_stale
     */
    async member(call: Call, given: unknown): Promise<SyncMemberView> {
      requirePermission(call, syncPolicy.member);
      const input = SyncMemberInput.parse(given);
      const isWrite = input.direction !== "report" && !input.dry_run;
      if (isWrite) requireWrite(call, syncPolicy.member);
      const replay = isWrite ? await database.findReplay(call) : undefined;
      if (replay !== undefined) return replay.value as SyncMemberView;
      const person = await access.resolve(input.discord_user_id);
      if (person.isUnanswered) throw unanswered();
      if (input.direction !== "report") await conflicts.requireNoOtherOwn(database.read, call, person.id);
      const known: Known = { person, shown: shownOf(person, guildState.guilds()), input };
      if (isWrite && input.direction === "from_discord") return await fromDiscord(call, known);
      const entry = await roster.find(database.read, person.id);
      if (input.direction === "to_discord") return await out.toDiscord(call, known, entry, (...answer) => viewOf(known, entry, ...answer));
      if (input.direction === "from_discord") return viewOf(known, entry, rosterChanges(call, known, entry, clock.now()).changes);
      const rows = compare(entry, known.shown, person, people.rankOf);
      return viewOf(
        known,
        entry,
        rows.map((row) => ({ ...row, action: "none", applied: false })),
      );
    },
  };
}

interface RosterChanges {
  changes: SyncChange[];
  following: Following | null;
}

function inwardChange({ field, discord, roster, reason }: Difference, isWanted: boolean, isDone: boolean, isAsked: boolean): SyncChange {
  const action = field === "entry" ? "create_entry" : "set_roster";
  if (isWanted) return { field, discord, roster, action, applied: isDone, reason: null };
  return { field, discord, roster, action: "none", applied: false, reason: isAsked ? reason : say("roster.not-asked-for") };
}
