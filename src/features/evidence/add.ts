import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Place, EvidenceHosts, Host, HostKind } from "./hosts.ts";
import type { Tx } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError, ProblemError } from "../../kernel/errors.ts";
import { toJson } from "../../kernel/parsing.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { AuditService } from "../audit/audit.service.ts";
import { sniffType, type createCapture, type FileDraft } from "./capture.ts";
import { auditKinds, confidentialPermission, evidencePolicy } from "./evidence.policy.ts";
import { committed, presentPiece, whole, type Piece, type StoredMessage } from "./rows.ts";
import { AddEvidenceInput, maxPieces, type EvidenceView, type ParsedEvidence } from "./evidence.schema.ts";
import type { LooseFile } from "./stores/store.ts";
import type { EvidenceBytes } from "./bytes.ts";

interface AddDeps extends Deps<"database" | "events"> {
  audit: AuditService;
  hosts: EvidenceHosts;
  capture: ReturnType<typeof createCapture>;
  bytes: Pick<EvidenceBytes, "holdInTx">;
}

/** A piece before it is written: its files are stored already. */
interface Draft {
  input: ParsedEvidence;
  message: StoredMessage | null;
  files: readonly FileDraft[];
}

/** Files that are on the disk and wait for a transaction to refer to them. */
export interface KeptFiles {
  /** The ids that their pieces of evidence get, in the order of the files. */
  ids: readonly string[];
  /** Add each as a piece of its own. The caller has checked the right to. @throws ProblemError invalid_transition when the record is full */
  addInTx(tx: Tx, kind: HostKind, host: Host): Promise<void>;
  /** They are deleted when nothing refers to them; called once the transaction is over, however it ended. */
  release(): void;
}

/** A file that came with a request; it is moved away when it is kept. */
export interface SentFile extends LooseFile {
  name: string;
}

export function createAdding({ database, audit, events, hosts, capture, bytes }: AddDeps) {
  async function gather(call: Call, input: ParsedEvidence, file: SentFile | undefined, pins: (() => void)[]): Promise<Draft> {
    const draft = { input, message: null, files: [] };
    switch (input.kind) {
      case "file": {
        if (file === undefined) throw fieldError("/file", "required", say("evidence.send-the-file-as-multipart-form-data"));
        const kept = await capture.keep(file, file.name, pins);
        return { ...draft, files: [kept] };
      }
      case "message": {
        const { message: found, files } = await capture.message(input, call.actor?.id ?? null, pins);
        const message: StoredMessage = {
          guild_id: found.guildId,
          channel_id: found.channelId,
          message_id: found.messageId,
          author_id: found.authorId,
          content: found.content,
          sent_at: found.sentAt.toISOString(),
          edited_at: found.editedAt?.toISOString() ?? null,
          parts: found.parts,
        };
        return { input, message, files };
      }
      case "link":
      case "text":
      case "record":
        return draft;
    }
  }

  async function insert(tx: Tx, kind: HostKind, host: Host, draft: Draft, id = uuid7(tx.now.getTime())): Promise<Piece> {
    const { input, message, files } = draft;
    const held = await tx.db.evidenceItem.count({ where: { recordKind: kind, recordId: host.id } });
    if (held >= maxPieces)
      throw new ProblemError("invalid_transition", { detail: say("evidence.a-record-holds-at-most-pieces-of", { count: maxPieces }) });
    await bytes.holdInTx(tx, files);
    const content = {
      kind: input.kind,
      note: input.note ?? null,
      url: input.kind === "link" ? input.url : null,
      recordRef: input.kind === "record" ? input.record_ref : null,
    };
    return await tx.db.evidenceItem.create({
      data: {
        id,
        recordKind: kind,
        recordId: host.id,
        title: input.title ?? null,
        ...content,
        ...(message !== null && { message: toJson(message) as Prisma.InputJsonObject }),
        ...committed({ ...content, message: message as Prisma.JsonObject | null, files }),
        isVerified: input.kind === "message",
        isConfidential: input.confidential,
        capturedAt: tx.now,
        capturedBy: tx.call.actor?.id ?? null,
        files: { create: files.map((file, position) => ({ position, ...file })) },
      },
      include: whole,
    });
  }

  function recordAdded(tx: Tx, kind: HostKind, host: Host, row: Piece): void {
    audit.record(tx, {
      action: "evidence.add",
      target: { kind: auditKinds[kind], id: host.id, reference: host.reference },
      ...(host.subjectUserId !== null && { subjectUserId: host.subjectUserId }),
      after: { evidence_id: row.id, kind: row.kind, commitment: row.commitment, files: row.files.length, verified: row.isVerified },
      permission: evidencePolicy.add,
    });
    if (kind !== "case") return;
    const permission = row.isConfidential ? confidentialPermission[kind] : host.eventPermission;
    events.emit(tx, {
      type: "case.updated",
      data: { id: host.id, reference: host.reference, evidence_id: row.id },
      ...(permission !== undefined && { permission }),
    });
  }

  return {
    /** What the bytes of a file look like. */
    typeOf: (file: SentFile): Promise<string> => sniffType(file.path),

    /**
     * Keep files for another feature's transaction, which adds them to a record of its own.
     * @throws ProblemError storage_full, storage_readonly
     */
    async keep(files: readonly SentFile[], at: Date): Promise<KeptFiles> {
      const pins: (() => void)[] = [];
      const release = (): void => {
        for (const unpin of pins) unpin();
      };
      try {
        const drafts: (Draft & { id: string })[] = [];
        for (const file of files)
          drafts.push({
            id: uuid7(at.getTime()),
            input: AddEvidenceInput.parse({ kind: "file" }),
            message: null,
            files: [await capture.keep(file, file.name, pins)],
          });
        return {
          ids: drafts.map(({ id }) => id),
          release,
          async addInTx(tx, kind, host) {
            for (const draft of drafts) recordAdded(tx, kind, host, await insert(tx, kind, host, draft, draft.id));
          },
        };
      } catch (error) {
        release();
        throw error;
      }
    },

    /**
     * Add a piece to a record the caller may change. Files are stored, and messages fetched, before anything is written.
     * @param file what came with the request, for a piece of kind `file`
     * @throws ProblemError record_not_found, validation_failed, invalid_transition, discord_unavailable, storage_full, storage_readonly
     */
    async add(call: Call, place: Place, given: AddEvidenceInput, file?: SentFile): Promise<EvidenceView> {
      requireWrite(call, evidencePolicy.add);
      const input = AddEvidenceInput.parse(given);
      if (input.confidential) requirePermission(call, confidentialPermission[place.kind]);
      const host = hosts.of(place);
      const { id } = await host.read(call, place.key);
      const replay = await database.findReplay(call);
      if (replay !== undefined) return replay.value as EvidenceView;
      const pins: (() => void)[] = [];
      try {
        const draft = await gather(call, input, file, pins);
        return await database.write(call, async (tx) => {
          const opened = await host.open(tx, id);
          const row = await insert(tx, place.kind, opened, draft);
          recordAdded(tx, place.kind, opened, row);
          return presentPiece(row, opened);
        });
      } finally {
        for (const unpin of pins) unpin();
      }
    },
  };
}
