import type { Tx } from "../../database/database.ts";
import type { BlacklistRecord, Prisma } from "../../generated/sqlite/client.ts";
import { can, notReadable, requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError } from "../../kernel/errors.ts";
import type { ListQuery } from "../../kernel/fields.ts";
import { partByPart } from "../../kernel/isolated.ts";
import { newestFirst } from "../../kernel/keyset.ts";
import { toPage, withTotal, type Cursors, type Page, type Position } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { ListChecks } from "../lists/checks.ts";
import type { LinkReach } from "../links/reach.ts";
import type { MatchesService } from "../intelligence/matches/matches.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { createWordsCatchUp, createSweep, createReviewSweep, type ReviewDeps } from "./upkeep.ts";
import { createChanges, dropNamesOf, lockRecordsOf } from "./changes.ts";
import { createCheck, type CheckDeps } from "./check.ts";
import { changesOf, draftOf } from "./drafts.ts";
import { conditions } from "./filters.ts";
import { readLimits, readPage } from "./reading.ts";
import { createOpening, type Opening } from "./open.ts";
import { confidentialFields, numbersFor, presentRecord, requireOutranks, recordsFor, referenceOf, type Ranks } from "./blacklist.policy.ts";
import { createPurge, type PurgeDeps } from "./purge.ts";
import { createBlacklistRecords, revocation } from "./records.ts";
import {
  CreateBlacklistInput,
  kindIssues,
  ListBlacklistQuery,
  RevokeBlacklistInput,
  UpdateBlacklistInput,
  type BlacklistVersionView,
  type BlacklistView,
} from "./blacklist.schema.ts";
import { searchCondition } from "./search.ts";
import { createInTx } from "./in-tx.ts";
import type { EvidenceHost, Host } from "../evidence/hosts.ts";

export type BlacklistService = ReturnType<typeof createBlacklistService>;

export interface BlacklistDeps extends CheckDeps, ReviewDeps, Omit<PurgeDeps, "opening"> {
  audit: AuditService;
  matches: MatchesService;
  listChecks: ListChecks;
  access: Ranks & Pick<AccessDirectory, "noteRecord">;
  cursors: Cursors;
  reach: Pick<LinkReach, "linkedAccountsOf" | "reachOfAll">;
}

