import { say, term } from "../../../kit/say.ts";
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
import { shownOf, storedOf, type Shown, type Stored, nameOf, presentIn } from "./diff.ts";
import type { People } from "./people.ts";
import { rankOfPerson, syncPolicy } from "./sync.policy.ts";
import type { SyncChange, SyncMemberView, SyncMemberInput } from "./sync.schema.ts";
import type { GuildInfo, MemberState } from "../../../discord/guild-state.ts";
import { roleRef } from "../../../kernel/ids.ts";
import type { Access, StaffRoleRecord } from "../../permissions/access/access-directory.ts";
import { isHalted, isLive } from "../states.ts";
import { nicknameFor } from "../../../kernel/nickname.ts";

/** What the bot is asked to do about a member. */
type Wish = { kind: "role_add" | "role_remove"; guildId: string; roleId: string } | { kind: "nickname"; guildId: string; nickname: string };

/** One difference, and what puts it right in Discord; without a wish `reason` says why not. */
interface DiscordChange {
  change: SyncChange;
  wish: Wish | null;
}

/** What the roster says of somebody, and what Discord shows. */
interface DiscordFacts {
  entry: RosterEntry;
  person: Pick<Access, "members" | "held" | "isOwner">;
  guilds: readonly GuildInfo[];
  /** The staff role of the entry as it is configured. */
  role: StaffRoleRecord | undefined;
  /** Their callsign, with how nicknames of its pool are written. */
  callsign: { template: string; callsign: string } | null;
  apply: SyncMemberInput["apply"];
}

const ownersKeep = say("roster.an-owners-roles-are-not-taken-away");

/** What makes Discord what the roster says: roles are given before others are taken, and none that is not mapped is touched. */
function discordChangesOf(facts: DiscordFacts): { changes: DiscordChange[]; warnings: string[] } {
  const { entry, role, apply } = facts;
  const warnings: string[] = [];
  const asksRoles = apply?.some((field) => field === "held_roles" || field === "staff_role") ?? false;
  const touchesRoles = asksRoles || (apply === undefined && !isHalted(entry));
  const members = presentIn(facts.person.members, facts.guilds);
  const changes: DiscordChange[] = [];
  if (isLive(entry) && role === undefined) warnings.push(say("roster.the-entry-names-no-staff-role-that"));
  else if (touchesRoles) changes.push(...(isLive(entry) && role !== undefined ? given(facts, role, members) : []), ...taken(facts));
  else if (isHalted(entry)) warnings.push(say("roster.the-entry-is-roles-are-left-as", { status: term(entry.status) }));
  if (isLive(entry) && (apply?.includes("nickname") ?? true)) changes.push(...named(facts, members));
  if (members.length === 0) warnings.push(say("roster.the-person-is-in-none-of-the"));
  return { changes, warnings };
}

/** One of the mapped roles in every server in which the staff role is mapped and they hold none of them. */
function given({ entry }: DiscordFacts, role: StaffRoleRecord, members: readonly MemberState[]): DiscordChange[] {
  return members.flatMap(({ guildId, roleIds }) => {
    const mapped = role.discord.filter((one) => one.guildId === guildId);
    const [first] = mapped;
    if (first === undefined || mapped.some(({ roleId }) => roleIds.includes(roleId))) return [];
    const { roleId } = first;
    const change = { ...changeOf(guildId, roleId), discord: null, roster: entry.staffRole, action: "add_role" } as const;
    return [{ change, wish: { kind: "role_add", guildId, roleId } as const }];
  });
}

/** The mapped roles they hold that stand above their staff role: those at or below it are theirs as well. After leaving, every one. */
function taken({ entry, person, role }: DiscordFacts): DiscordChange[] {
  const own = isLive(entry) ? role : undefined;
  const keeps = own?.key;
  return person.held.flatMap(({ role: held, refs }) => {
    if (own !== undefined && held.rank <= own.rank) return [];
    const isKept = person.isOwner || held.level === "owner";
    return refs.map((ref): DiscordChange => {
      const [guildId = "", roleId = ""] = ref.split(":");
      const change = { ...changeOf(guildId, roleId), discord: held.key, roster: keeps ?? null, action: "remove_role" } as const;
      if (isKept) return { change: { ...change, reason: ownersKeep }, wish: null };
      return { change, wish: { kind: "role_remove", guildId, roleId } };
    });
  });
}

function named({ callsign, role }: DiscordFacts, members: readonly MemberState[]): DiscordChange[] {
  if (callsign === null || role === undefined) return [];
  const mapped = new Set(role.discord.map(({ guildId }) => guildId));
  return members.flatMap((member): DiscordChange[] => {
    const { guildId } = member;
    const nickname = nicknameFor(callsign.template, callsign.callsign, nameOf(member));
    if (!mapped.has(guildId) || nickname === nameOf(member)) return [];
    const change = { field: "nickname", discord: nameOf(member), roster: nickname, action: "set_nickname", guild_id: guildId } as const;
    return [{ change: { ...change, applied: false, reason: null }, wish: { kind: "nickname", guildId, nickname } }];
  });
}

function changeOf(guildId: string, roleId: string) {
  return { field: "held_roles", guild_id: guildId, role_id: roleId, applied: false, reason: null } as const;
}

/** The memberships as they are once these were done. */
function afterwards(members: readonly MemberState[], wishes: readonly Wish[]): MemberState[] {
  return members.map((member) => wishes.filter(({ guildId }) => guildId === member.guildId).reduce(done, member));
}

function done(member: MemberState, wish: Wish): MemberState {
  if (wish.kind === "nickname") return { ...member, nick: wish.nickname };
  const others = member.roleIds.filter((roleId) => roleId !== wish.roleId);
  return { ...member, roleIds: wish.kind === "role_add" ? [...others, wish.roleId] : others };
}

/** The staff roles that memberships give. */
function heldBy(members: readonly MemberState[], roles: readonly StaffRoleRecord[]): Access["held"] {
  const refs = new Set(members.flatMap(({ guildId, roleIds }) => roleIds.map((roleId) => roleRef(guildId, roleId))));
  return roles.flatMap((role) => {
    const found = role.discord.map(({ guildId, roleId }) => roleRef(guildId, roleId)).filter((ref) => refs.has(ref));
    return found.length === 0 ? [] : [{ role, refs: found }];
  });
}

export interface ToDiscordDeps extends Deps<"database" | "audit" | "events" | "guildState" | "access"> {
  permissions: Pick<PermissionsService, "requireRankAbove" | "requireMayGiveRole">;
  roster: Pick<RosterService, "records" | "find" | "lines">;
  discordActions: Pick<DiscordActions, "perform">;
}

export interface ToDiscord {
  /**
   * One action after the other, and then what was done is written down; nothing is written where nothing was done.
   * @throws ProblemError permission_denied where the caller may not in one of the servers, hierarchy_violation, cannot_grant_unheld,
   * roster_stale
   */
  toDiscord(call: Call, known: Known, entry: RosterEntry | null, present: Present): Promise<SyncMemberView>;
}

const unreachable: Performed = { outcome: "retry", detail: say("discord.discord-could-not-be-reached"), mayBeDone: false };

/** Who could not be given the role of the roster is not left without any. */
const keptFor = say("roster.the-role-of-the-roster-could-not");

/** Makes Discord what the roster says of one person. */
export function createToDiscord(deps: ToDiscordDeps, people: People): ToDiscord {
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
