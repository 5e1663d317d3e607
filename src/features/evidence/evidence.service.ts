import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Place, EvidenceHosts, EvidenceHost, HostKind, Host } from "./hosts.ts";
import { presentPiece, whole, type FoundPiece, committed, type Piece, type StoredMessage } from "./rows.ts";
import type { Readable } from "node:stream";
import type { Tx, Database } from "../../database/database.ts";
import { can, requirePermission, type Call, systemCall, requireWrite } from "../../kernel/call.ts";
import type { Config } from "../../config/config.ts";
import { ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { FollowedEntries } from "../follows/entries.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import { createAdding } from "./add.ts";
import { createEvidenceBytes, type EvidenceBytes } from "./bytes.ts";
import { createCapture, attachmentHeader, type Capturing } from "./capture.ts";
import { evidencePolicy, readsConfidential, auditKinds } from "./evidence.policy.ts";
import { type EvidenceView, type ListEvidenceQuery, RedactEvidenceInput } from "./evidence.schema.ts";
import { createEvidenceFiles } from "./files.ts";
import { createEvidenceStore, type StoreNeeds } from "./stores/create-store.ts";
import { createMoving } from "./move.ts";
import { requireOwnPlace } from "./place.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { z } from "zod";
import { forgetAnswers } from "../../database/idempotency.ts";
import type { Held } from "../../kernel/held.ts";
import { requireRevision } from "../../kernel/revision.ts";

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
function createRedacting({ database, audit, confirmations, hosts, bytes, find }: RedactDeps) {
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

/** Set by the migration of a database in which hashes of contents were stored. */
const key = "evidence_commitments";
/** Pieces of one transaction. */
const batch = 200;

/**
 * Gives pieces that were stored with a plain hash their commitment, and erases the details of the audit entries that hold such a hash:
 * contents can be guessed by them, also those that were redacted since. Done once, before anything is served.
 */
async function upgradeHashes(database: Database, audit: Pick<AuditService, "record" | "erase">): Promise<void> {
  const call = systemCall("job", uuid7());
  if ((await database.read.$select("Setting", Prisma.sql`WHERE t.key = ${key}`)).length === 0) return;
  while ((await database.write(call, (tx) => commitSome(tx, audit))) === batch);
  await database.write(call, async (tx) => {
    const permission = "system.act";
    for (const prefix of ["evidence.add", "evidence.redact"])
      await audit.erase(tx, { actionPrefixes: [prefix] }, { action: "evidence.forget_hashes", after: { entries: prefix }, permission });
    await tx.db.setting.delete({ where: { key } });
  });
}

/** The entry binds the commitments into the chain, as that of a new piece does. */
async function commitSome(tx: Tx, audit: Pick<AuditService, "record">): Promise<number> {
  const where = { commitment: null, redactedAt: null };
  const pieces = await tx.db.evidenceItem.findMany({ where, include: whole, orderBy: { id: "asc" }, take: batch });
  const made: object[] = [];
  for (const piece of pieces) {
    const data = committed(piece);
    await tx.db.evidenceItem.update({ where: { id: piece.id }, data });
    made.push({ evidence_id: piece.id, kind: piece.kind, commitment: data.commitment });
  }
  if (made.length > 0) audit.record(tx, { action: "evidence.commit", after: { pieces: made }, permission: "system.act" });
  return pieces.length;
}

export type EvidenceService = ReturnType<typeof createEvidenceService>;

export interface EvidenceDeps extends Deps<"database" | "events" | "cursors" | "clock"> {
  audit: AuditService;
  confirmations: Pick<ConfirmationsService, "hold" | "register">;
  discord: Capturing;
  followedEntries: Pick<FollowedEntries, "count" | "listedLinks">;
  config: Pick<Config, "dataDir" | "evidenceMaxBytes" | "evidenceStore" | "evidenceS3">;
  evidenceKeys: StoreNeeds["evidenceKeys"];
  instanceId: string;
  /** Whether other processes keep and delete files, too. */
  isShared: boolean;
  logger: { error(details: object, message: string): void; warn(message: string): void };
}

/** A file on its way out. */
export interface EvidenceDownload {
  headers: Readonly<Record<string, string>>;
  body: Readable;
}

/** How often files nothing refers to are looked for. */
const sweepEveryMs = 600_000;

/** What records rest on: files, captured messages, addresses and texts. */
export function createEvidenceService(deps: EvidenceDeps) {
  const { config, database, cursors, clock, logger, followedEntries } = deps;
  const maxBytes = config.evidenceMaxBytes;
  const store = createEvidenceStore(config.evidenceStore, deps);
  const files = createEvidenceFiles(config.dataDir, store, logger);
  const bytes = createEvidenceBytes({
    files,
    database,
    isShared: deps.isShared,
    onFailed: (error) => logger.error({ err: error }, "a file of evidence was not deleted"),
  });
  const capture = createCapture({ files, maxBytes, discord: deps.discord });
  const registered = new Map<HostKind, EvidenceHost>();
  const hosts: EvidenceHosts = {
    of({ kind }) {
      const host = registered.get(kind);
      if (host === undefined) throw recordNotFound();
      return host;
    },
  };
  let sweptAt = 0;

  /** A record the caller may not read hides its evidence, too. */
  async function find(call: Call, id: string): Promise<FoundPiece> {
    const row = await database.read.evidenceItem.findUnique({ where: { id }, include: whole });
    if (row === null) throw recordNotFound();
    const kind = row.recordKind as HostKind;
    if (row.isConfidential && !readsConfidential(call, kind)) throw recordNotFound();
    const host = await hosts
      .of({ kind })
      .read(call, row.recordId)
      .catch((error: unknown) => {
        throw error instanceof ProblemError && error.status === 403 ? recordNotFound() : error;
      });
    return { row, kind, host };
  }

  /** With what followed lists say of the links that staff submitted; not of what people wrote in messages. */
  async function withListed(call: Call, views: readonly EvidenceView[]): Promise<EvidenceView[]> {
    if (followedEntries.count() === 0 || !can(call, "lists.read")) return [...views];
    const listed = await followedEntries.listedLinks(views.map(({ title, note, url }) => [title, note, url]));
    return views.map((view, index) => ({ ...view, listed_links: listed[index] ?? [] }));
  }

  return {
    ...createAdding({ ...deps, hosts, capture, bytes }),
    ...createRedacting({ ...deps, hosts, bytes, find }),

    /** Let records of a kind hold evidence; their feature does so at start. */
    register: (kind: HostKind, host: EvidenceHost): void => void registered.set(kind, host),
    maxBytes,
    /** Where files arrive. */
    arriving: files.loose,
    /** Settles when no file is being deleted. */
    drained: bytes.drained,

    /**
     * Make ready where files are, and bring pieces of an earlier version up to date.
     * @throws OperatorError naming what cannot be used
     */
    async prepare(): Promise<void> {
      await requireOwnPlace(database, config.evidenceStore);
      const away = await files.prepare();
      if (away !== undefined) logger.warn(away);
      await upgradeHashes(database, deps.audit);
    },

    /** Why files cannot be kept or read now; undefined when they can. */
    trouble: store.trouble,
    proveShared: store.proveShared,

    ...createMoving(deps),

    /** The evidence of one record, newest first, without what is confidential to the caller. @throws ProblemError record_not_found */
    async list(call: Call, place: Place, { limit, cursor, count }: ListEvidenceQuery): Promise<Page<EvidenceView>> {
      requirePermission(call, evidencePolicy.read);
      const host = await hosts.of(place).read(call, place.key);
      const filters = { kind: place.kind, id: host.id };
      const hidden = readsConfidential(call, place.kind) ? {} : { isConfidential: false };
      const where = { recordKind: place.kind, recordId: host.id, ...hidden };
      const [at, id] = cursor === undefined ? [] : cursors.decode("evidence", filters, cursor);
      const before =
        at === undefined || id === undefined ? [] : [{ capturedAt: { lt: new Date(at) } }, { capturedAt: new Date(at), id: { lt: id } }];
      const rows = await database.read.evidenceItem.findMany({
        where: { ...where, ...(before.length > 0 && { OR: before }) },
        include: whole,
        orderBy: [{ capturedAt: "desc" }, { id: "desc" }],
        take: limit + 1,
      });
      const page = toPage(
        rows,
        limit,
        (row) => presentPiece(row, host),
        (last) => cursors.encode("evidence", filters, [last.capturedAt.toISOString(), last.id]),
      );
      const data = await withListed(call, page.data);
      return withTotal({ ...page, data }, { count }, () => database.read.evidenceItem.count({ where }));
    },

    /** @throws ProblemError record_not_found when it does not exist or the caller may not know of it */
    async get(call: Call, id: string): Promise<EvidenceView> {
      requirePermission(call, evidencePolicy.read);
      const { row, host } = await find(call, id);
      const view = presentPiece(row, host);
      const [listed = view] = await withListed(call, [view]);
      return listed;
    },

    /** A file as it was kept, for saving and never for showing. @throws ProblemError record_not_found, internal_error when its bytes are gone */
    async download(call: Call, id: string, position: number): Promise<EvidenceDownload> {
      requirePermission(call, evidencePolicy.read);
      const { row } = await find(call, id);
      const file = row.files.find((one) => one.position === position);
      if (file?.status !== "stored" || file.sha256 === null) throw recordNotFound();
      const { sha256 } = file;
      const onChanged = (): void => logger.error({ evidence_id: id, position }, "a file of evidence is not what was kept");
      const body = await files.read(sha256, file.bytes, onChanged);
      if (body === undefined) {
        onChanged();
        throw new ProblemError("internal_error", { detail: say("evidence.the-file-is-not-there-as-it") });
      }
      return { headers: downloadHeaders(file.name ?? "file", file.bytes, sha256), body };
    },

    /** Bring all that hangs on one request to another one, as it is. The caller has checked the right to. */
    async moveInTx(tx: Tx, fromId: string, toId: string): Promise<void> {
      await tx.db.evidenceItem.updateMany({ where: { recordKind: "request", recordId: fromId }, data: { recordId: toId } });
    },

    /**
     * Delete the evidence of a record that is deleted permanently. Files that nothing refers to then go after the commit.
     * @returns how many pieces
     */
    async dropOf(tx: Tx, kind: HostKind, recordId: string): Promise<number> {
      const where = { recordKind: kind, recordId };
      const rows = await tx.db.evidenceFile.findMany({ where: { evidence: where }, select: { sha256: true } });
      const { count } = await tx.db.evidenceItem.deleteMany({ where });
      bytes.removeLater(tx, rows);
      return count;
    },

    /** Delete files nothing refers to and leftovers, older than an hour. For the job that runs each minute; it looks every ten. */
    async sweep(): Promise<number> {
      const now = clock.now();
      if (now.getTime() - sweptAt < sweepEveryMs) return 0;
      sweptAt = now.getTime();
      return await files.sweep(now, bytes.removeUnreferred);
    },
  };
}

/** No browser shows it, runs it or keeps it. */
function downloadHeaders(name: string, bytes: number, sha256: string): Record<string, string> {
  return {
    "Content-Disposition": attachmentHeader(name),
    "Content-Length": bytes.toString(),
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, no-store",
    ETag: `"${sha256}"`,
    "Repr-Digest": `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`,
  };
}
