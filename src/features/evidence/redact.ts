import { say } from "../../kit/say.ts";
import { presentPiece, whole, type FoundPiece, type Piece, type StoredMessage } from "./rows.ts";
import type { EvidenceHosts, Host } from "./hosts.ts";
import { z } from "zod";
import type { Database, Tx } from "../../database/database.ts";
import { forgetAnswers } from "../../database/idempotency.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { requireWrite, type Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { Held } from "../../kernel/held.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import { auditKinds, evidencePolicy } from "./evidence.policy.ts";
import { RedactEvidenceInput, type EvidenceView } from "./evidence.schema.ts";
import type { EvidenceBytes } from "./bytes.ts";

interface RedactDeps {
  database: Database;
  audit: AuditService;
  confirmations: Pick<ConfirmationsService, "hold" | "register">;
  hosts: EvidenceHosts;
  bytes: EvidenceBytes;
  /** @throws ProblemError record_not_found for a piece the caller may not read */
  find: (call: Call, id: string) => Promise<FoundPiece>;
}

const action = "evidence.redact";
const HeldInput = RedactEvidenceInput.extend({ id: z.string(), revision: z.int().optional() });
type HeldInput = z.output<typeof HeldInput>;

/** What stays of a message: where and when it was, and who wrote it. */
function withoutContent({ parts: _, ...message }: StoredMessage): Prisma.InputJsonObject {
  return { ...message, content: null };
}

/** The content goes permanently; that there was something, and whose it was, stays. */
export function createRedacting({ database, audit, confirmations, hosts, bytes, find }: RedactDeps) {
  async function redactInTx(tx: Tx, { id, reason, revision }: HeldInput): Promise<EvidenceView | Held> {
    const { host, kind } = await find(tx.call, id);
    await hosts.of({ kind }).requireRedactable(tx, host.id);
    await tx.lock(`evidence:${id}`);
    const row = await tx.db.evidenceItem.findUniqueOrThrow({ where: { id }, include: whole });
    requireRevision(revision, row.revision);
    if (row.redactedAt !== null)
      throw new ProblemError("invalid_transition", {
        detail: say("evidence.it-is-redacted-already"),
        extra: { from: "redacted", action: "redact", allowed: [] },
      });
    const held = await confirmations.hold(tx, {
      action,
      group: "erasure",
      permission: evidencePolicy.redact,
      input: { id, reason, revision: row.revision },
      // Held changes are shown to more people than confidential records.
      summary: `Redact a piece of evidence (${row.kind})${host.eventPermission === undefined ? ` of ${host.reference}` : ""}`,
    });
    if (held !== undefined) return held;
    const redacted = await apply(tx, row, reason);
    note(tx, { row: redacted, host, reason, auditKind: auditKinds[kind] });
    return presentPiece(redacted, host);
  }

  async function apply(tx: Tx, row: Piece, reason: string): Promise<Piece> {
    await tx.db.evidenceFile.updateMany({ where: { evidenceId: row.id }, data: { name: null, sha256: null } });
    await tx.db.evidenceFile.updateMany({ where: { evidenceId: row.id, status: "stored" }, data: { status: "redacted" } });
    await forgetAnswers(tx, row.id);
    bytes.removeLater(tx, row.files);
    return await tx.db.evidenceItem.update({
      where: { id: row.id },
      data: {
        title: null,
        note: null,
        url: null,
        recordRef: null,
        message: row.message === null ? Prisma.DbNull : withoutContent(row.message as unknown as StoredMessage),
        salt: null,
        redactedAt: tx.now,
        redactedBy: tx.call.actor?.id ?? null,
        redactReason: reason,
        revision: { increment: 1 },
      },
      include: whole,
    });
  }

  function note(tx: Tx, { row, host, reason, auditKind }: { row: Piece; host: Host; reason: string; auditKind: string }): void {
    audit.record(tx, {
      action,
      target: { kind: auditKind, id: host.id, reference: host.reference },
      ...(host.subjectUserId !== null && { subjectUserId: host.subjectUserId }),
      reason,
      after: { evidence_id: row.id, kind: row.kind, commitment: row.commitment },
      permission: evidencePolicy.redact,
    });
  }

  confirmations.register(action, async (tx, held) => {
    requireWrite(tx.call, evidencePolicy.redact);
    return await redactInTx(tx, HeldInput.parse(held));
  });

  return {
    /**
     * Remove the content of a piece permanently: its words, names and addresses, the bytes that no other piece refers to, and
     * every hash by which it could be guessed. Kind, sizes, times and people stay, and a commitment that says nothing by itself.
     * @param ifMatch the revision the caller read
     * @throws ProblemError record_not_found, precondition_failed, invalid_transition, conflict_of_interest, hierarchy_violation
     */
    async redact(call: Call, id: string, given: RedactEvidenceInput, ifMatch?: number): Promise<EvidenceView | Held> {
      requireWrite(call, evidencePolicy.redact);
      const input = RedactEvidenceInput.parse(given);
      await find(call, id);
      return await database.write(call, (tx) => redactInTx(tx, { ...input, id, ...(ifMatch !== undefined && { revision: ifMatch }) }));
    },
  };
}
