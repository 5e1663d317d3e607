import type { Deps } from "../../deps.ts";
import { notReadable, requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { seesRedactions } from "../../../kernel/visibility.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { Access } from "../../permissions/access/access-directory.ts";
import { readActivity, readPunishments } from "../activity.ts";
import { findColleague, permissionUsed, requireMayManage, staffPolicy } from "../staff.policy.ts";
import { availabilityOf, clearanceFor, presentProfile, presentSuspension, quietHoursOf, visibleProfile } from "./profile.policy.ts";
import { UpdateProfileInput, type DisciplineView, type ProfileView } from "./profile.schema.ts";
import { readCallsigns, readEmployment, readRoleChanges } from "./employment.ts";
import type { ProfileRow, ProfileStore } from "./store.ts";

export interface ProfilesDeps extends Deps<"database" | "events" | "guildState" | "access" | "clock"> {
  audit: AuditService;
  permissions: Pick<PermissionsService, "requireRankAbove" | "suspensionAt">;
  profiles: ProfileStore;
}

/** What is known about present and former staff. */
export function createProfilesService({ database, audit, events, guildState, access, permissions, profiles, clock }: ProfilesDeps) {
  async function disciplineOf(person: Access, now: Date): Promise<DisciplineView> {
    const suspension = presentSuspension(permissions.suspensionAt(person.overrides, now));
    return { suspension, punishments: await readPunishments(database.read, person.id) };
  }

  async function employmentOf(userId: string): Promise<Pick<ProfileView, "roster" | "callsigns" | "role_history">> {
    const { read } = database;
    const [roster, callsigns, changes] = await Promise.all([
      readEmployment(read, userId),
      readCallsigns(read, userId),
      readRoleChanges(read, userId),
    ]);
    return { roster, callsigns, role_history: changes };
  }

  return {
    /** @throws ProblemError record_not_found for somebody who never was staff */
    async profile(call: Call, userId: string): Promise<ProfileView> {
      requirePermission(call, staffPolicy.profile, { own: userId });
      const found = await findColleague(access, userId);
      const now = clock.now();
      const { decider, confidential } = clearanceFor(call, userId);
      const isTold = seesRedactions(call);
      const [row, employment, activity, discipline] = await Promise.all([
        profiles.find(userId),
        employmentOf(userId),
        decider || isTold ? readActivity(database.read, userId, now) : undefined,
        confidential || isTold ? disciplineOf(found, now) : undefined,
      ]);
      return visibleProfile(call, presentProfile(found, row, { guilds: guildState.guilds(), now, employment, activity, discipline }));
    },

    /**
     * Change what is kept about a colleague, or about oneself.
     * @throws ProblemError record_not_found, hierarchy_violation, precondition_failed
     */
    async update(call: Call, userId: string, given: UpdateProfileInput, ifMatch?: number): Promise<ProfileView> {
      requireWrite(call, staffPolicy.manage, { own: userId });
      const input = UpdateProfileInput.parse(given);
      const found = await findColleague(access, userId);
      requireMayManage(call, found, permissions, { isOwnAllowed: input.department === undefined });
      if (input.quiet_hours !== undefined && !clearanceFor(call, userId).requester)
        throw notReadable(call, ["/quiet_hours"], staffPolicy.profile);
      const view = await database.write(call, async (tx) => {
        const row = await profiles.open(tx, userId);
        requireRevision(ifMatch, row.revision);
        const wanted = withInput(row, input);
        const present = (after: ProfileRow): ProfileView => presentProfile(found, after, { guilds: guildState.guilds(), now: tx.now });
        if (JSON.stringify(settingsOf(wanted)) === JSON.stringify(settingsOf(row))) return present(row);
        const { quiet_hours: quietHours, ...others } = settingsOf(wanted);
        const after = await profiles.change(tx, row, { ...others, quietHours });
        audit.record(tx, {
          action: "staff_profile.update",
          user: userId,
          before: settingsOf(row),
          after: settingsOf(after),
          ...permissionUsed(call, userId),
        });
        events.emit(tx, { type: "staff.profile_changed", data: { user_id: userId, revision: after.revision } });
        return present(after);
      });
      return visibleProfile(call, view);
    },
  };
}

function withInput(row: ProfileRow, input: UpdateProfileInput): ProfileRow {
  const { department, timezone, availability, quiet_hours: quietHours } = input;
  return {
    ...row,
    ...(department !== undefined && { department }),
    ...(timezone !== undefined && { timezone }),
    ...(availability !== undefined && { availability }),
    ...(quietHours !== undefined && { quietHours }),
  };
}

/** What of a profile its colleagues may change, each part in one form. */
function settingsOf(row: ProfileRow) {
  const { department, timezone } = row;
  const hours = quietHoursOf(row).map(({ days, from, to }) => ({
    ...(days !== undefined && { days: [...new Set(days)].toSorted((a, b) => a - b) }),
    from,
    to,
  }));
  return { department, timezone, availability: availabilityOf(row), quiet_hours: hours };
}
