import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import { z } from "zod";
import type { Tx } from "../../database/database.ts";
import { forgetAnswers } from "../../database/idempotency.ts";
import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import { requireWrite, type Call } from "../../kernel/call.ts";
import type { Held } from "../../kernel/held.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import type { MatchesService } from "../intelligence/matches/matches.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { feed } from "./side-effects.ts";
import type { Opening } from "./open.ts";
import { referenceOf, statusAt, toMatchRecord } from "./blacklist.policy.ts";
import { PurgeBlacklistInput, type BlacklistPurge } from "./blacklist.schema.ts";

export interface PurgeDeps extends Deps<"database" | "events"> {
  audit: Pick<AuditService, "erase">;
  matches: Pick<MatchesService, "applyRecord">;
  access: Pick<AccessDirectory, "noteRecord">;
  confirmations: Pick<ConfirmationsService, "hold" | "register">;
  opening: Opening;
  /** Deletes the evidence of a record. */
  dropEvidence?: (tx: Tx, recordId: string) => Promise<unknown>;
}

const action = "blacklist.purge";
const HeldInput = PurgeBlacklistInput.extend({ id: z.string() });
type HeldInput = z.output<typeof HeldInput>;

/** Purging erases a record that does not count any more; what stays is its number, when it went, and why. */
export function createPurge(deps: PurgeDeps) {
  const { database, audit, events, access, matches, confirmations, opening, dropEvidence } = deps;

  /** Everything that was made of the record, its row last. */
  async function erase(tx: Tx, row: BlacklistRecord): Promise<void> {
    const about = { where: { recordId: row.id } };
    await dropEvidence?.(tx, row.id);
    // Time may have ended it before the sweep came by: anyone who remembers it is told as if it had.
    await matches.applyRecord(tx, toMatchRecord(row, tx.now));
    tx.afterCommit(() => access.noteRecord({ ...row, status: statusAt(row, tx.now) }));
    await tx.db.match.deleteMany(about);
    await tx.db.blacklistChange.deleteMany(about);
    await tx.db.blacklistWord.deleteMany(about);
    await tx.db.blacklistVersion.deleteMany(about);
    await tx.db.blacklistRecord.delete({ where: { id: row.id } });
    await forgetAnswers(tx, row.id);
  }

  async function purge(tx: Tx, { id, reason }: HeldInput, ifMatch?: number): Promise<BlacklistPurge | Held> {
    const row = await opening.open(tx, id, { ifMatch, action: "purge", wanted: "ended" });
    const reference = referenceOf(row);
    const held = await confirmations.hold(tx, {
      action,
      group: "erasure",
      permission: action,
      input: { id: row.id, reason } satisfies HeldInput,
      summary: say("blacklist.erase-the-blacklist-record-for-good", { reference }),
      dangerous: [action],
      ...(row.kind === "user" && { subjectUserId: row.subjectId }),
    });
    if (held !== undefined) return held;
    await erase(tx, row);
    tx.append(feed, { recordId: row.id, number: row.number, revision: row.revision + 1, what: "purged", kind: row.kind, category: null });
    const entry = { action, target: { kind: "blacklist", id: row.id, reference }, reason, permission: action };
    await audit.erase(tx, { targetId: row.id }, entry);
    events.emit(tx, { type: "blacklist.purged", data: { id: row.id, number: reference, kind: row.kind } });
    return { id: row.id, number: reference, purged_at: tx.now.toISOString(), reason };
  }

  confirmations.register(action, (tx, held) => {
    requireWrite(tx.call, action);
    return purge(tx, HeldInput.parse(held));
  });

  /**
   * Erase a record with its versions, words, matches and evidence, and the details of the audit about it. Its number is not given
   * again. Waits for a second person where dangerous changes do.
   * @throws ProblemError record_not_found, precondition_failed, invalid_transition while it counts, hierarchy_violation, and as `hold`
   */
  return async (call: Call, key: string, input: PurgeBlacklistInput, ifMatch?: number): Promise<BlacklistPurge | Held> => {
    requireWrite(call, action);
    const { reason } = PurgeBlacklistInput.parse(input);
    return await database.write(call, (tx) => purge(tx, { id: key, reason }, ifMatch));
  };
}
