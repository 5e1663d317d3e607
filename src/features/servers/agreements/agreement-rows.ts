import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { Agreement, AgreementParty, Prisma } from "../../../generated/sqlite/client.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import type { MatchesService } from "../../intelligence/matches/matches.service.ts";
import { presentAgreement } from "../servers.policy.ts";
import type { AgreementView } from "../servers.schema.ts";

export interface AgreementRowDeps extends Deps<"audit" | "events"> {
  matches: Pick<MatchesService, "applyServer">;
  /** Keyed hash of a server id, the same wherever servers are stored. */
  hashOf: (serverId: string) => string;
}

/** Why an agreement changes, and what permits it. */
export interface AgreementNote {
  reason?: string;
  permission: string;
}

export type AgreementRow = Agreement & { parties: AgreementParty[] };
export interface AgreementRows {
  persist(
    tx: Tx,
    row: AgreementRow,
    note: AgreementNote & {
      action: string;
    },
    left?: readonly string[],
  ): Promise<{
    id: string;
    status: "scheduled" | "ended" | "active" | "suspended";
    server_ids: string[];
    covers: "staff" | "members" | "both";
    cooling_off_days: number;
    terms: string | null;
    starts_at: string;
    ends_at: string | null;
    origin_reference: string | null;
    created_at: string;
    ended: {
      at: string;
      reason: string | null;
    } | null;
    revision: number;
  }>;
  change(
    tx: Tx,
    given: AgreementRow,
    changes: Prisma.AgreementUncheckedUpdateInput,
    note: AgreementNote & {
      action: string;
    },
  ): Promise<AgreementView>;
  /** Read an agreement to change it. @throws ProblemError record_not_found */
  read(tx: Tx, id: string): Promise<AgreementRow>;
  /** Read several to change them: every lock before the first change, because anyone who changes one waits for the matches after it. */
  readAll(tx: Tx, ids: readonly string[]): Promise<AgreementRow[]>;
  /** Name other parties. */
  setParties(tx: Tx, row: AgreementRow, serverIds: readonly string[], note: AgreementNote): Promise<AgreementView>;
  end(
    tx: Tx,
    row: AgreementRow,
    note: AgreementNote & {
      reason: string;
    },
  ): Promise<AgreementView>;
}

/** The stored statuses of agreements that are not over, unless their end has passed. */
export const unended = ["scheduled", "active", "suspended"] as const;
const parties = { parties: true } as const;

/** Writes of agreements inside a given transaction: each is told, and the matches follow. */
export function createAgreementRows({ audit, events, matches, hashOf }: AgreementRowDeps): AgreementRows {
  /** Tell of a change that is written, and compare the members of the parties again. @param left servers that are no party any more */
  async function persist(tx: Tx, row: AgreementRow, note: AgreementNote & { action: string }, left: readonly string[] = []) {
    const view = presentAgreement(row, tx.now);
    const { status, server_ids: serverIds } = view;
    audit.record(tx, {
      ...note,
      target: { kind: "agreement", id: row.id },
      after: { status, server_ids: serverIds, ends_at: view.ends_at },
    });
    events.emit(tx, { type: "agreement.changed", data: { agreement_id: row.id, status, server_ids: serverIds } });
    await matches.applyServer(tx, [...new Set([...serverIds, ...left])]);
    return view;
  }

  async function change(
    tx: Tx,
    { id }: AgreementRow,
    changes: Prisma.AgreementUncheckedUpdateInput,
    note: AgreementNote & { action: string },
  ): Promise<AgreementView> {
    const data = { ...changes, revision: { increment: 1 } };
    return persist(tx, await tx.db.agreement.update({ where: { id }, data, include: parties }), note);
  }

  async function find(tx: Tx, id: string): Promise<AgreementRow> {
    const row = await tx.db.agreement.findUnique({ where: { id }, include: parties });
    if (row === null) throw recordNotFound();
    return row;
  }

  return {
    persist,
    change,

    async read(tx: Tx, id: string): Promise<AgreementRow> {
      await tx.lock(lockOf(id));
      return find(tx, id);
    },

    async readAll(tx: Tx, ids: readonly string[]): Promise<AgreementRow[]> {
      const sorted = ids.toSorted();
      for (const id of sorted) await tx.lock(lockOf(id));
      const rows: AgreementRow[] = [];
      for (const id of sorted) rows.push(await find(tx, id));
      return rows;
    },

    async setParties(tx: Tx, row: AgreementRow, serverIds: readonly string[], note: AgreementNote): Promise<AgreementView> {
      const left = row.parties.map(({ serverId }) => serverId);
      await tx.db.agreementParty.deleteMany({ where: { agreementId: row.id } });
      const data = serverIds.map((serverId) => ({ agreementId: row.id, serverId, serverHash: hashOf(serverId) }));
      await tx.db.agreementParty.createMany({ data });
      await tx.db.agreement.update({ where: { id: row.id }, data: { revision: { increment: 1 } } });
      return persist(tx, await find(tx, row.id), { action: "agreement.parties", ...note }, left);
    },

    end: (tx: Tx, row: AgreementRow, note: AgreementNote & { reason: string }): Promise<AgreementView> =>
      change(tx, row, { status: "ended", endedAt: tx.now, endReason: note.reason }, { action: "agreement.end", ...note }),
  };
}

const lockOf = (id: string): string => `agreement:${id}`;
