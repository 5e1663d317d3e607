import type { Logger } from "pino";
import type { Deps } from "../deps.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { EventsService } from "../events/events.service.ts";
import { catalog, knownPermissions } from "../../kernel/permissions.ts";
import { dangerousOf, loosened, requireHeld, requireLevel, requireRankAbove, type RequireGrants, type RequireKeys } from "./grant.ts";
import { suspensionAt, suspensionBy, suspensionsAt, waitingGrants, everything, entriesAt, type EntryChange } from "./overrides.ts";
import { createGiving } from "./giving.ts";
import { createExplanations } from "./explain/explain.service.ts";
import { createOwners } from "./owners.service.ts";
import { effectivePermissions, permissionsPolicy, presentCatalogEntry } from "./permissions.policy.ts";
import { createRolePermissions } from "./roles.service.ts";
import type { CatalogView, PermissionsListQuery } from "./permissions.schema.ts";
import { createUserPermissions } from "./users/users.service.ts";
import { roleRules } from "./resolve.ts";
import { createUserRows } from "./user-rows.ts";
import type { Tx } from "../../database/database.ts";
import { earliestOf } from "../../database/earliest.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";
import { auditOf } from "./users/users.policy.ts";
import { say } from "../../kit/say.ts";
import { z } from "zod";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { Override, AccessDirectory } from "./access/access-directory.ts";

interface PermissionsWithinDeps extends Deps<"audit" | "events"> {
  access: Pick<AccessDirectory, "of" | "readOverrides" | "setOverrides">;
}

/** Permissions that an approved request takes from somebody for a while. */
interface RequestedDenial {
  userId: string;
  permissions: readonly string[];
  until: Date | null;
  reason: string;
  /** The permission that approved it. */
  permission: string;
}

const DenialUndo = z.strictObject({ user_id: z.string(), entry_ids: z.array(z.string()) });
type DenialUndo = z.infer<typeof DenialUndo>;

/** Entries of people inside other features' transactions. Those features have checked rights, ranks and conflicts. */
function createPermissionsInTx({ audit, events, access }: PermissionsWithinDeps) {
  const userRows = createUserRows(access);

  async function save(tx: Tx, userId: string, change: EntryChange, note: { reason: string; permission: string }): Promise<void> {
    await userRows.save(tx, userId, change);
    audit.record(tx, {
      action: "user_permissions.update",
      user: userId,
      before: auditOf(change.gone),
      after: auditOf(change.fresh),
      ...note,
    });
    events.emit(tx, { type: "permission.changed", data: { user_id: userId } });
  }

  return {
    /**
     * Deny somebody permissions everywhere; a key they have an entry for already is left alone.
     * @returns what takes it back, or why nothing was done
     * @throws ProblemError invalid_transition for a key that is not in the catalog
     */
    async denyInTx(tx: Tx, wanted: RequestedDenial): Promise<{ undo: DenialUndo } | { skipped: string }> {
      const { userId, permissions, until, reason, permission } = wanted;
      const unknown = permissions.find((key) => !knownPermissions.has(key));
      if (unknown !== undefined)
        throw new ProblemError("invalid_transition", { detail: say("permissions.is-not-a-permission-of-the-catalog", { key: unknown }) });
      if (access.of(userId).isOwner) return { skipped: say("permissions.owners-cannot-be-denied-anything") };
      if (until !== null && until <= tx.now) return { skipped: say("permissions.the-denial-would-be-over-already") };
      const { rows } = await userRows.open(tx, userId);
      const entries = entriesAt(rows, tx.now);
      const taken = new Set(entries.flatMap((entry) => (entry.guildId === null ? [entry.permission] : [])));
      const free = [...new Set(permissions)].filter((key) => !taken.has(key));
      if (free.length === 0) return { skipped: say("permissions.entries-about-each-of-these-permissions-stand") };
      const made = { effect: "deny", guildId: null, reason, expiresAt: until, createdBy: tx.call.actor?.id ?? null } as const;
      const fresh = free.map((key): Override => ({ id: uuid7(tx.now.getTime()), permission: key, ...made, createdAt: tx.now }));
      // What has ended and nobody has taken off the books yet makes way.
      const gone = rows.filter((row) => row.guildId === null && free.includes(row.permission));
      await save(tx, userId, { rows: [...rows.filter((row) => !gone.includes(row)), ...fresh], gone, fresh }, { reason, permission });
      return { undo: { user_id: userId, entry_ids: fresh.map(({ id }) => id) } };
    },

    /** Take entries back that still stand as they were written. @param undo of `denyInTx` */
    async undoDenyInTx(tx: Tx, undo: unknown, note: { reason: string; permission: string }) {
      const { user_id: userId, entry_ids: ids } = DenialUndo.parse(undo);
      const { rows } = await userRows.open(tx, userId);
      const gone = entriesAt(rows, tx.now).filter(({ id }) => ids.includes(id));
      if (gone.length === 0) return { restored: false, detail: say("permissions.the-entries-had-ended-or-been-replaced") };
      await save(tx, userId, { rows: rows.filter((row) => !gone.includes(row)), gone, fresh: [] }, note);
      if (gone.length === ids.length) return { restored: true, detail: say("permissions.the-permissions-are-no-longer-denied") };
      return { restored: false, detail: say("permissions.the-permissions-are-no-longer-denied-but") };
    },
  };
}

