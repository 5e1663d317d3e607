import { rosterCommands } from "./roster.commands.ts";
import type { RosterEntriesDeps } from "./changes.ts";
import { feature } from "../../compose.ts";
import type { Jobs } from "../../jobs.ts";
import type { Core } from "../../core.ts";
import type { ConsentEnds } from "../authorization/grants/consent-end.ts";
import { rosterAuditsRoutes } from "./audit/audits.routes.ts";
import { createRosterAudits, type RosterAuditsDeps } from "./audit/audits.service.ts";
import { dropConsentedFindings } from "./audit/consented.ts";
import { createRosterEntries } from "./entries.service.ts";
import { rosterHistoryRoutes, rosterRoutes } from "./roster.routes.ts";
import { createRosterService, type RosterDeps } from "./roster.service.ts";
import { rosterSyncRoutes } from "./sync/sync.routes.ts";
import { createRosterSync, type RosterSyncDeps } from "./sync/sync.service.ts";

/** Who belongs to the staff, as other features write it. */
export const roster = feature({
  create: (deps: RosterDeps) => ({ roster: createRosterService(deps) }),
  jobs: ({ roster }) => ({ roster: { run: roster.sweep, nextDue: roster.nextDue } }),
});

/** The roster and Discord, kept in step. */
export const rosterSync = feature({
  create({
    config,
    keyFor,
    ...deps
  }: Omit<RosterSyncDeps, "isFollowing" | "fingerprintKey"> & Pick<Core, "config" | "keyFor" | "cluster">) {
    const isFollowing = config.roster.followsDiscord && !config.switchedOff.has("roster.entries");
    return { rosterSync: createRosterSync({ ...deps, isFollowing, fingerprintKey: keyFor("fingerprints") }) };
  },
  routes: ({ rosterSync }) => rosterSyncRoutes(rosterSync),
  jobs: ({ rosterSync }) => ({ rosterSync: rosterSync.catchUp }),
  jobsEach: ({ rosterSync, cluster }): Jobs => (cluster.isOn ? { rosterTracked: rosterSync.trackEntries } : {}),
  start: ({ rosterSync }) => rosterSync.start(),
  stop: ({ rosterSync }) => ({ rosterSync: rosterSync.stop }),
});

interface RosterAuditsNeeds extends Omit<RosterAuditsDeps, "hour" | "inactiveDays">, Pick<Core, "config"> {
  consentEnds: Pick<ConsentEnds, "register">;
}

export const rosterAudits = feature({
  create({ config, consentEnds, ...deps }: RosterAuditsNeeds) {
    consentEnds.register(dropConsentedFindings);
    const { auditHour, inactiveDays } = config.roster;
    const hour = config.switchedOff.has("roster.audit") ? null : auditHour;
    return { rosterAudits: createRosterAudits({ ...deps, hour, inactiveDays }) };
  },
  routes: ({ rosterAudits }) => rosterAuditsRoutes(rosterAudits),
  jobs: ({ rosterAudits }) => ({ rosterAudits: rosterAudits.sweep }),
});

/** The roster as people and clients read and change it. */
export const rosterEntries = feature({
  commands: rosterCommands,
  create: (deps: RosterEntriesDeps) => ({ rosterEntries: createRosterEntries(deps) }),
  routes: ({ rosterEntries }) => [...rosterHistoryRoutes(rosterEntries), ...rosterRoutes(rosterEntries)],
});
