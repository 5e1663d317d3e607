import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { Known } from "./compare.ts";
import type { Tx } from "../../../database/database.ts";
import type { DirectAction, DiscordActions } from "../../../discord-actions/discord-actions.ts";
import type { RosterEntry } from "../../../generated/sqlite/client.ts";
import { requireIn, type Call } from "../../../kernel/call.ts";
import type { Performed } from "../../../kernel/discord-port.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { RosterService } from "../roster.service.ts";
import { shownOf, storedOf, type Shown, type Stored } from "./diff.ts";
import { afterwards, heldBy, discordChangesOf, type DiscordChange, type Wish } from "./discord-changes.ts";
import type { People } from "./people.ts";
import { rankOfPerson, syncPolicy } from "./sync.policy.ts";
import type { SyncChange, SyncMemberView } from "./sync.schema.ts";

export interface ToDiscordDeps extends Deps<"database" | "audit" | "events" | "guildState" | "access"> {
  permissions: Pick<PermissionsService, "requireRankAbove" | "requireMayGiveRole">;
  roster: Pick<RosterService, "records" | "find" | "lines">;
  discordActions: Pick<DiscordActions, "perform">;
}

export type ToDiscord = ReturnType<typeof createToDiscord>;

const unreachable: Performed = { outcome: "retry", detail: say("discord.discord-could-not-be-reached"), mayBeDone: false };

/** Who could not be given the role of the roster is not left without any. */
const keptFor = say("roster.the-role-of-the-roster-could-not");