interface ExpiryDeps extends Deps<"database" | "access" | "clock"> {
  audit: AuditService;
  events: EventsService;
  logger: Logger;
}

/** People per transaction. */
const batch = 100;

/**
 * What time does to entries and suspensions. Decisions ignore what has ended at once; this takes it off the books.
 */
function createExpiry({ database, audit, events, access, clock, logger }: ExpiryDeps) {
  const userRows = createUserRows(access);

  /** @returns whether anything of this person had ended */
  async function expireOf(tx: Tx, userId: string): Promise<boolean> {
    const { rows } = await userRows.open(tx, userId);
    const gone = rows.filter(({ expiresAt }) => expiresAt !== null && expiresAt <= tx.now);
    if (gone.length === 0) return false;
    await userRows.save(tx, userId, { rows: rows.filter((row) => !gone.includes(row)), gone, fresh: [] });
    audit.record(tx, {
      action: "user_permissions.expire",
      user: userId,
      before: auditOf(gone),
      after: [],
      permission: permissionsPolicy.jobs,
    });
    events.emit(tx, { type: "permission.changed", data: { user_id: userId, expired: true } });
    if (gone.some(({ permission }) => permission === everything))
      events.emit(tx, { type: "staff.access_changed", data: { user_id: userId, change: "suspension_expired" } });
    return true;
  }

  const findDue = (after: { userId: string } | undefined): Promise<{ userId: string }[]> =>
    database.read.userPermission.findMany({
      where: { expiresAt: { lte: clock.now() }, ...(after !== undefined && { userId: { gt: after.userId } }) },
      select: { userId: true },
      distinct: ["userId"],
      orderBy: { userId: "asc" },
      take: batch,
    });

  const expireAll = (call: Call, due: readonly { userId: string }[]): Promise<number> =>
    database.write(call, async (tx) => {
      let people = 0;
      for (const { userId } of due) people += (await expireOf(tx, userId)) ? 1 : 0;
      return people;
    });

  return {
    /** End every entry and suspension past its end. @returns how many people it was about */
    async expireEntries(call: Call): Promise<number> {
      requirePermission(call, permissionsPolicy.jobs);
      return await sweepIsolated({
        size: batch,
        find: findDue,
        work: (due) => expireAll(call, due),
        logger,
        failure: "what somebody's permissions have lost by time could not be taken off the books; it is tried again in a minute",
        idsOf: ({ userId }) => ({ user_id: userId }),
      });
    },

    /** When the next entry or suspension ends. */
    nextDue: (): Promise<Date | null> => earliestOf(database.read, "UserPermission", "expiresAt"),
  };
}

export type PermissionsService = ReturnType<typeof createPermissionsService>;

export interface PermissionsDeps extends Deps<"database" | "servedGuilds" | "access" | "cursors" | "guildState"> {
  audit: AuditService;
  events: EventsService;
  confirmations: ConfirmationsService;
  logger: Logger;
  clock?: Clock;
}