export function createBlacklistService(parts: BlacklistDeps) {
  const { database, access, cursors, clock, logger } = parts;
  const records = createBlacklistRecords(parts);

  const opening = createOpening(parts);
  const sweep = createSweep({ database, records, clock, logger });
  const tellReviews = createReviewSweep(parts);
  const words = createWordsCatchUp(parts);

  async function presentIn(tx: Tx, row: BlacklistRecord): Promise<BlacklistView> {
    return presentRecord(row, tx.now, await numbersFor(tx.db, [row]));
  }

  return {
    /**
     * List a subject directly.
     * @param from what it was taken over from, where it was
     * @throws ProblemError duplicate_active_record, hierarchy_violation
     */
    async create(call: Call, input: CreateBlacklistInput, from?: { originReference: string }): Promise<BlacklistView> {
      requireWrite(call, "blacklist.create");
      const parsed = CreateBlacklistInput.parse(input);
      const view = await database.write(call, async (tx) => {
        const draft = { ...draftOf(parsed, call, tx.now), ...from };
        requireOutranks(call, access, draft);
        const { row } = await records.create(tx, draft, { action: "blacklist.create", permission: "blacklist.create" });
        return await presentIn(tx, row);
      });
      return recordsFor(call)(view);
    },

    /** @param key id or number such as `BL-000123` */
    async get(call: Call, key: string): Promise<BlacklistView> {
      requirePermission(call, "blacklist.read");
      const row = await opening.find(key);
      return recordsFor(call)(presentRecord(row, clock.now(), await numbersFor(database.read, [row])));
    },

    /** Records, newest first. */
    async list(call: Call, query: ListBlacklistQuery): Promise<Page<BlacklistView>> {
      requirePermission(call, "blacklist.read");
      const { limit, cursor, count, ...filters } = ListBlacklistQuery.parse(query);
      const now = clock.now();
      const position = cursor === undefined ? undefined : cursors.decode("blacklist", filters, cursor);
      const readsConfidential = can(call, "blacklist.read_confidential");
      const search = filters.q === undefined ? undefined : await searchCondition(database.read, { q: filters.q, readsConfidential });
      const asked = { filters, now, search };
      const { rows, reached } = await readPage(database.read, asked, { position, take: limit + 1 });
      const numbers = await numbersFor(database.read, rows);
      const cursorAt = (at: Position): string => cursors.encode("blacklist", filters, at);
      const visible = recordsFor(call);
      const page = toPage(
        rows,
        limit,
        (row) => visible(presentRecord(row, now, numbers)),
        (last) => cursorAt(newestFirst.of(last)),
      );
      // There is more to look at.
      const ended =
        reached === undefined ? {} : { next_cursor: cursorAt(reached), notes: { examined: readLimits.examined, examined_to: reached[0] } };
      return withTotal({ ...page, ...ended }, { count }, () => database.read.blacklistRecord.count({ where: conditions(asked, "any") }));
    },

    /**
     * Change a record. Nothing changed: nothing written. What only some may read, only they may change: others could guess at it.
     * @throws ProblemError permission_denied, precondition_failed, invalid_transition
     */
    async update(call: Call, key: string, input: UpdateBlacklistInput, ifMatch?: number): Promise<BlacklistView> {
      requireWrite(call, "blacklist.update");
      const parsed = UpdateBlacklistInput.parse(input);
      const hidden = Object.keys(parsed).filter((field) => confidentialFields.has(field));
      if (hidden.length > 0 && !can(call, "blacklist.read_confidential"))
        throw notReadable(
          call,
          hidden.map((field) => `/${field}`),
          "blacklist.read_confidential",
        );
      const view = await database.write(call, async (tx) => {
        const row = await opening.open(tx, key, { ifMatch, action: "update", wanted: "live" });
        const [issue] = kindIssues(row.kind as "user" | "server", parsed);
        if (issue !== undefined) throw fieldError(`/${issue.path.join("/")}`, "invalid_value", issue.message);
        const changes = changesOf(parsed, row, tx.now);
        const before = await presentIn(tx, row);
        if (JSON.stringify(await presentIn(tx, { ...row, ...changes })) === JSON.stringify(before)) {
          tx.afterCommit(() => access.noteRecord(row));
          return before;
        }
        const changed = await records.change(tx, row, withJson(changes), { action: "blacklist.update", permission: "blacklist.update" });
        return await presentIn(tx, changed.row);
      });
      return recordsFor(call)(view);
    },

    /** Take a record back; it stays with its history. @throws ProblemError precondition_failed, invalid_transition */
    async revoke(call: Call, key: string, input: { reason?: string | undefined }, ifMatch?: number): Promise<BlacklistView> {
      requireWrite(call, "blacklist.revoke");
      const { reason } = RevokeBlacklistInput.parse(input, { reportInput: true });
      const view = await database.write(call, async (tx) => {
        const row = await opening.open(tx, key, { ifMatch, action: "revoke", wanted: "live" });
        const { row: revoked } = await records.change(tx, row, revocation(tx, reason), {
          action: "blacklist.revoke",
          permission: "blacklist.revoke",
          reason,
        });
        return await presentIn(tx, revoked);
      });
      return recordsFor(call)(view);
    },

    check: createCheck(parts),
    changes: createChanges(parts),
    purge: createPurge({ ...parts, opening }),
    evidenceHost: createEvidenceHost(opening),
    lockRecordsOf,
    dropNamesOf,

    /** Every version of a record, newest first. */
    async history(call: Call, key: string, query: ListQuery): Promise<Page<BlacklistVersionView>> {
      requirePermission(call, "blacklist.read");
      const { id } = await opening.find(key);
      const before = query.cursor === undefined ? undefined : Number(cursors.decode("blacklist_history", { id }, query.cursor)[0]);
      const rows = await database.read.blacklistVersion.findMany({
        where: { recordId: id, ...(before !== undefined && { revision: { lt: before } }) },
        orderBy: { revision: "desc" },
        take: query.limit + 1,
      });
      const visible = recordsFor(call);
      const page = toPage(
        rows,
        query.limit,
        (row) => ({
          revision: row.revision,
          changed_at: row.changedAt.toISOString(),
          changed_by: row.changedBy,
          record: visible(row.snapshot as unknown as BlacklistView),
        }),
        (last) => cursors.encode("blacklist_history", { id }, [last.revision, id]),
      );
      return withTotal(page, query, () => database.read.blacklistVersion.count({ where: { recordId: id } }));
    },

    /** Once, at boot: see to it that searches find what was stored before there were words; the job does what is left. */
    prepare: words.begin,
    /** What time does: records start and end, reviews fall due. For the job that runs each minute. Answers how many. */
    async expireDue(call: Call): Promise<number> {
      const { moved, told } = await partByPart({
        moved: () => sweep.expireDue(call),
        words: () => words.catchUp(call),
        told: () => tellReviews(call),
      });
      return moved + told;
    },
    /** When the next record starts or ends. */
    nextDue: sweep.nextDue,

    ...createInTx(records, opening),
    /** Before several records are made in one transaction: so that two who make the same ones never wait for each other. */
    lockSubjects: records.lockSubjects,
  };
}

/** Rows read their JSON columns as any JSON; what is written here is never null. */
function withJson(changes: Partial<BlacklistRecord>): Prisma.BlacklistRecordUncheckedUpdateManyInput {
  return changes as Prisma.BlacklistRecordUncheckedUpdateManyInput;
}

/** Evidence belongs to a record whatever its status: what comes to light later is kept, too. */
export function createEvidenceHost(opening: Opening): EvidenceHost {
  return {
    async read(call, key) {
      requirePermission(call, "blacklist.read");
      return hostOf(await opening.find(key));
    },

    async open(tx, key) {
      requirePermission(tx.call, "blacklist.update");
      const row = await opening.lock(tx, key);
      await opening.requireImpartial(tx, row);
      return hostOf(row);
    },

    async requireRedactable(tx, key) {
      requirePermission(tx.call, "blacklist.read");
      await opening.requireImpartial(tx, await opening.lock(tx, key));
    },
  };
}

function hostOf(row: BlacklistRecord): Host {
  return { id: row.id, reference: referenceOf(row), subjectUserId: row.kind === "user" ? row.subjectId : null };
}
