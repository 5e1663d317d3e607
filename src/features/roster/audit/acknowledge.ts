import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { RosterFinding } from "../../../generated/sqlite/client.ts";
import { requireWrite, type Call } from "../../../kernel/call.ts";
import { fieldError } from "../../../kernel/errors.ts";
import { auditPermissions, sightOf, visibleWhere } from "./audit.policy.ts";
import { AcknowledgeFindingsInput, WithdrawAcknowledgementsInput, type FindingResult, type FindingResults } from "./audit.schema.ts";

export type AcknowledgeDeps = Deps<"database" | "audit" | "reach" | "clock">;

const permission = auditPermissions.audit;
const lock = "roster-acknowledgements";

/** The answer for a finding that does not exist, and for one that is not the caller's to see. */
export const gone = (id: string): FindingResult => ({ id, outcome: "gone", detail: say("roster.there-is-no-such-finding") });

/** Deciding to live with findings, and deciding otherwise. */
export function createAcknowledge({ database, audit, reach, clock }: AcknowledgeDeps) {
  /** The named findings that the caller may see, by id. */
  async function visible(call: Call, ids: readonly string[]): Promise<Map<string, RosterFinding>> {
    const sight = await sightOf(database.read, reach, call);
    const rows = await database.read.rosterFinding.findMany({ where: { id: { in: [...ids] }, ...visibleWhere(sight) } });
    return new Map(rows.map((row) => [row.id, row]));
  }

  return {
    visible,

    /**
     * Decide to live with findings: they stay in every report, marked. Said again, the newer word counts.
     * @throws ProblemError validation_failed for an end in the past
     */
    async acknowledge(call: Call, given: AcknowledgeFindingsInput): Promise<FindingResults> {
      requireWrite(call, permission);
      const { findings, reason, until: end } = AcknowledgeFindingsInput.parse(given);
      const until = end === undefined ? null : new Date(end);
      if (until !== null && until <= clock.now()) throw fieldError("/until", "in_the_past", say("roster.it-ends-in-the-future"));
      const rows = await visible(call, findings);
      return await database.write(call, async (tx) => {
        await tx.lock(lock);
        const results: FindingResult[] = [];
        for (const id of findings) {
          const row = rows.get(id);
          const refusal = row === undefined ? gone(id) : isOwn(call, row) ? own(id) : undefined;
          if (row === undefined || refusal !== undefined) {
            results.push(refusal ?? gone(id));
            continue;
          }
          const { key, code, userId } = row;
          const said = { reason, by: call.actor?.id ?? "", at: tx.now, until };
          await tx.db.rosterAcknowledgement.upsert({ where: { key }, create: { key, code, userId, ...said }, update: said });
          audit.record(tx, {
            action: "roster.acknowledge",
            target: { kind: "roster_finding", id },
            ...(userId !== null && { subjectUserId: userId }),
            reason,
            after: { code, until: until?.toISOString() ?? null },
            permission,
          });
          results.push({ id, outcome: "acknowledged", detail: say("roster.it-stays-in-reports-marked") });
        }
        return { dry_run: false, results };
      });
    },

    /** Take acknowledgements back. */
    async withdraw(call: Call, given: WithdrawAcknowledgementsInput): Promise<FindingResults> {
      requireWrite(call, permission);
      const { findings, reason } = WithdrawAcknowledgementsInput.parse(given);
      const rows = await visible(call, findings);
      return await database.write(call, async (tx) => {
        await tx.lock(lock);
        const results: FindingResult[] = [];
        for (const id of findings) {
          const row = rows.get(id);
          if (row === undefined) {
            results.push(gone(id));
            continue;
          }
          const { count } = await tx.db.rosterAcknowledgement.deleteMany({ where: { key: row.key } });
          if (count > 0) {
            audit.record(tx, {
              action: "roster.withdraw_acknowledgement",
              target: { kind: "roster_finding", id },
              ...(row.userId !== null && { subjectUserId: row.userId }),
              ...(reason !== undefined && { reason }),
              before: { code: row.code },
              permission,
            });
          }
          const detail = count > 0 ? say("roster.it-counts-again") : say("roster.nobody-had-acknowledged-it");
          results.push({ id, outcome: count > 0 ? "withdrawn" : "unchanged", detail });
        }
        return { dry_run: false, results };
      });
    },
  };
}

function isOwn(call: Call, { userId }: RosterFinding): boolean {
  return userId !== null && call.actor?.id === userId && !call.actor.isOwner;
}

const own = (id: string): FindingResult => ({
  id,
  outcome: "refused",
  detail: say("roster.nobody-acknowledges-what-was-found-about-themselves"),
});