/** What is permitted to whom, and the rules of granting that other features share. */
export function createPermissionsService({ clock = systemClock, ...deps }: PermissionsDeps) {
  const { cursors, servedGuilds } = deps;
  const requireGrants: RequireGrants = (call, grants) => requireHeld(call, grants, servedGuilds);
  const requireKeys: RequireKeys = (call, keys, until = null) =>
    requireGrants(
      call,
      keys.map((key) => ({ key, guildId: null, until })),
    );
  const giving = createGiving({ ...deps, requireGrants, requireKeys });
  const ground = { ...deps, clock, requireGrants, requireKeys, requireMayName: giving.requireMayName };
  const owners = createOwners(ground);
  const { expireEntries, nextDue } = createExpiry(ground);

  return {
    /** Every permission there is. */
    knownPermissions,
    isKnownScope,
    createScopes,
    effectivePermissions,
    loosened,
    dangerousOf,
    roleRules,
    /** @throws ProblemError cannot_grant_unheld when these are given everywhere, until then, and the call does not hold them so */
    requireHeld: requireKeys,
    /**
     * Anyone who makes people staff gives what their own entries hold ready for that.
     * @param refs Discord roles (`guildId:roleId`) whose holders become staff
     * @throws ProblemError cannot_grant_unheld
     */
    requireWaiting(call: Call, refs: ReadonlySet<string>): void {
      const strangers = deps.access.holdersOf(refs).filter((one) => !one.isStaff);
      requireGrants(
        call,
        strangers.flatMap((one) => waitingGrants(one.overrides)),
      );
    },
    requireRankAbove,
    requireLevel,
    /** The stored entries of one person, for the feature that suspends people. */
    userRows: createUserRows(deps.access),
    suspensionAt,
    suspensionBy,
    suspensionsAt,

    ...createRolePermissions(ground),
    ...createUserPermissions(ground),
    ...createExplanations(ground),
    ...createPermissionsInTx(ground),
    ...giving,
    owners,
    /** Make somebody an owner, as part of another feature's transaction; an owner stays one. */
    addOwner: owners.addInTx,

    /** The definitions of all permissions, ordered by key. */
    async catalog(call: Call, query: PermissionsListQuery): Promise<Page<CatalogView>> {
      requirePermission(call, permissionsPolicy.catalog);
      const { limit, cursor } = query;
      const after = cursor === undefined ? "" : cursors.decode("permissions.catalog", {}, cursor)[1];
      const rows = catalog.filter((entry) => entry.key > after).slice(0, limit + 1);
      const page = toPage(rows, limit, presentCatalogEntry, (last) => cursors.encode("permissions.catalog", {}, [last.key, last.key]));
      return withTotal(page, query, () => catalog.length);
    },

    /** End what is past its end, and keep the list of owners true. For the job that runs each minute. @returns how many people it was about */
    async expireDue(call: Call): Promise<number> {
      const people = await expireEntries(call);
      await owners.handleLastOwnersLost(call);
      return people;
    },
    nextDue,
  };
}

/** Never part of a wildcard: a key that writes without an acting user is named so on purpose. */
const alwaysNamed = "system.act";

/** Whether a scope of an API key is a permission, `group.*` with at least one permission, or `*`. */
export function isKnownScope(scope: string): boolean {
  return knownPermissions.has(scope) || [...knownPermissions].some((key) => covers(scope, key));
}

/** What an API key with these scopes may do; keys of the catalog are looked up, others compared with the wildcards. */
export function createScopes(scopes: readonly string[]): (permission: string) => boolean {
  const named = new Set(scopes);
  const held = new Set([...knownPermissions].filter((key) => named.has(key) || scopes.some((scope) => covers(scope, key))));
  return (permission) =>
    held.has(permission) ||
    (!knownPermissions.has(permission) && scopes.some((scope) => scope === permission || covers(scope, permission)));
}

/** Whether a wildcard covers a permission. */
function covers(scope: string, permission: string): boolean {
  if (permission === alwaysNamed || (scope !== "*" && !scope.endsWith(".*"))) return false;
  return permission.startsWith(scope.slice(0, -1));
}
