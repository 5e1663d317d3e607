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
import type { Access, AccessDirectory, StaffRoleRecord } from "../permissions/access/access-directory.ts";
import type { RosterService } from "../roster/roster.service.ts";
import { createLeavesService } from "./leave.service.ts";
import { presentEntry, staffPolicy, presentAccess, type AccessContent } from "./staff.policy.ts";
import { isAvailable } from "./profile/profile.policy.ts";
import { createProfilesService } from "./profile/profile.service.ts";
import { createProfileStore, emptyProfile, type ProfileRow } from "./profile/store.ts";
import { createStaffRolesService } from "./roles/roles.service.ts";
import { createRoleWatch } from "./roles/watch.ts";
import type { AccessQuery, StaffEntryView, StaffListQuery, AccessView } from "./staff.schema.ts";
import { createSuspensionsService, createSuspensionRows, type SuspensionRowDeps } from "./suspension/suspension.service.ts";
import { say } from "../../kit/say.ts";
import { createHash } from "node:crypto";
import { fieldError } from "../../kernel/errors.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import { z } from "zod";
import { roleRef } from "../../kernel/ids.ts";
import type { Tx } from "../../database/database.ts";

interface StaffWithinDeps extends SuspensionRowDeps {
  audit: Pick<AuditService, "record">;
  access: Pick<AccessDirectory, "of" | "role" | "roleAt" | "suppose">;
  permissions: Pick<PermissionsService, "userRows" | "suspensionAt" | "suspensionBy" | "denyInTx" | "undoDenyInTx">;
}

/** A suspension that an approved request leads to. */
interface RequestedSuspension {
  userId: string;
  /** Its end; none when it holds permanently. */
  until: Date | null;
  reason: string;
  /** The permission that approved it. */
  permission: PermissionKey;
  /** The request. */
  causeReference: string;
}

const SuspensionUndo = z.strictObject({ user_id: z.string(), entry_id: z.string() });
type SuspensionUndo = z.infer<typeof SuspensionUndo>;

/** A Discord role that stands for a staff role. */
type MappedRole = StaffRoleRecord["discord"][number];

const gone = { restored: false, detail: say("staff.the-suspension-had-ended-already") };

/** What other features do to staff inside their transactions. Those features have checked rights, ranks and conflicts. */
function createStaffInTx(deps: StaffWithinDeps) {
  const { access, permissions } = deps;
  const rows = createSuspensionRows(deps);

  return {
    /**
     * Suspend somebody, staff now or not: anyone who comes back is barred, too. A shorter suspension that runs stays beside it.
     * @returns what takes it back, or why nothing was done
     */
    async suspendInTx(tx: Tx, wanted: RequestedSuspension): Promise<{ undo: SuspensionUndo } | { skipped: string }> {
      const { userId, until, reason, permission, causeReference } = wanted;
      const target = access.of(userId);
      if (target.isOwner) return { skipped: say("staff.owners-cannot-be-suspended") };
      if (until !== null && until <= tx.now) return { skipped: say("staff.the-suspension-would-be-over-already") };
      const { rows: before } = await permissions.userRows.open(tx, userId);
      const running = permissions.suspensionAt(before, tx.now);
      if (running !== undefined && isAsLong(running.expiresAt, until))
        return { skipped: say("staff.a-suspension-that-lasts-as-long-runs") };
      const entry = permissions.suspensionBy(tx.call, { reason, expiresAt: until }, tx.now);
      const entries = { rows: [...before, entry], gone: [], fresh: [entry] };
      await rows.persist(tx, target, "suspend", entries, { reason, permission, request: causeReference });
      return { undo: { user_id: userId, entry_id: entry.id } };
    },

    /** Take back one suspension; another one, and one that has ended, stay as they are. @param undo of `suspendInTx` */
    async undoSuspendInTx(tx: Tx, undo: unknown, note: { reason: string; permission: PermissionKey }) {
      const { user_id: userId, entry_id: entryId } = SuspensionUndo.parse(undo);
      const { rows: before } = await permissions.userRows.open(tx, userId);
      const entry = before.find(({ id }) => id === entryId);
      if (entry === undefined || (entry.expiresAt !== null && entry.expiresAt <= tx.now)) return gone;
      const target = access.of(userId);
      const left = before.filter((one) => one !== entry);
      const view = await rows.persist(tx, target, "reinstate", { rows: left, gone: [entry], fresh: [] }, { ...note, ended: entry });
      const detail =
        view.suspension === null ? say("staff.the-suspension-was-lifted") : say("staff.the-suspension-was-lifted-another-one-still");
      return { restored: true, detail };
    },

    /**
     * Change when a suspension ends that `suspendInTx` began.
     * @param undo as `suspendInTx` answered it; it stays valid unless the suspension is lifted
     * @param until null: permanent; an end that is not ahead lifts it now
     * @returns the former end; null, with nothing done, where the suspension is over or ends then already
     */
    async changeSuspensionInTx(
      tx: Tx,
      undo: unknown,
      until: Date | null,
      { reason, permission, causeReference }: Pick<RequestedSuspension, "reason" | "permission" | "causeReference">,
    ): Promise<{ was: Date | null } | null> {
      const { user_id: userId, entry_id: entryId } = SuspensionUndo.parse(undo);
      const { rows: before } = await permissions.userRows.open(tx, userId);
      const entry = before.find(({ id }) => id === entryId);
      if (entry === undefined || (entry.expiresAt !== null && entry.expiresAt <= tx.now)) return null;
      if (entry.expiresAt?.getTime() === until?.getTime()) return null;
      const others = before.filter((one) => one !== entry);
      const fresh = until !== null && until <= tx.now ? [] : [{ ...entry, expiresAt: until }];
      const cause = { reason, permission, request: causeReference, ...(fresh.length === 0 && { ended: entry }) };
      const change = fresh.length === 0 ? "reinstate" : "suspend";
      await rows.persist(tx, access.of(userId), change, { rows: [...others, ...fresh], gone: [entry], fresh }, cause);
      return { was: entry.expiresAt };
    },

    denyInTx: permissions.denyInTx,
    undoDenyInTx: permissions.undoDenyInTx,

    /** A staff role by its key. */
    staffRoleOf: (key: string): StaffRoleRecord | undefined => access.role(key),

    /** The Discord roles that stand for a staff role, as known without asking anybody. */
    discordRolesOf(staffRoleKey: string): MappedRole[] {
      return (access.role(staffRoleKey)?.discord ?? []).map(({ guildId, roleId }) => ({ guildId, roleId }));
    },

    /** Whether a Discord role stands for a staff role. */
    isMapped: ({ guildId, roleId }: MappedRole): boolean => access.roleAt(roleRef(guildId, roleId)) !== undefined,

    /** The Discord roles somebody holds that stand for staff roles, as known without asking anybody. */
    mappedRolesHeldBy(userId: string): (MappedRole & { staffRole: string })[] {
      return access.of(userId).held.flatMap(({ role, refs }) =>
        refs.map((ref) => {
          const [guildId = "", roleId = ""] = ref.split(":");
          return { guildId, roleId, staffRole: role.key };
        }),
      );
    },
  };
}

