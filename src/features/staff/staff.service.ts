import type { Database } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { systemClock } from "../../kernel/clock.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import type { Cursors, Page } from "../../kernel/page.ts";
import { toPage, withTotal } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Standing, Standings } from "../permissions/standing.ts";
import { createAccessAnswers } from "./staff.access.ts";
import type { TaggedAccess } from "./staff.access.ts";
import { createRoster, freshnessMeta, indexAfter, matches } from "./staff.list.ts";
import { presentEntry, presentProfile, staffPolicy } from "./staff.policy.ts";
import { createStaffRolesService } from "./staff.roles.service.ts";
import type { AccessQuery, ProfileView, StaffEntryView, StaffListQuery } from "./staff.schema.ts";

export type StaffService = ReturnType<typeof createStaffService>;

export interface StaffDeps {
  database: Database;
  audit: AuditService;
  guildState: GuildState;
  standing: Standings;
  permissions: PermissionsService;
  cursors: Cursors;
  clock?: Clock;
}

const profileFields = { userId: true, department: true, timezone: true, revision: true } as const;

/** Who is staff, and what they may do. */
export function createStaffService({ database, audit, guildState, standing, permissions, cursors, clock = systemClock }: StaffDeps) {
  const answers = createAccessAnswers(permissions.knownPermissions, guildState, clock);
  const roster = createRoster(standing);

  function answer(found: Standing, asked: readonly string[] | undefined): TaggedAccess {
    return asked === undefined ? answers.answer(found) : answers.decide(found, asked);
  }

  /** @returns undefined when no department is asked for */
  async function membersOf(department: string | undefined): Promise<ReadonlySet<string> | undefined> {
    if (department === undefined) return undefined;
    const rows = await database.read.staffProfile.findMany({ where: { department }, select: { userId: true } });
    return new Set(rows.map((row) => row.userId));
  }

  return {
    /** The roles they hold, as configured. */
    roles: createStaffRolesService({ database, audit, guildState, standing, permissions, cursors }),

    /**
     * What somebody may do, and why. A stranger is an answer, too. At once for everybody in memory.
     * @throws ProblemError validation_failed for a permission that does not exist
     */
    access(call: Call, userId: string, { permission }: AccessQuery = {}): TaggedAccess | Promise<TaggedAccess> {
      requirePermission(call, staffPolicy.access, { own: userId });
      const asked = permission === undefined ? undefined : answers.parse(permission);
      const found = standing.actorOf(userId);
      return found instanceof Promise ? found.then((one) => answer(one, asked)) : answer(found, asked);
    },

    /** @throws ProblemError record_not_found for somebody who never was staff */
    async profile(call: Call, userId: string): Promise<ProfileView> {
      requirePermission(call, staffPolicy.profile, { own: userId });
      const found = await standing.resolve(userId);
      if (found.status === null) throw recordNotFound();
      const row = await database.read.staffProfile.findUnique({ where: { userId }, select: profileFields });
      return presentProfile(call, found, row, guildState.guilds());
    },

    /** Staff by rank, then by id; former staff only when asked for. */
    async list(call: Call, query: StaffListQuery): Promise<Page<StaffEntryView>> {
      requirePermission(call, staffPolicy.list);
      const { limit, cursor } = query;
      const all = roster();
      const start = cursor === undefined ? 0 : indexAfter(all, cursors.decode("staff", query, cursor));
      const inDepartment = await membersOf(query.department);
      const found: Standing[] = [];
      for (let index = start; index < all.length && found.length <= limit; index += 1) {
        const current = standing.of(all[index]?.id ?? "");
        if (matches(current, query, inDepartment)) found.push(current);
      }
      const ids = found.slice(0, limit).map((one) => one.id);
      const rows = await database.read.staffProfile.findMany({ where: { userId: { in: ids } }, select: profileFields });
      const profiles = new Map(rows.map((row) => [row.userId, row]));
      const present = (one: Standing): StaffEntryView => presentEntry(one, profiles.get(one.id));
      const page = toPage(found, limit, present, (last) => cursors.encode("staff", query, [last.rank, last.id]));
      const meta = freshnessMeta(guildState, clock.now());
      return withTotal({ ...page, meta }, query, () => all.filter(({ id }) => matches(standing.of(id), query, inDepartment)).length);
    },
  };
}
