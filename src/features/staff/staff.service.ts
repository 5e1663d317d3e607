import type { Cluster } from "../../cluster/cluster.ts";
import type { Deps } from "../deps.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { toPage, withTotal, type Page, type Position } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { KeysService } from "../keys/keys.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Access, AccessDirectory } from "../permissions/access/access-directory.ts";
import type { RosterService } from "../roster/roster.service.ts";
import { createAccessAnswers, type TaggedAccess } from "./access-answers.ts";
import { createLeavesService } from "./leave.service.ts";
import { presentEntry, staffPolicy } from "./staff.policy.ts";
import { isAvailable } from "./profile/profile.policy.ts";
import { createProfilesService } from "./profile/profile.service.ts";
import { createProfileStore, emptyProfile, type ProfileRow } from "./profile/store.ts";
import { createStaffRolesService } from "./roles/roles.service.ts";
import { createRoleWatch } from "./roles/watch.ts";
import type { AccessQuery, StaffEntryView, StaffListQuery } from "./staff.schema.ts";
import { createSuspensionsService } from "./suspension/suspension.service.ts";
import { createStaffInTx } from "./in-tx.ts";

export type StaffService = ReturnType<typeof createStaffService>;

export interface StaffDeps extends Deps<"database" | "events" | "guildState" | "access" | "cursors" | "logger"> {
  audit: AuditService;
  confirmations: Pick<ConfirmationsService, "hold" | "register">;
  permissions: PermissionsService;
  keys: Pick<KeysService, "madeBy">;
  roster: Pick<RosterService, "leaveInTx">;
  clock?: Clock;
  cluster?: Pick<Cluster, "isLeader">;
}

/** Who is staff, and what they may do. */
export function createStaffService(given: StaffDeps) {
  const { database, guildState, access, permissions, cursors, clock = systemClock } = given;
  const answers = createAccessAnswers(permissions.knownPermissions, guildState, clock);
  const roster = createRoster(access);
  const profiles = createProfileStore(given);
  const deps = { ...given, clock, profiles };
  const watch = createRoleWatch(deps);
  const leaves = createLeavesService(deps);

  async function readProfiles(where: object): Promise<Profiles> {
    const rows = await database.read.staffProfile.findMany({ where });
    return new Map(rows.map((row) => [row.userId, row]));
  }

  return {
    /** The roles they hold, as configured. */
    roles: createStaffRolesService({ ...deps, watch }),
    ...createProfilesService(deps),
    ...createSuspensionsService(deps),
    ...createStaffInTx(deps),
    startLeave: leaves.startLeave,
    endLeave: leaves.endLeave,

    /**
     * What somebody may do, and why. A stranger is an answer, too. At once for everybody in memory.
     * @throws ProblemError validation_failed for a permission or guild that does not exist
     */
    access(call: Call, userId: string, query: AccessQuery = {}): TaggedAccess | Promise<TaggedAccess> {
      requirePermission(call, staffPolicy.access, { own: userId });
      const asked = answers.parse(query);
      const found = access.resolve(userId);
      return found instanceof Promise ? found.then((one) => answers.answer(one, asked)) : answers.answer(found, asked);
    },

    /** Staff by rank, then by id; former staff only when asked for. */
    async list(call: Call, query: StaffListQuery): Promise<Page<StaffEntryView>> {
      requirePermission(call, staffPolicy.list);
      const { limit, cursor } = query;
      const now = clock.now();
      const all = roster();
      const start = cursor === undefined ? 0 : indexAfter(all, cursors.decode("staff", query, cursor));
      const asked = profilesAsked(query);
      const deciding = asked === undefined ? new Map() : await readProfiles(asked);
      const found: Access[] = [];
      for (let index = start; index < all.length && found.length <= limit; index += 1) {
        const current = access.of(all[index]?.id ?? "");
        if (matches(current, query, deciding, now)) found.push(current);
      }
      const ids = found.slice(0, limit).map((one) => one.id);
      const shown = asked === undefined ? await readProfiles({ userId: { in: ids } }) : deciding;
      const present = (one: Access): StaffEntryView => {
        const { department, timezone } = shown.get(one.id) ?? emptyProfile(one.id);
        return presentEntry(one, { department, timezone, available: isAvailable(one, shown.get(one.id), now) });
      };
      const page = toPage(found, limit, present, (last) => cursors.encode("staff", query, [last.rank, last.id]));
      const meta = freshnessMeta(guildState, now);
      return withTotal({ ...page, meta }, query, () => all.filter(({ id }) => matches(access.of(id), query, deciding, now)).length);
    },

    /** Do what is due by time, and tell what could not be told before. For the job that runs each minute. */
    async expireDue(call: Call): Promise<number> {
      const due = await leaves.settleLeaves(call);
      watch.look();
      return due;
    },
    nextDue: leaves.nextDue,
  };
}

/** Everyone who is or was staff, highest rank first, then by id. */
export type Roster = readonly Access[];

/** The roster, sorted again only after something changed. */
export function createRoster(access: AccessDirectory): () => Roster {
  let roster: Roster = [];
  let version = -1;
  return () => {
    if (version !== access.version) {
      version = access.version;
      const all = access.people().map((id) => access.of(id));
      roster = all.filter((one) => one.status !== null).toSorted((a, b) => b.rank - a.rank || compareIds(a.id, b.id));
    }
    return roster;
  };
}

/** Ids are numbers written as text. */
export function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** Profiles by person, as far as a list needs them. */
export type Profiles = ReadonlyMap<string, ProfileRow>;

/** What of the profiles decides whether somebody is listed; undefined: nothing does. */
export function profilesAsked({ department, available }: StaffListQuery): { department?: string } | undefined {
  if (department !== undefined) return { department };
  return available === undefined ? undefined : {};
}

/** @param current the access as of now: a temporary entry may have ended since the roster was sorted */
export function matches(current: Access, query: StaffListQuery, profiles: Profiles, now: Date): boolean {
  const { role, level, status, q, department, available } = query;
  if (status === undefined ? current.status === "former" : current.status !== status) return false;
  if (role !== undefined && !current.held.some((one) => one.role.key === role)) return false;
  if (level !== undefined && current.level !== level) return false;
  if (department !== undefined && !profiles.has(current.id)) return false;
  if (available !== undefined && !isOfAvailability(current, available, profiles, now)) return false;
  return q === undefined || isFound(current, q.toLowerCase());
}

function isOfAvailability(current: Access, available: "true" | "false", profiles: Profiles, now: Date): boolean {
  return current.status !== "former" && isAvailable(current, profiles.get(current.id), now) === (available === "true");
}

function isFound({ id, members }: Access, q: string): boolean {
  if (id.startsWith(q)) return true;
  return members.some(({ username, globalName, nick }) =>
    [username, globalName, nick].some((name) => name?.toLowerCase().includes(q) === true),
  );
}

/** Where the entries after a position begin. */
export function indexAfter(roster: Roster, [rank, id]: Position): number {
  const found = roster.findIndex((one) => one.rank < Number(rank) || (one.rank === Number(rank) && compareIds(one.id, id) > 0));
  return found === -1 ? roster.length : found;
}

/** What a list says about the age of the guild state. */
export function freshnessMeta(guildState: Pick<GuildState, "freshness">, now: Date): { as_of: string | null; stale: boolean } {
  const { stale, asOf } = guildState.freshness();
  return { as_of: stale ? (asOf?.toISOString() ?? null) : now.toISOString(), stale };
}
