import { say } from "../../kit/say.ts";
import { createWipe, type PrivacyDeps } from "./wipe.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { createCatchUp } from "./catch-up.ts";
import { createExporter } from "./export.ts";
import { keptWords, privacyPolicy, readRetentionDays, sharedActions } from "./privacy.policy.ts";
import { createRedaction } from "./redact.ts";
import type { DataExportView, ErasureView } from "./privacy.schema.ts";

export type PrivacyService = ReturnType<typeof createPrivacyService>;

/** What people can ask about their own data. */
export function createPrivacyService(deps: PrivacyDeps) {
  const { database, audit, events, erasures, reads, clock } = deps;
  const wipe = createWipe(deps);
  const makeExport = createExporter({ ...deps, read: database.read, dialect: database.dialect });

  return {
    ...createCatchUp({ ...deps, wipe }),
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
      if (call.actor?.id !== userId)
        throw new ProblemError("permission_denied", { detail: say("privacy.only-the-person-themself-can-ask-for") });
      await reads.flush();
      const view = await database.write(call, async (tx): Promise<ErasureView> => {
        await tx.lock(`erasure:${userId}`);
        const deleted = await wipe.shared(tx, { userId });
        const details = await audit.erase(
          tx,
          { subjectUserId: userId, actionPrefixes: sharedActions },
          { action: "user.erase", user: userId, after: { deleted } },
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
          throw new ProblemError("invalid_transition", { detail: say("privacy.this-person-can-be-asked-already") });
        await erasures.note(tx, "release", userId);
        audit.record(tx, { action: "user.unsuppress", user: userId, permission: privacyPolicy.redact });
      });
    },

    /** Settles when nothing is on its way to Discord any more; before the database is closed. */
    close: (): Promise<void> => wipe.told(),

    /** For the job that runs each minute: what is old goes. @returns how many went */
    async sweep(call: Call): Promise<number> {
      const before = addSeconds(clock.now(), -readRetentionDays * 86_400);
      const isDue = (await database.read.dataRead.findFirst({ where: { at: { lt: before } }, select: { userId: true } })) !== null;
      if (!isDue) return 0;
      return await database.write(call, async ({ db }) => (await db.dataRead.deleteMany({ where: { at: { lt: before } } })).count);
    },
  };
}
