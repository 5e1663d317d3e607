import type { Database, Tx } from "../../database/database.ts";
import type { Agreement, AgreementParty, Prisma } from "../../generated/sqlite/client.ts";
import { inBatches } from "../../kernel/batches.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { Cursors, Page } from "../../kernel/page.ts";
import { olderThan, toPage, withTotal } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { MatchesService } from "../intelligence/matches.service.ts";
import { agreementStatusAt, presentAgreement, registryPermissions } from "./servers.policy.ts";
import type { AgreementView } from "./servers.schema.ts";
import { ListAgreementsQuery } from "./servers.schema.ts";

/** An agreement to be made. Times are points in time; without an end it holds for good. */
export interface AgreementDraft {
  serverIds: readonly string[];
  covers: "staff" | "members" | "both";
  coolingOffDays: number;
  terms?: string | null | undefined;
  /** At once unless told. */
  startsAt?: Date | undefined;
  endsAt?: Date | null | undefined;
  originReference?: string | undefined;
  createdBy: string | null;
  /** The permission that allowed it. */
  permission: string;
}

export interface AgreementDeps {
  database: Database;
  audit: Pick<AuditService, "record">;
  events: Pick<EventsService, "emit">;
  matches: Pick<MatchesService, "applyServer">;
  cursors: Cursors;
  clock: Clock;
  /** Keyed hash of a server id, the same wherever servers are stored. */
  hashOf: (serverId: string) => string;
}

type AgreementRow = Agreement & { parties: AgreementParty[] };
const batch = 100;
const parties = { parties: true } as const;

/** Agreements between servers not to recruit from one another. */
export function createAgreements({ database, audit, events, matches, cursors, clock, hashOf }: AgreementDeps) {
  /** Tell of a change that is written, and compare the members of the parties again. */
  async function settle(tx: Tx, row: AgreementRow, note: { action: string; permission: string; reason?: string }): Promise<AgreementView> {
    const view = presentAgreement(row, tx.now);
    const { status, server_ids: serverIds } = view;
    audit.record(tx, {
      ...note,
      target: { kind: "agreement", id: row.id },
      after: { status, server_ids: serverIds, ends_at: view.ends_at },
    });
    events.emit(tx, { type: "agreement.changed", data: { agreement_id: row.id, status, server_ids: serverIds } });
    await matches.applyServer(tx, serverIds);
    return view;
  }

  async function end(tx: Tx, row: AgreementRow, note: { reason: string; permission: string }): Promise<AgreementView> {
    const data = { status: "ended", endedAt: tx.now, endReason: note.reason, revision: { increment: 1 } };
    const ended = await tx.db.agreement.update({ where: { id: row.id }, data, include: parties });
    return settle(tx, ended, { action: "agreement.end", ...note });
  }

  async function read(tx: Tx, id: string): Promise<AgreementRow> {
    await tx.lock(lockOf(id));
    const row = await tx.db.agreement.findUnique({ where: { id }, include: parties });
    if (row === null) throw recordNotFound();
    return row;
  }

  async function sweepBatch(call: Call): Promise<number> {
    const due = dueAt(clock.now());
    const ids = await database.read.agreement.findMany({ where: due, select: { id: true }, orderBy: { id: "asc" }, take: batch });
    if (ids.length === 0) return 0;
    return database.write(call, async (tx) => {
      // Every lock before the first change: whoever changes one of them waits for its members' matches after it, too.
      for (const { id } of ids) await tx.lock(lockOf(id));
      for (const { id } of ids) await bringUpToDate(tx, await read(tx, id));
      return ids.length;
    });
  }

  async function bringUpToDate(tx: Tx, row: AgreementRow): Promise<void> {
    const status = agreementStatusAt(row, tx.now);
    const permission = registryPermissions.sweep;
    if (status === row.status) return;
    if (status === "ended") return void (await end(tx, row, { reason: "It was made until then.", permission }));
    const data = { status, revision: { increment: 1 } };
    const started = await tx.db.agreement.update({ where: { id: row.id }, data, include: parties });
    await settle(tx, started, { action: "agreement.start", permission });
  }

  return {
    /**
     * Make an agreement inside another room's transaction. The caller has checked the right to.
     * @returns null when nothing is made: it would be over before it begins, or has fewer than two parties
     */
    async createAgreementWithin(tx: Tx, draft: AgreementDraft): Promise<AgreementView | null> {
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
      return settle(tx, await read(tx, id), { action: "agreement.create", permission });
    },

    /** End an agreement inside another room's transaction; one that has ended stays as it is. @throws ProblemError record_not_found */
    async endAgreementWithin(tx: Tx, id: string, note: { reason: string; permission: string }): Promise<AgreementView> {
      const row = await read(tx, id);
      return row.status === "ended" ? presentAgreement(row, tx.now) : end(tx, row, note);
    },

    /**
     * The agreements of a server under any of its ids, newest first, ended ones included.
     * @throws ProblemError record_not_found for a server that is neither registered nor party of anything
     */
    async listAgreements(call: Call, serverId: string, query: ListAgreementsQuery): Promise<Page<AgreementView>> {
      requirePermission(call, registryPermissions.read);
      const { limit, cursor, count } = ListAgreementsQuery.parse(query);
      const wanted: Prisma.AgreementWhereInput = { parties: { some: { serverId: { in: await idsOf(database.read, serverId) } } } };
      const position = cursor === undefined ? undefined : cursors.decode("agreements", { serverId }, cursor);
      const rows = await database.read.agreement.findMany({
        where: { AND: [wanted, position === undefined ? {} : olderThan(position)] },
        include: parties,
        orderBy: [{ createdAt: "desc" }, { id: "desc" }],
        take: limit + 1,
      });
      const now = clock.now();
      const page = toPage(
        rows,
        limit,
        (row) => presentAgreement(row, now),
        (last) => cursors.encode("agreements", { serverId }, [last.createdAt.toISOString(), last.id]),
      );
      return withTotal(page, { count }, () => database.read.agreement.count({ where: wanted }));
    },

    /** Start and end what is due by time; answers how many. */
    sweepAgreements: (call: Call): Promise<number> => inBatches(batch, () => sweepBatch(call)),
  };
}

const lockOf = (id: string): string => `agreement:${id}`;

function dueAt(now: Date): Prisma.AgreementWhereInput {
  return {
    OR: [
      { status: { in: ["scheduled", "active"] }, endsAt: { lte: now } },
      { status: "scheduled", startsAt: { lte: now } },
    ],
  };
}

/** Every id of a registered server, or the one that some agreement names. */
async function idsOf(read: Database["read"], serverId: string): Promise<string[]> {
  const server = await read.server.findFirst({
    where: { OR: [{ id: serverId }, { aliases: { some: { aliasId: serverId } } }] },
    include: { aliases: true },
  });
  if (server !== null) return [server.id, ...server.aliases.map(({ aliasId }) => aliasId)];
  if ((await read.agreementParty.findFirst({ where: { serverId } })) === null) throw recordNotFound();
  return [serverId];
}
