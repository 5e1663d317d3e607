import type { Database, Tx } from "../../database/database.ts";
import type { BlacklistRecord, Prisma } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { can, requirePermission, requireWrite } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { fieldError, ProblemError, recordNotFound } from "../../kernel/errors.ts";
import type { ListQuery } from "../../kernel/fields.ts";
import type { Cursors, Page } from "../../kernel/page.ts";
import { toPage, withTotal } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { MatchesService } from "../intelligence/matches.service.ts";
import type { Standings } from "../permissions/standing.ts";
import { changesOf, draftOf } from "./blacklist.drafts.ts";
import { conditions } from "./blacklist.filters.ts";
import type { Ranks } from "./blacklist.policy.ts";
import { checkedRecord, presentRecord, requireOutranks, statusAt, visibleRecord } from "./blacklist.policy.ts";
import type { ChangeNote, RecordDraft } from "./blacklist.records.ts";
import { createBlacklistRecords } from "./blacklist.records.ts";
import type { BlacklistCheck, BlacklistVersionView, BlacklistView } from "./blacklist.schema.ts";
import {
  CheckBlacklistInput,
  CreateBlacklistInput,
  kindIssues,
  ListBlacklistQuery,
  RevokeBlacklistInput,
  UpdateBlacklistInput,
} from "./blacklist.schema.ts";
import { createSweep } from "./blacklist.sweep.ts";

export type BlacklistService = ReturnType<typeof createBlacklistService>;

export interface BlacklistParts {
  database: Database;
  audit: AuditService;
  events: Pick<EventsService, "emit">;
  matches: MatchesService;
  standing: Ranks & Pick<Standings, "noteRecord">;
  cursors: Cursors;
  clock: Clock;
  /** The key of server hashes, the same that hashes people's servers. */
  serversKey: Buffer;
}

