import { say } from "../../kit/say.ts";
import type { PrivacyDeps, Wipe } from "./wipe.ts";
import type { z } from "zod";
import type { Tx } from "../../database/database.ts";
import { requireAnswered, requireWrite, type Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { Snowflake } from "../../kernel/fields.ts";
import type { Held } from "../../kernel/held.ts";
import type { Access } from "../permissions/access/access-directory.ts";
import { keptWords, privacyPolicy } from "./privacy.policy.ts";
import { RedactInput, type ErasureView } from "./privacy.schema.ts";

type RedactDeps = Pick<PrivacyDeps, "database" | "audit" | "events" | "confirmations" | "permissions" | "access" | "erasures" | "reads"> & {
  wipe: Wipe;
};

const action = "users.redact";
const HeldInput = RedactInput.extend({ user_id: Snowflake });
type HeldInput = z.output<typeof HeldInput>;

/** Redaction is asked for by one person and confirmed by another; the operator's command line is above that. */
export function createRedaction(deps: RedactDeps) {
  const { database, audit, events, confirmations, permissions, access, erasures, reads, wipe } = deps;

  /** @throws ProblemError last_owner, hierarchy_violation, invalid_transition */
  function requireErasable(call: Call, target: Access): void {
    if (target.isOwner && access.listOwners().length === 1)
      throw new ProblemError("last_owner", { detail: say("privacy.this-is-the-last-owner-name-another") });
    if (target.isOwner) throw new ProblemError("hierarchy_violation", { detail: say("privacy.owners-cannot-be-redacted") });
    // The operator's command line has no link to Discord, and a deletion does not wait for one.
    if (call.actor !== null) requireAnswered(target);
    permissions.requireRankAbove(call, target.rank);
    if (!target.isStaff) return;
    throw new ProblemError("invalid_transition", {
      detail: say("privacy.this-person-is-staff-take-their-roles"),
      extra: { from: "staff", action: "redact", allowed: [] },
    });
  }

  async function apply(tx: Tx, { user_id: userId, reason, suppress }: HeldInput): Promise<ErasureView> {
    const deleted = await wipe.all(tx, { userId });
    const details = await audit.erase(
      tx,
      { subjectUserId: userId },
      {
        action: "user.redact",
        user: userId,
        reason,
        after: { deleted, suppress },
        permission: action,
      },
    );
    await erasures.note(tx, "redaction", userId);
    if (suppress) await erasures.note(tx, "suppression", userId);
    events.emit(tx, { type: "user.erased", data: { user_id: userId, kind: "redaction" } });
    return {
      discord_user_id: userId,
      kind: "redaction",
      erased_at: tx.now.toISOString(),
      deleted: { ...deleted, audit_details: details },
      kept: [...keptWords.redaction],
      suppressed: suppress,
    };
  }

  async function redactInTx(tx: Tx, input: HeldInput): Promise<ErasureView | Held> {
    // As where a redaction that waited is carried out.
    await confirmations.lock(tx);
    await tx.lock(`erasure:${input.user_id}`);
    const target = access.of(input.user_id);
    requireErasable(tx.call, target);
    const held = await confirmations.hold(tx, {
      action,
      group: "erasure",
      permission: privacyPolicy.redact,
      input,
      summary: `Erase what is stored about ${input.user_id}`,
      secondPerson: true,
      subjectUserId: input.user_id,
      rank: target.rank,
    });
    return held ?? (await apply(tx, input));
  }

  confirmations.register(action, (tx, held) => {
    requireWrite(tx.call, privacyPolicy.redact);
    return redactInTx(tx, HeldInput.parse(held));
  });

  return {
    /**
     * Erase a person: what they shared, their names, links and staff data, and the details of the audit about them. Moderation
     * records stay as records about an id. Waits for a second person, except at the command line.
     * @throws ProblemError last_owner, hierarchy_violation, invalid_transition (present staff), and as `hold`
     */
    async redact(call: Call, userId: string, given: RedactInput): Promise<ErasureView | Held> {
      requireWrite(call, privacyPolicy.redact);
      const input = { ...RedactInput.parse(given), user_id: Snowflake.parse(userId) };
      requireErasable(call, await access.resolve(userId));
      await reads.flush();
      const answer = await database.write(call, (tx) => redactInTx(tx, input));
      await wipe.told();
      return answer;
    },
  };
}
