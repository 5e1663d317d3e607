import type { ReadClient, TransactionClient, Database, Tx } from "../../database/database.ts";
import { firstOf, earliestOf } from "../../database/earliest.ts";
import { can, requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { recordNotFound, ProblemError } from "../../kernel/errors.ts";
import { partByPart, forEachIsolated, requireNoneFailed, sweepIsolated } from "../../kernel/isolated.ts";
import { walk, walkedPage, idsOf, type Condition } from "../../database/walk.ts";
import { countOf, type Where } from "../../database/where.ts";
import { withTotal, type Page, listPage } from "../../kernel/page.ts";
import { createClearances } from "./clearances/clearances.ts";
import { createIncidents } from "./incidents.ts";
import { agreementsInForce, byAnyId, hashesOf, recordsInForce, type RegisteredServer, idsOfServer } from "./known.ts";
import { createMerges } from "./merges.ts";
import { presentServer, registryPermissions, visibleServer, agreementStatusAt, presentAgreement } from "./servers.policy.ts";
import { createServerRows, registerLock } from "./rows.ts";
import {
  CreateServerInput,
  ListRegistryQuery,
  UpdateServerInput,
  type ServerView,
  type InviteStatus,
  ListAgreementsQuery,
  type AgreementView,
} from "./servers.schema.ts";
import { Prisma, type Server } from "../../generated/sqlite/client.ts";
import { orderOf, newestFirst } from "../../kernel/keyset.ts";
import type { Deps } from "../deps.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { say } from "../../kit/say.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { createAgreementRows, unended, type AgreementRow, type AgreementRowDeps } from "./agreements/agreement-rows.ts";
import { createAgreementsInTx } from "./agreements/in-tx.ts";

/** An agreement to be made. Times are points in time; without an end it holds permanently. */
interface AgreementDraft {
  serverIds: readonly string[];
  covers: "staff" | "members" | "both";
  coolingOffDays: number;
  terms?: string | null | undefined;
  /** At once by default. */
  startsAt?: Date | undefined;
  endsAt?: Date | null | undefined;
  originReference?: string | undefined;
  createdBy: string | null;
  /** The permission that allowed it. */
  permission: string;
}

interface AgreementDeps extends AgreementRowDeps, Deps<"database" | "cursors" | "clock" | "logger"> {}

const batch = 100;

/** Agreements between servers not to recruit from one another. */
function createAgreements(deps: AgreementDeps) {
  const { database, cursors, clock, hashOf, logger } = deps;
  const rows = createAgreementRows(deps);

  const findDue = (after: { id: string } | undefined): Promise<{ id: string }[]> => {
    const where = { ...dueAt(clock.now()), ...(after !== undefined && { id: { gt: after.id } }) };
    return database.read.agreement.findMany({ where, select: { id: true }, orderBy: { id: "asc" }, take: batch });
  };

  const settleAll = (call: Call, ids: readonly { id: string }[]): Promise<number> =>
    database.write(call, async (tx) => {
      const due = await rows.readAll(
        tx,
        ids.map(({ id }) => id),
      );
      for (const row of due) await bringUpToDate(tx, row);
      return ids.length;
    });

  async function bringUpToDate(tx: Tx, row: AgreementRow): Promise<void> {
    const status = agreementStatusAt(row, tx.now);
    const permission = registryPermissions.sweep;
    if (status === row.status) return;
    if (status === "ended") await rows.end(tx, row, { reason: say("servers.it-was-made-until-then"), permission });
    else await rows.change(tx, row, { status }, { action: "agreement.start", permission });
  }

  return {
    /**
     * Make an agreement inside another feature's transaction. The caller has checked the right to.
     * @returns null when nothing is made: it would be over before it begins, or has fewer than two parties
     */
    async createAgreementInTx(tx: Tx, draft: AgreementDraft): Promise<AgreementView | null> {
      const startsAt = draft.startsAt ?? tx.now;
      const endsAt = draft.endsAt ?? null;
      const serverIds = [...new Set(draft.serverIds)].toSorted();
      if (serverIds.length < 2 || (endsAt !== null && (endsAt <= startsAt || endsAt <= tx.now))) return null;
      const id = uuid7(tx.now.getTime());
      const { covers, coolingOffDays, createdBy, permission } = draft;
      const terms = draft.terms ?? null;
      const originReference = draft.originReference ?? null;
      const status = startsAt > tx.now ? "scheduled" : "active";
      const data = { id, covers, coolingOffDays, terms, startsAt, endsAt, status, originReference, createdBy, createdAt: tx.now };
      await tx.db.agreement.create({ data });
      await tx.db.agreementParty.createMany({
        data: serverIds.map((serverId) => ({ agreementId: id, serverId, serverHash: hashOf(serverId) })),
      });
      return rows.persist(tx, await rows.read(tx, id), { action: "agreement.create", permission });
    },

    /** End an agreement inside another feature's transaction; one that has ended stays as it is. @throws ProblemError record_not_found */
    async endAgreementInTx(tx: Tx, id: string, note: { reason: string; permission: string }): Promise<AgreementView> {
      const row = await rows.read(tx, id);
      return row.status === "ended" ? presentAgreement(row, tx.now) : rows.end(tx, row, note);
    },

    /**
     * The agreements of a server under any of its ids, newest first, ended ones included.
     * @throws ProblemError record_not_found for a server that is neither registered nor party of anything
     */
    async listAgreements(call: Call, serverId: string, query: ListAgreementsQuery): Promise<Page<AgreementView>> {
      requirePermission(call, registryPermissions.read);
      const asked = ListAgreementsQuery.parse(query);
      const wanted: Prisma.AgreementWhereInput = { parties: { some: { serverId: { in: await partyIds(database.read, serverId) } } } };
      const now = clock.now();
      return listPage({
        cursors,
        list: "agreements",
        filters: { serverId },
        query: asked,
        keyset: newestFirst,
        find: ({ after, take }) =>
          database.read.agreement.findMany({
            where: { AND: [wanted, after] },
            include: { parties: true },
            orderBy: newestFirst.orderBy,
            take,
          }),
        count: () => database.read.agreement.count({ where: wanted }),
        present: (row) => presentAgreement(row, now),
      });
    },

    ...createAgreementsInTx(rows),

    /** Start and end what is due by time; answers how many. */
    sweepAgreements: (call: Call): Promise<number> =>
      sweepIsolated({
        size: batch,
        find: findDue,
        work: (due) => settleAll(call, due),
        logger,
        failure: "an agreement could not be started or ended; it is tried again in a minute",
        idsOf: ({ id }) => ({ agreement: id }),
      }),

    /** When the next agreement starts or ends. */
    nextAgreement: async (): Promise<Date | null> =>
      firstOf(
        await earliestOf(database.read, "Agreement", "startsAt", [{ status: "scheduled" }]),
        await earliestOf(
          database.read,
          "Agreement",
          "endsAt",
          unended.map((status) => ({ status })),
        ),
      ),
  };
}

function dueAt(now: Date): Prisma.AgreementWhereInput {
  return {
    OR: [
      { status: { in: [...unended] }, endsAt: { lte: now } },
      { status: "scheduled", startsAt: { lte: now } },
    ],
  };
}

/** Every id of a registered server, or the one that some agreement names. */
async function partyIds(read: Database["read"], serverId: string): Promise<string[]> {
  const ids = await idsOfServer(read, serverId);
  if (ids !== null) return ids;
  if ((await read.agreementParty.findFirst({ where: { serverId } })) === null) throw recordNotFound();
  return [serverId];
}

/** The server an invite leads to; null when the invite is not valid. */
type ReadInvite = (code: string) => Promise<{ serverId: string; name: string } | null>;

interface InviteDeps extends Deps<"database" | "audit" | "events" | "clock" | "logger"> {
  readInvite: ReadInvite;
}

interface Due {
  id: string;
  inviteCode: string;
}

/** Discord allows few look-ups without credentials. */
const atOnce = 5;
const day = 86_400;
/** For how long a server is left alone of which nothing could be noted: it would be looked up each minute, in the place of others. */
const pauseSeconds = 3600;

/** Looks up where the invites of registered servers lead, each once a day. */
function createInviteSweep({ database, audit, events, clock, logger, readInvite }: InviteDeps) {
  const pausing = new Map<string, Date>();

  async function findDue(): Promise<Due[]> {
    const now = clock.now();
    for (const [id, until] of pausing) if (until <= now) pausing.delete(id);
    const before = addSeconds(now, -day);
    const rows = await database.read.server.findMany({
      where: {
        ...(pausing.size > 0 && { id: { notIn: [...pausing.keys()] } }),
        inviteCode: { not: null },
        OR: [{ inviteCheckedAt: null }, { inviteCheckedAt: { lte: before } }],
      },
      select: { id: true, inviteCode: true },
      orderBy: [{ inviteCheckedAt: { sort: "asc", nulls: "first" } }, { id: "asc" }],
      take: atOnce,
    });
    return rows.map(({ id, inviteCode }) => ({ id, inviteCode: inviteCode ?? "" }));
  }

  /** Write what was found, unless the invite was changed meanwhile. @param leadsTo undefined when Discord's answer said nothing */
  async function note(call: Call, { id, inviteCode }: Due, leadsTo: string | null | undefined): Promise<void> {
    await database.write(call, async (tx) => {
      await tx.lock(registerLock);
      const row = await tx.db.server.findUnique({ where: { id }, include: { aliases: true } });
      if (row?.inviteCode !== inviteCode) return;
      const ids = [row.id, ...row.aliases.map(({ aliasId }) => aliasId)];
      const status = leadsTo === undefined ? row.inviteStatus : statusOf(leadsTo, ids);
      const isChanged = status !== row.inviteStatus;
      const changes = isChanged && { inviteStatus: status, revision: { increment: 1 }, updatedAt: tx.now };
      await tx.db.server.update({ where: { id }, data: { inviteCheckedAt: tx.now, ...changes } });
      if (!isChanged) return;
      audit.record(tx, {
        action: "server.invite_checked",
        target: { kind: "server", id },
        before: { status: row.inviteStatus },
        after: { status },
        permission: registryPermissions.sweep,
      });
      events.emit(tx, { type: "server.changed", data: { server_id: id, status: row.status } });
    });
  }

  /** @returns where it leads: the server; null: none, undefined: Discord's answer says nothing. Nothing at all is known in an outage. */
  async function lookUp({ inviteCode }: Due): Promise<{ leadsTo: string | null | undefined } | "outage"> {
    try {
      return { leadsTo: (await readInvite(inviteCode))?.serverId ?? null };
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      return error.code === "discord_error" ? { leadsTo: undefined } : "outage";
    }
  }

  return {
    /** Look a few invites up; answers how many. An outage of Discord ends the round, and nothing is noted of the rest. */
    async sweepInvites(call: Call): Promise<number> {
      let checked = 0;
      const outage = new AbortController();
      const work = async (due: Due): Promise<void> => {
        const found = await lookUp(due);
        if (found === "outage") return outage.abort();
        await note(call, due, found.leadsTo);
        checked += 1;
      };
      const failed = await forEachIsolated(await findDue(), work, {
        logger,
        failure: "where the invite of a server leads could not be noted; it is looked up again in an hour",
        idsOf: ({ id }) => ({ server_id: id }),
        signal: outage.signal,
      });
      for (const { item } of failed) pausing.set(item.id, addSeconds(clock.now(), pauseSeconds));
      requireNoneFailed(failed);
      return checked;
    },
  };
}

function statusOf(leadsTo: string | null, ids: readonly string[]): InviteStatus {
  if (leadsTo === null) return "invalid";
  return ids.includes(leadsTo) ? "valid" : "other_server";
}

type ServerCondition = Where<"Server">;

/** The order of the list of registered servers. */
const order = orderOf("createdAt", "desc");

interface Asked {
  filters: Pick<ReturnType<typeof ListRegistryQuery.parse>, "status" | "q">;
  /** Whether the caller sees which servers are blacklisted. */
  readsRecords: boolean;
  now: Date;
  dialect: "sqlite" | "postgres";
}

/** What the filters of the list ask of a server. A status is the one the caller is shown. */
function conditions({ filters: { status, q }, readsRecords, now, dialect }: Asked): Condition<ServerCondition>[] {
  const all: Condition<ServerCondition>[] = [];
  // Looked at first: records are looked up only for what holds the text.
  if (q !== undefined) all.push({ where: { sql: holdsText(q, dialect) } });
  const blacklisted = { sql: isBlacklisted(now) };
  if (status === "blacklisted")
    all.push(
      readsRecords ? { where: blacklisted, ids: idsOfBlacklisted } : { where: { id: { in: [] } }, ids: idsOf("Server", { id: [] }) },
    );
  else if (status !== undefined) {
    all.push({ where: { status }, ids: idsOf("Server", { status: [status] }), inOrder: { status } });
    if (readsRecords) all.push({ where: { NOT: blacklisted } });
  }
  return all;
}

/** SQLite ignores the case of ASCII letters by itself; PostgreSQL is asked to. */
function holdsText(q: string, dialect: "sqlite" | "postgres"): Prisma.Sql {
  const like = Prisma.raw(dialect === "postgres" ? "ILIKE" : "LIKE");
  return Prisma.sql`(t.id = ${q} OR t.name ${like} ${`%${q}%`}
    OR EXISTS (SELECT 1 FROM server_aliases AS a WHERE a.server_id = t.id AND a.alias_id = ${q}))`;
}

/**
 * A record is in force about a server, or about a further id of it. Both databases look it up for each server they come by: the negation
 * keeps SQLite, and the `LIMIT` PostgreSQL, from reading all records in force for it.
 */
function isBlacklisted(now: Date): Prisma.Sql {
  const inForce = Prisma.sql`NOT (r.status NOT IN ('active', 'scheduled') OR r.starts_at > ${now}) AND (r.expires_at IS NULL OR r.expires_at > ${now}) LIMIT 1`;
  return Prisma.sql`((SELECT r.id FROM blacklist_records AS r WHERE r.subject_hash = t.hash AND ${inForce}) IS NOT NULL
    OR (SELECT r.id FROM server_aliases AS a JOIN blacklist_records AS r ON r.subject_hash = a.alias_hash WHERE a.server_id = t.id AND ${inForce}) IS NOT NULL)`;
}

/** A row for each record about a server, whether in force or not, and registered or not: where there are few, they lead to the servers. */
const idsOfBlacklisted = Prisma.sql`SELECT COALESCE(s.id, a.server_id, '') AS id FROM blacklist_records AS r
  LEFT JOIN servers AS s ON s.hash = r.subject_hash LEFT JOIN server_aliases AS a ON a.alias_hash = r.subject_hash
  WHERE r.kind = 'server'`;

async function withAliases(db: Pick<ReadClient, "serverAlias">, rows: readonly Server[]): Promise<RegisteredServer[]> {
  const found = await db.serverAlias.findMany({ where: { serverId: { in: rows.map(({ id }) => id) } } });
  return rows.map((row) => ({ ...row, aliases: found.filter(({ serverId }) => serverId === row.id) }));
}

/** The list, as its cursors name it. */
const listName = "server_list";

export type RegistryService = ReturnType<typeof createRegistryService>;

export interface RegistryDeps extends AgreementDeps {
  /** @throws ProblemError discord_unavailable */
  readInvite: ReadInvite;
}

/** The register of servers the community knows of. Nothing is ever deleted from it: a server that is gone is `defunct`. */
export function createRegistryService(deps: RegistryDeps) {
  const { database, cursors, clock } = deps;
  const rows = createServerRows(deps);
  const { sweepAgreements, nextAgreement, ...agreements } = createAgreements(deps);
  const { sweepClearances, nextClearance, ...clearances } = createClearances(deps);
  const { sweepInvites } = createInviteSweep(deps);

  return {
    ...agreements,
    ...createMerges({ rows, agreements, clock }),
    ...createIncidents(deps),
    ...clearances,

    /** Register a server. @throws ProblemError duplicate_active_record, validation_failed */
    async create(call: Call, input: CreateServerInput): Promise<ServerView> {
      requireWrite(call, registryPermissions.manage);
      const parsed = CreateServerInput.parse(input);
      const view = await database.write(call, async (tx) => viewOf(tx.db, await rows.create(tx, parsed), tx.now));
      return visibleServer(call, view);
    },

    /** Change a server; what was not sent stays. @param id its own or an alias @throws ProblemError precondition_failed, duplicate_active_record */
    async update(call: Call, id: string, input: UpdateServerInput, ifMatch?: number): Promise<ServerView> {
      requireWrite(call, registryPermissions.manage);
      const parsed = UpdateServerInput.parse(input);
      const view = await database.write(call, async (tx) => {
        const before = await rows.open(tx, id, ifMatch);
        return viewOf(tx.db, await rows.change(tx, before, parsed), tx.now);
      });
      return visibleServer(call, view);
    },

    /** @param id of the server, or an alias of it */
    async get(call: Call, id: string): Promise<ServerView> {
      requirePermission(call, registryPermissions.read);
      const row = await database.read.server.findFirst({ where: byAnyId(id), include: { aliases: true } });
      if (row === null) throw recordNotFound();
      return visibleServer(call, await viewOf(database.read, row, clock.now()));
    },

    /** Registered servers, the newest first. */
    async list(call: Call, query: ListRegistryQuery): Promise<Page<ServerView>> {
      requirePermission(call, registryPermissions.read);
      const { limit, cursor, count, ...filters } = ListRegistryQuery.parse(query);
      const position = cursor === undefined ? undefined : cursors.decode(listName, filters, cursor);
      const now = clock.now();
      const walked = await walk("Server", {
        conditions: conditions({ filters, readsRecords: can(call, registryPermissions.records), now, dialect: database.dialect }),
        read: database.read,
        order,
        usual: {},
        position,
        limit,
      });
      const rows = await withAliases(database.read, walked.rows);
      const data = (await viewsOf(database.read, rows, now)).map((view) => visibleServer(call, view));
      const page = walkedPage(walked, { data, limit }, (reached) => cursors.encode(listName, filters, reached));
      return withTotal(page, { count }, () => countOf(database.read, "Server", walked.everything));
    },

    /** Start and end agreements, end clearances, look invites up. For the job that runs each minute. */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, registryPermissions.sweep);
      const { agreements, clearances, invites } = await partByPart({
        agreements: () => sweepAgreements(call),
        clearances: () => sweepClearances(call),
        invites: () => sweepInvites(call),
      });
      return agreements + clearances + invites;
    },

    /** When the next agreement starts or ends, or the next clearance ends. */
    nextDue: async (): Promise<Date | null> => firstOf(await nextAgreement(), await nextClearance()),
  };
}

type Reader = Pick<ReadClient | TransactionClient, "agreementParty" | "blacklistRecord">;

async function viewOf(db: Reader, row: RegisteredServer, now: Date): Promise<ServerView> {
  const [view] = await viewsOf(db, [row], now);
  return view ?? presentServer(row, null, []);
}

/** The whole servers, with the records and agreements in force. */
async function viewsOf(db: Reader, rows: readonly RegisteredServer[], now: Date): Promise<ServerView[]> {
  const all = rows.flatMap(hashesOf);
  const records = await recordsInForce(db, all, now);
  const agreements = await agreementsInForce(db, all, now);
  return rows.map((row) => {
    const record = hashesOf(row).flatMap((hash) => records.get(hash) ?? [])[0];
    const ids = hashesOf(row).flatMap((hash) => agreements.get(hash)?.ids ?? []);
    return presentServer(row, record?.id ?? null, [...new Set(ids)]);
  });
}