/** Whether an end is not before another; no end is the last of all. */
function isAsLong(end: Date | null, other: Date | null): boolean {
  return end === null || (other !== null && end >= other);
}

/** An access answer and the tag of its content, which the time is no part of. */
interface TaggedAccess {
  view: AccessView;
  tag: string;
}

interface Kept {
  content: AccessContent;
  freshness: string;
  answer: TaggedAccess;
  evaluatedAt: number;
}

/** Answers are the same object for this long, so that a busy client costs nothing. */
const sharedMs = 1000;

/** Permissions to decide one by one, and the guild in which they are used. */
interface Asked {
  permissions: readonly string[] | undefined;
  guildId: string | undefined;
}

/**
 * The answers about access, each made once: an answer is replaced when anything behind it changes.
 * @param known every permission of the catalog
 */
function createAccessAnswers(known: ReadonlySet<string>, guildState: Pick<GuildState, "freshness" | "guilds">, clock: Clock) {
  const kept = new WeakMap<Access, Kept>();

  function remember(access: Access): Kept {
    const freshness = guildState.freshness();
    const key = freshness.stale ? `stale ${String(freshness.asOf?.getTime())}` : "live";
    const now = clock.now().getTime();
    const before = kept.get(access);
    if (before !== undefined && before.freshness === key && now >= before.evaluatedAt && now - before.evaluatedAt < sharedMs) return before;
    const isSame = before?.freshness === key;
    const content = isSame ? before.content : presentAccess(access, known, freshness);
    const tag = isSame ? before.answer.tag : tagOf(content);
    const next = {
      content,
      freshness: key,
      evaluatedAt: now,
      answer: { view: { ...content, evaluated_at: new Date(now).toISOString() }, tag },
    };
    kept.set(access, next);
    return next;
  }

  function decide(access: Access, { permissions, guildId }: Asked): TaggedAccess {
    const { content: general, answer } = remember(access);
    const content = guildId === undefined ? general : presentAccess(access, known, guildState.freshness(), guildId);
    const decisions = permissions?.map((permission) => {
      const { allowed, reasons } = access.decide(permission, guildId);
      return { permission, allowed, reasons: [...reasons] };
    });
    const asked = {
      ...content,
      ...(decisions !== undefined && { allowed: decisions.every((decision) => decision.allowed), decisions }),
    };
    return { view: { ...asked, evaluated_at: answer.view.evaluated_at }, tag: tagOf(asked) };
  }

  function parsePermissions(list: string): string[] {
    const asked = [...new Set(list.split(",").map((key) => key.trim()))];
    const unknown = asked.find((key) => !known.has(key));
    if (unknown !== undefined)
      throw fieldError(
        "/permission",
        "unknown_permission",
        say("permissions.is-not-a-permission-of-the-catalog", { key: unknown.slice(0, 100) }),
        "query",
      );
    return asked;
  }

  return {
    /** @param asked what of an answer was asked for; undefined: the answer itself, at once */
    answer: (access: Access, asked?: Asked): TaggedAccess => (asked === undefined ? remember(access).answer : decide(access, asked)),
    /** @throws ProblemError validation_failed for an unknown permission or guild */
    parse({ permission, guild_id: guildId }: AccessQuery): Asked | undefined {
      if (permission === undefined && guildId === undefined) return undefined;
      const permissions = permission === undefined ? undefined : parsePermissions(permission);
      if (guildId !== undefined && !guildState.guilds().some(({ id, present }) => id === guildId && present))
        throw fieldError("/guild_id", "unknown_guild", say("staff.the-service-does-not-know-this-guild"), "query");
      return { permissions, guildId };
    },
  };
}

function tagOf(content: object): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("base64url").slice(0, 22);
}

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
