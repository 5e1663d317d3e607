import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { Database, Tx } from "../../../database/database.ts";
import { earliestOf, firstOf } from "../../../database/earliest.ts";
import type { Prisma } from "../../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import { sweepIsolated } from "../../../kernel/isolated.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { newestFirst } from "../../../kernel/keyset.ts";
import { listPage, type Page } from "../../../kernel/page.ts";
import { createAgreementRows, unended, type AgreementRow, type AgreementRowDeps } from "./agreement-rows.ts";
import { createAgreementsInTx } from "./in-tx.ts";
import { idsOfServer } from "../known.ts";
import { agreementStatusAt, presentAgreement, registryPermissions } from "../servers.policy.ts";
import { ListAgreementsQuery, type AgreementView } from "../servers.schema.ts";

/** An agreement to be made. Times are points in time; without an end it holds permanently. */
export interface AgreementDraft {
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

export interface AgreementDeps extends AgreementRowDeps, Deps<"database" | "cursors" | "clock" | "logger"> {}

const batch = 100;

/** Agreements between servers not to recruit from one another. */
export function createAgreements(deps: AgreementDeps) {
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
