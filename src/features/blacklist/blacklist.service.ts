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
import type { LinkReach, LinkedAccount } from "../links/reach.ts";
import type { MatchesService } from "../intelligence/matches/matches.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { createWordsCatchUp, createSweep, createReviewSweep, type ReviewDeps } from "./upkeep.ts";
import { createChanges, dropNamesOf, lockRecordsOf } from "./changes.ts";
import { changesOf, draftOf } from "./drafts.ts";
import { conditions } from "./filters.ts";
import { readLimits, readPage } from "./reading.ts";
import { createOpening, type Opening } from "./open.ts";
import {
  confidentialFields,
  numbersFor,
  presentRecord,
  requireOutranks,
  recordsFor,
  referenceOf,
  type Ranks,
  statusAt,
  toMatchRecord,
  checkedFor,
} from "./blacklist.policy.ts";
import { createBlacklistRecords, revocation } from "./records.ts";
import {
  CreateBlacklistInput,
  kindIssues,
  ListBlacklistQuery,
  RevokeBlacklistInput,
  UpdateBlacklistInput,
  type BlacklistVersionView,
  type BlacklistView,
  PurgeBlacklistInput,
  type BlacklistPurge,
  CheckBlacklistInput,
  type BlacklistCheck,
  type CheckedRecord,
} from "./blacklist.schema.ts";
import { searchCondition } from "./search.ts";
import { createInTx } from "./in-tx.ts";
import type { EvidenceHost, Host } from "../evidence/hosts.ts";
import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import { z } from "zod";
import { forgetAnswers } from "../../database/idempotency.ts";
import type { Held } from "../../kernel/held.ts";
import type { ConfirmationsService } from "../confirmations/confirmations.service.ts";
import { feed } from "./side-effects.ts";
import type { RelatedServer } from "../servers/related.ts";
import { groupBy } from "../../kernel/group.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import type { FollowedEntries } from "../follows/entries.ts";
import type { ServerFacts } from "../servers/facts.ts";

interface CheckDeps extends Deps<"database" | "clock"> {
  reach: Pick<LinkReach, "reachOfAll">;
  facts: Pick<ServerFacts, "relatedTo">;
  serversKey: Buffer;
  followedEntries: Pick<FollowedEntries, "count" | "listed">;
}

/** Ids of one statement, of which SQLite is given at most 999 values. */
const idsAtOnce = 900;
/** Which linked accounts the records of one take in. */
const takenIn: Readonly<Record<LinkedAccount["confidence"], readonly string[]>> = {
  confirmed: ["confirmed", "probable"],
  probable: ["probable"],
};

/** The records in force about some subjects. */
interface Found {
  of(kind: string, id: string): readonly BlacklistRecord[];
  show(rows: readonly BlacklistRecord[]): CheckedRecord[];
}

/** @returns looks many subjects up at once; the answer keeps the order of the question */
export function createCheck({ database, reach, facts, clock, serversKey, followedEntries }: CheckDeps) {
  async function findFor(call: Call, userIds: readonly string[], serverIds: readonly string[]): Promise<Found> {
    const now = clock.now();
    const rows: BlacklistRecord[] = [];
    for (const [kind, ids] of Object.entries({ user: userIds, server: serverIds })) {
      for (let from = 0; from < ids.length; from += idsAtOnce) {
        const where = { kind, subjectId: { in: ids.slice(from, from + idsAtOnce) }, activeKey: { not: null } };
        rows.push(...(await database.read.blacklistRecord.findMany({ where, orderBy: { severityOrder: "desc" } })));
      }
    }
    const active = rows.filter((row) => statusAt(row, now) === "active");
    const numbers = await numbersFor(database.read, active);
    const bySubject = groupBy(active, ({ kind, subjectId }) => `${kind}:${subjectId}`);
    const checked = checkedFor(call);
    return {
      of: (kind, id) => bySubject.get(`${kind}:${id}`) ?? [],
      show: (some) => some.map((row) => checked(presentRecord(row, now, numbers))),
    };
  }

  /** Every server registered with or merged with one of these; undefined for callers who may not read the register. */
  async function relatedTo(call: Call, serverIds: readonly string[]): Promise<Map<string, RelatedServer[]> | undefined> {
    if (!can(call, "servers.read")) return undefined;
    const idOf = new Map(serverIds.map((id) => [keyedHash(serversKey, id), id]));
    const related = await facts.relatedTo(database.read, [...idOf.keys()]);
    return groupBy(related, ({ of }) => idOf.get(of) ?? "");
  }

  return async (call: Call, input: CheckBlacklistInput): Promise<BlacklistCheck> => {
    requirePermission(call, "blacklist.check");
    const { user_ids, server_ids, include_alts: withAlts } = CheckBlacklistInput.parse(input);
    if (withAlts) requirePermission(call, "users.links.read");
    const [userIds, serverIds] = [[...new Set(user_ids)], [...new Set(server_ids)]];
    const linked = withAlts ? await reach.reachOfAll(database.read, userIds) : undefined;
    const related = await relatedTo(call, serverIds);
    const accounts = [...(linked?.values() ?? [])].flat().map(({ userId }) => userId);
    const servers = [...(related?.values() ?? [])].flat().map(({ serverId }) => serverId);
    const found = await findFor(call, [...new Set([...userIds, ...accounts])], [...new Set([...serverIds, ...servers])]);

    const byOthers = can(call, "lists.read") && followedEntries.count() > 0;
    const listedBy = byOthers && {
      user: await followedEntries.listed("user", userIds),
      server: await followedEntries.listed("server", serverIds),
    };

    const itself = (kind: "user" | "server", id: string) => {
      const records = found.show(found.of(kind, id));
      return { id, listed: records.length > 0, records, ...(listedBy !== false && { listed_by: listedBy[kind].get(id) ?? [] }) };
    };
    return {
      ...(byOthers && { followed_lists: followedEntries.count() }),
      users: userIds.map((id) => ({
        ...itself("user", id),
        ...(linked !== undefined && { linked: linkedWith(linked.get(id) ?? [], found) }),
      })),
      servers: serverIds.map((id) => ({
        ...itself("server", id),
        ...(related !== undefined && { related: relatedWith(related.get(id) ?? [], found) }),
      })),
    };
  };
}

function linkedWith(accounts: readonly LinkedAccount[], found: Found) {
  return accounts.flatMap(({ userId, confidence }) => {
    const records = found.show(found.of("user", userId).filter(({ includeAlts }) => takenIn[confidence].includes(includeAlts)));
    return records.length === 0 ? [] : [{ user_id: userId, confidence, records }];
  });
}

function relatedWith(servers: readonly RelatedServer[], found: Found) {
  return servers.flatMap(({ serverId, how }) => {
    const records = found.show(found.of("server", serverId));
    return records.length === 0 ? [] : [{ server_id: serverId, how, records }];
  });
}

interface PurgeDeps extends Deps<"database" | "events"> {
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
function createPurge(deps: PurgeDeps) {
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
