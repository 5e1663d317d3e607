import type { Database, Logger } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission, requireWrite } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { Snowflake } from "../../kernel/fields.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { BlacklistService } from "../blacklist/blacklist.service.ts";
import type { AuthorizationService } from "../authorization/authorization.service.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { MatchesService } from "../intelligence/matches.service.ts";
import type { UserServersService } from "../intelligence/user-servers.service.ts";
import type { LinkReach } from "../links/links.reach.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Standings } from "../permissions/standing.ts";
import type { Erasures } from "./erasures.ts";
import type { Journal } from "./journal.ts";
import { createCatchUp } from "./privacy.catch-up.ts";
import { createExporter } from "./privacy.export.ts";
import { keptWords, privacyPolicy, readRetentionDays } from "./privacy.policy.ts";
import type { DataReadsUpkeep } from "./privacy.reads.ts";
import { createRedaction } from "./privacy.redact.ts";
import type { DataExportView, ErasureView } from "./privacy.schema.ts";
import { createWipe } from "./privacy.wipe.ts";
import type { WipeDeps } from "./privacy.wipe.ts";

export type PrivacyService = ReturnType<typeof createPrivacyService>;

export interface PrivacyDeps {
  database: Database;
  audit: AuditService;
  blacklist: Pick<BlacklistService, "lockRecordsOf" | "dropNamesOf">;
  events: Pick<EventsService, "emit">;
  confirmations: Pick<ConfirmationsService, "hold" | "register" | "endAbout">;
  authorization: AuthorizationService;
  servers: UserServersService;
  matches: MatchesService;
  permissions: Pick<PermissionsService, "requireRankAbove" | "userRows">;
  standing: Standings;
  guildState: Pick<GuildState, "forget">;
  reach: LinkReach;
  roster: WipeDeps["roster"];
  callsigns: WipeDeps["callsigns"];
  erasures: Erasures;
  reads: DataReadsUpkeep;
  /** The file of deletions beside the database. */
  journal: Journal;
  /** Keyed hash of a person's id. */
  hashOf: (userId: string) => string;
  /** Ids of the requests a caller may not know of. */
  hiddenRequests: (call: Call) => Promise<readonly string[]>;
  clock: Clock;
  logger: Logger;
}

/** What people can ask about their own data. */
export function createPrivacyService(deps: PrivacyDeps) {
  const { database, audit, events, erasures, reads, clock } = deps;
  const wipe = createWipe(deps);
  const makeExport = createExporter({ ...deps, read: database.read, dialect: database.dialect });

  return {
    /** Carry out every deletion of the journal that this database does not know of. Once, at boot. @throws Error in plain words */
    catchUp: createCatchUp({ ...deps, wipe }),
    ...createRedaction({ ...deps, wipe }),

    /** Everything stored about a person that they may have; the person's own, or for holders of users.export. */
    async export(call: Call, userId: string): Promise<DataExportView> {
      requirePermission(call, privacyPolicy.export, { own: userId });
      reads.note(call, userId, "export");
      await reads.flush();
      return await makeExport(call, Snowflake.parse(userId));
    },

    /**
     * Delete what a person shared, at their own wish alone. Records of moderation stay.
     * @throws ProblemError permission_denied for everybody else
     */
    async erase(call: Call, userId: string): Promise<ErasureView> {
      requireWrite(call, privacyPolicy.redact, { own: userId });
      if (call.actor?.id !== userId) throw new ProblemError("permission_denied", { detail: "Only the person themself can ask for that." });
      await reads.flush();
      const view = await database.write(call, async (tx): Promise<ErasureView> => {
        await tx.lock(`erasure:${userId}`);
        const deleted = await wipe.shared(tx, { userId });
        const details = await audit.erase(
          tx,
          { subjectUserId: userId, actionPrefix: "authorization" },
          { action: "user.erase", target: { kind: "user", id: userId }, subjectUserId: userId, after: { deleted } },
        );
        await erasures.note(tx, "deletion", userId);
        events.emit(tx, { type: "user.erased", data: { user_id: userId, kind: "deletion" } });
        return {
          discord_user_id: userId,
          kind: "deletion",
          erased_at: tx.now.toISOString(),
          deleted: { ...deleted, audit_details: details },
          kept: [...keptWords.deletion],
          suppressed: (await erasures.redactedAt(tx.db, userId)) !== null,
        };
      });
      await wipe.told();
      return view;
    },

    /** Let a redacted person be asked again. @throws ProblemError invalid_transition when nothing keeps them from it */
    async unsuppress(call: Call, userId: string): Promise<void> {
      requireWrite(call, privacyPolicy.redact);
      await database.write(call, async (tx) => {
        if ((await erasures.redactedAt(tx.db, userId)) === null)
          throw new ProblemError("invalid_transition", { detail: "This person can be asked already." });
        await erasures.note(tx, "release", userId);
        const target = { kind: "user", id: userId };
        audit.record(tx, { action: "user.unsuppress", target, subjectUserId: userId, permission: privacyPolicy.redact });
      });
    },

    /** Settles when nothing is on its way to Discord any more; before the database is closed. */
    close: (): Promise<void> => wipe.told(),

    /** For the job that runs each minute: what was noted and refused is tried again, what is old goes. @returns how many went */
    async sweep(call: Call): Promise<number> {
      await reads.flush();
      const before = addSeconds(clock.now(), -readRetentionDays * 86_400);
      const isDue = (await database.read.dataRead.findFirst({ where: { at: { lt: before } }, select: { userId: true } })) !== null;
      if (!isDue) return 0;
      return await database.write(call, async ({ db }) => (await db.dataRead.deleteMany({ where: { at: { lt: before } } })).count);
    },
  };
}