export function createBlacklistService(parts: BlacklistParts) {
  const { database, standing, cursors, clock } = parts;
  const records = createBlacklistRecords(parts);

  /** Read a record to change it: under its lock, in the revision the caller knows, and not ended. */
  async function open(tx: Tx, key: string, ifMatch: number | undefined, action: string): Promise<BlacklistRecord> {
    const found = await tx.db.blacklistRecord.findFirst({ where: byKey(key) });
    if (found === null) throw recordNotFound();
    await tx.lock(`blacklist:${found.id}`);
    const row = await tx.db.blacklistRecord.findUniqueOrThrow({ where: { id: found.id } });
    if (ifMatch !== undefined && ifMatch !== row.revision) {
      throw new ProblemError("precondition_failed", { extra: { current_etag: `"v${row.revision.toString()}"` } });
    }
    const status = statusAt(row, tx.now);
    if (status === "expired" || status === "revoked")
      throw new ProblemError("invalid_transition", { extra: { from: status, action, allowed: [] } });
    requireOutranks(tx.call, standing, row);
    return row;
  }

  async function find(key: string): Promise<BlacklistRecord> {
    const row = await database.read.blacklistRecord.findFirst({ where: byKey(key) });
    if (row === null) throw recordNotFound();
    return row;
  }

  return {
    /** List a subject directly. @throws ProblemError duplicate_active_record, hierarchy_violation */
    async create(call: Call, input: CreateBlacklistInput): Promise<BlacklistView> {
      requireWrite(call, "blacklist.create");
      const parsed = CreateBlacklistInput.parse(input);
      const view = await database.write(call, async (tx) => {
        const draft = draftOf(parsed, call, tx.now);
        requireOutranks(call, standing, draft);
        const { row } = await records.create(tx, draft, { action: "blacklist.create", permission: "blacklist.create" });
        return presentRecord(row, tx.now);
      });
      return visibleRecord(call, view);
    },

    /** @param key id or number such as `BL-000123` */
    async get(call: Call, key: string): Promise<BlacklistView> {
      requirePermission(call, "blacklist.read");
      return visibleRecord(call, presentRecord(await find(key), clock.now()));
    },

    /** Records, newest first. */
    async list(call: Call, query: ListBlacklistQuery): Promise<Page<BlacklistView>> {
      requirePermission(call, "blacklist.read");
      const { limit, cursor, count, ...filters } = ListBlacklistQuery.parse(query);
      const now = clock.now();
      const position = cursor === undefined ? undefined : cursors.decode("blacklist", filters, cursor);
      const readsConfidential = can(call, "blacklist.read_confidential");
      const asked = { filters, now, readsConfidential, dialect: database.dialect };
      const rows = await database.read.blacklistRecord.findMany({
        where: conditions({ ...asked, position }),
        orderBy: [{ createdAt: "desc" }, { id: "desc" }],
        take: limit + 1,
      });
      const page = toPage(
        rows,
        limit,
        (row) => visibleRecord(call, presentRecord(row, now)),
        (last) => cursors.encode("blacklist", filters, [last.createdAt.toISOString(), last.id]),
      );
      return withTotal(page, { count }, () =>
        database.read.blacklistRecord.count({ where: conditions({ ...asked, position: undefined }) }),
      );
    },

    /** Change a record. Nothing changed: nothing written. @throws ProblemError precondition_failed, invalid_transition */
    async update(call: Call, key: string, input: UpdateBlacklistInput, ifMatch?: number): Promise<BlacklistView> {
      requireWrite(call, "blacklist.update");
      const parsed = UpdateBlacklistInput.parse(input);
      const view = await database.write(call, async (tx) => {
        const row = await open(tx, key, ifMatch, "update");
        const [issue] = kindIssues(row.kind as "user" | "server", parsed);
        if (issue !== undefined) throw fieldError(`/${issue.path.join("/")}`, "invalid_value", issue.message);
        const changes = changesOf(parsed, row, tx.now);
        const isSame = JSON.stringify(presentRecord({ ...row, ...changes }, tx.now)) === JSON.stringify(presentRecord(row, tx.now));
        if (isSame) return presentRecord(row, tx.now);
        const changed = await records.change(tx, row, withJson(changes), { action: "blacklist.update", permission: "blacklist.update" });
        return presentRecord(changed.row, tx.now);
      });
      return visibleRecord(call, view);
    },

    /** Take a record back; it stays with its history. @throws ProblemError precondition_failed, invalid_transition */
    async revoke(call: Call, key: string, input: { reason?: string | undefined }, ifMatch?: number): Promise<BlacklistView> {
      requireWrite(call, "blacklist.revoke");
      const { reason } = RevokeBlacklistInput.parse(input, { reportInput: true });
      const view = await database.write(call, async (tx) => {
        const row = await open(tx, key, ifMatch, "revoke");
        const revokedBy = call.actor?.id ?? null;
        const changes = { status: "revoked", activeKey: null, revokedAt: tx.now, revokedBy, revokeReason: reason };
        const { row: revoked } = await records.change(tx, row, changes, {
          action: "blacklist.revoke",
          permission: "blacklist.revoke",
          reason,
        });
        return presentRecord(revoked, tx.now);
      });
      return visibleRecord(call, view);
    },

    /** Look many subjects up at once; the answer keeps the order of the question. */
    async check(call: Call, input: CheckBlacklistInput): Promise<BlacklistCheck> {
      requirePermission(call, "blacklist.check");
      const { user_ids, server_ids } = CheckBlacklistInput.parse(input);
      const now = clock.now();
      const asked = [
        { kind: "user", subjectId: { in: user_ids } },
        { kind: "server", subjectId: { in: server_ids } },
      ];
      const rows = await database.read.blacklistRecord.findMany({
        where: { activeKey: { not: null }, OR: asked },
        orderBy: { severityOrder: "desc" },
      });
      const active = rows.filter((row) => statusAt(row, now) === "active");
      const answer = (kind: string, ids: string[]) =>
        [...new Set(ids)].map((id) => {
          const found = active
            .filter((row) => row.kind === kind && row.subjectId === id)
            .map((row) => checkedRecord(call, presentRecord(row, now)));
          return { id, listed: found.length > 0, records: found };
        });
      return { users: answer("user", user_ids), servers: answer("server", server_ids) };
    },

    /** Every version of a record, newest first. */
    async history(call: Call, key: string, query: ListQuery): Promise<Page<BlacklistVersionView>> {
      requirePermission(call, "blacklist.read");
      const { id } = await find(key);
      const before = query.cursor === undefined ? undefined : Number(cursors.decode("blacklist_history", { id }, query.cursor)[0]);
      const rows = await database.read.blacklistVersion.findMany({
        where: { recordId: id, ...(before !== undefined && { revision: { lt: before } }) },
        orderBy: { revision: "desc" },
        take: query.limit + 1,
      });
      const page = toPage(
        rows,
        query.limit,
        (row) => ({
          revision: row.revision,
          changed_at: row.changedAt.toISOString(),
          changed_by: row.changedBy,
          record: visibleRecord(call, row.snapshot as unknown as BlacklistView),
        }),
        (last) => cursors.encode("blacklist_history", { id }, [last.revision, id]),
      );
      return withTotal(page, query, () => database.read.blacklistVersion.count({ where: { recordId: id } }));
    },

    ...createSweep({ database, records, clock }),

    /** Make a record, or strengthen the active one, inside another room's transaction. The caller has checked rights and ranks. */
    createWithin: (tx: Tx, draft: RecordDraft, note: ChangeNote) => records.createOrMerge(tx, draft, note),
    /** Before several records are made in one transaction: so that two who make the same ones never wait for each other. */
    lockSubjects: records.lockSubjects,
  };
}

function byKey(key: string): Prisma.BlacklistRecordWhereInput {
  const number = /^bl-(\d{6,9})$/i.exec(key)?.[1];
  return number === undefined ? { id: key.toLowerCase() } : { number: Number(number) };
}

/** Rows read their JSON columns as any JSON; what is written here is never null. */
function withJson(changes: Partial<BlacklistRecord>): Prisma.BlacklistRecordUncheckedUpdateManyInput {
  return changes as Prisma.BlacklistRecordUncheckedUpdateManyInput;
}