/** Makes Discord what the roster says of one person. */
export function createToDiscord(deps: ToDiscordDeps, people: People) {
  const { database, audit, events, guildState, access, permissions, roster } = deps;

  /** Their callsign of the pool of their staff role, else the one they have had longest, where nicknames show it. */
  async function callsignOf({ userId, staffRole }: RosterEntry): Promise<{ template: string; callsign: string } | null> {
    const { callsignSlot, callsignPool } = database.read;
    const slots = await callsignSlot.findMany({ where: { userId, state: "assigned" }, orderBy: [{ since: "asc" }, { id: "asc" }] });
    const pools = await callsignPool.findMany({ where: { key: { in: slots.map(({ pool }) => pool) }, nicknameTemplate: { not: null } } });
    const own = staffRole === null ? null : access.role(staffRole)?.callsignPool;
    const shown = slots.filter(({ pool }) => pools.some(({ key }) => key === pool));
    const slot = shown.find(({ pool }) => pool === own) ?? shown[0];
    const template = pools.find(({ key }) => key === slot?.pool)?.nicknameTemplate;
    return slot === undefined || typeof template !== "string" ? null : { template, callsign: slot.callsign };
  }

  async function performAll(call: Call, { person, input }: Known, changes: readonly DiscordChange[]): Promise<Carried> {
    const carried: Carried = { changes: [], done: [], isCut: false };
    const without = new Set<string>();
    for (const [index, { change, wish }] of changes.entries()) {
      const isKept = wish?.kind === "role_remove" && without.has(wish.guildId);
      if (wish === null || isKept) {
        carried.changes.push(isKept ? { ...change, reason: keptFor } : change);
        continue;
      }
      const every = {
        id: `roster-sync:${call.requestId}:${index.toString()}`,
        reason: input.reason ?? say("roster.brought-in-line-with-the-roster"),
      };
      const performed = await perform(carried.isCut, { ...wish, ...every, userId: person.id });
      const applied = performed.outcome === "done";
      carried.changes.push({ ...change, applied, reason: performed.detail });
      if (applied) carried.done.push(wish);
      else if (wish.kind === "role_add") without.add(wish.guildId);
      if (performed.outcome === "retry") carried.isCut = true;
    }
    return carried;
  }

  /** @param isCut Discord was not reached a moment ago: it is not asked again now */
  async function perform(isCut: boolean, action: DirectAction): Promise<Performed> {
    return isCut ? unreachable : await deps.discordActions.perform(action);
  }

  /** What was done, as the history and the audit keep it. */
  async function keep(tx: Tx, { person, input }: Known, done: readonly Wish[], changes: readonly SyncChange[]): Promise<void> {
    const userId = person.id;
    await roster.records.lock(tx, userId);
    const entry = await roster.find(tx.db, userId);
    if (entry === null) return;
    const members = afterwards(person.members, done);
    const shown = shownOf({ members, held: heldBy(members, access.roles()) }, guildState.guilds());
    if (shown !== null) await remember(tx, entry, shown, input.reason);
    audit.record(tx, {
      action: "roster.sync",
      target: { kind: "roster_entry", id: entry.id },
      subjectUserId: userId,
      ...(input.reason !== undefined && { reason: input.reason }),
      after: {
        changes: changes.map(({ field: _, reason: __, ...change }) => (change.action === "set_nickname" ? nameless(change) : change)),
      },
      permission: syncPolicy.member,
    });
    events.emit(tx, { type: "roster.changed", data: { user_id: userId, entry_id: entry.id, status: entry.status, event: "synced" } });
  }

  async function remember(tx: Tx, entry: RosterEntry, shown: Shown, reason: string | undefined): Promise<void> {
    const stored = storedOf(entry);
    const { held_roles, in_guild, nickname } = shown;
    const differs = (field: keyof Shown): boolean => JSON.stringify(stored[field]) !== JSON.stringify(shown[field]);
    const fields = (["held_roles", "nickname", "in_guild"] as const).filter(differs);
    const pick = (facts: Stored): object => Object.fromEntries(fields.map((field) => [field, facts[field]]));
    const line = { entryId: entry.id, userId: entry.userId, event: "synced", before: pick(stored), after: pick(shown) } as const;
    await roster.lines(tx, [line], { causeReference: null, reason });
    const data = { heldRoles: held_roles, inGuild: in_guild, nickname, syncedAt: tx.now, updatedAt: tx.now, revision: entry.revision + 1 };
    await tx.db.rosterEntry.update({ where: { id: entry.id }, data });
  }

  return {
    /**
     * One action after the other, and then what was done is written down; nothing is written where nothing was done.
     * @throws ProblemError permission_denied where the caller may not in one of the servers, hierarchy_violation, cannot_grant_unheld,
     * roster_stale
     */
    async toDiscord(call: Call, known: Known, entry: RosterEntry | null, present: Present): Promise<SyncMemberView> {
      if (entry === null) return present([], [say("roster.the-person-is-not-on-the-roster")]);
      const { person, input } = known;
      const role = entry.staffRole === null ? undefined : access.role(entry.staffRole);
      const callsign = await callsignOf(entry);
      const { changes, warnings } = discordChangesOf({ entry, person, guilds: guildState.guilds(), role, callsign, apply: input.apply });
      requireIn(call, syncPolicy.member, [...new Set(changes.flatMap(({ wish }) => wish?.guildId ?? []))]);
      if (changes.some(({ wish }) => wish !== null)) permissions.requireRankAbove(call, rankOfPerson(access, person.id, entry, []));
      for (const { wish } of changes) if (wish?.kind === "role_add") permissions.requireMayGiveRole(call, wish, { userId: person.id });
      if (input.dry_run) {
        return present(
          changes.map(({ change }) => change),
          warnings,
        );
      }
      if (!people.isKnown()) throw new ProblemError("roster_stale", { retryAfter: 30 });
      const carried = await performAll(call, known, changes);
      if (carried.isCut) warnings.push(say("roster.discord-could-not-be-reached-for-everything"));
      const view = present(carried.changes, warnings);
      if (carried.done.length === 0) return view;
      return await database.write(call, async (tx) => {
        await keep(tx, known, carried.done, carried.changes);
        return view;
      });
    },
  };
}

/** The answer made of these. */
type Present = (changes: SyncChange[], warnings: readonly string[]) => SyncMemberView;

interface Carried {
  changes: SyncChange[];
  done: Wish[];
  /** Whether Discord could not be reached: the rest was not tried. */
  isCut: boolean;
}

/** Names are no part of the audit. */
function nameless<T extends { discord: unknown; roster: unknown }>({
  discord: _,
  roster: __,
  ...change
}: T): Omit<T, "discord" | "roster"> {
  return change;
}
