import { say } from "../../../kit/say.ts";
import { z } from "zod";
import type { Tx } from "../../../database/database.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import type { Undone } from "../../../kernel/undo.ts";
import { unended, type AgreementRow, type AgreementRows } from "./agreement-rows.ts";
import { idsOfServer } from "../known.ts";
import { agreementStatusAt } from "../servers.policy.ts";

const SuspensionUndo = z.strictObject({ reference: z.string(), agreement_ids: z.array(z.string()) });
const Repointed = z.strictObject({
  id: z.string(),
  before: z.array(z.string()),
  after: z.array(z.string()).meta({ description: "None when the agreement was ended instead" }),
  ended_at: z.string().nullable(),
});
const RepointUndo = z.strictObject({ agreements: z.array(Repointed) });
export type AgreementsSuspensionUndo = z.infer<typeof SuspensionUndo>;
export type RepointUndo = z.infer<typeof RepointUndo>;

interface Note {
  reason: string;
  permission: string;
}

/** Changes of the agreements of servers inside other features' transactions. Those features have checked rights and conflicts. */
export function createAgreementsInTx(rows: AgreementRows) {
  /** The agreements that one of these servers is party of, under any of its ids, and that are not over, each locked. */
  async function agreementsOf(tx: Tx, serverIds: readonly string[]): Promise<AgreementRow[]> {
    const where = { status: { in: [...unended] }, parties: { some: { serverId: { in: [...serverIds] } } } };
    const found = await tx.db.agreement.findMany({ where, select: { id: true } });
    const read = await rows.readAll(
      tx,
      found.map(({ id }) => id),
    );
    return read.filter((row) => agreementStatusAt(row, tx.now) !== "ended");
  }

  async function resume(tx: Tx, row: AgreementRow, reference: string, note: Note): Promise<boolean> {
    const holders = holdersOf(row);
    if (!holders.includes(reference)) return false;
    const left = holders.filter((holder) => holder !== reference).join(" ") || null;
    const isOver = agreementStatusAt(row, tx.now) === "ended";
    // Nothing changes yet for anybody: it is over, or suspended by another request as well.
    if (isOver || left !== null) await tx.db.agreement.update({ where: { id: row.id }, data: { suspendedBy: left } });
    else {
      const status = agreementStatusAt({ ...row, status: "active" }, tx.now);
      await rows.change(tx, row, { status, suspendedBy: null }, { action: "agreement.resume", ...note });
    }
    return !isOver;
  }

  async function pointBack(tx: Tx, row: AgreementRow, was: z.infer<typeof Repointed>, note: Note): Promise<boolean> {
    if (was.ended_at === null) {
      if (agreementStatusAt(row, tx.now) === "ended" || !isSame(partiesOf(row), was.after)) return false;
      await rows.setParties(tx, row, was.before, note);
      return true;
    }
    if (row.status !== "ended" || isoOrNull(row.endedAt) !== was.ended_at) return false;
    const status = row.suspendedBy === null ? agreementStatusAt({ ...row, status: "active" }, tx.now) : "suspended";
    if (agreementStatusAt({ ...row, status }, tx.now) === "ended") return false;
    await rows.change(tx, row, { status, endedAt: null, endReason: null }, { action: "agreement.resume", ...note });
    return true;
  }

  return {
    /** Every agreement of a server that is not over is locked, before anything else is changed that its members' matches hang on. */
    async lockAgreementsOf(tx: Tx, serverIds: readonly string[]): Promise<void> {
      await agreementsOf(tx, serverIds);
    },

    /**
     * Suspend every agreement of these servers, under any of their ids. Several requests may suspend one: it resumes with the last.
     * @returns the agreements this request suspends now, and what takes it back
     */
    async suspendAgreementsInTx(
      tx: Tx,
      serverIds: readonly string[],
      { reference, permission, reason }: Note & { reference: string },
    ): Promise<{ ids: string[]; undo: AgreementsSuspensionUndo }> {
      const ids: string[] = [];
      for (const row of await agreementsOf(tx, await allIdsOf(tx, serverIds))) {
        const holders = holdersOf(row);
        if (holders.includes(reference)) continue;
        const suspendedBy = [...holders, reference].join(" ");
        const note = { action: "agreement.suspend", permission, reason };
        if (row.status === "suspended") await tx.db.agreement.update({ where: { id: row.id }, data: { suspendedBy } });
        else await rows.change(tx, row, { status: "suspended", suspendedBy }, note);
        ids.push(row.id);
      }
      return { ids, undo: { reference, agreement_ids: ids } };
    },

    /** What this request suspends counts again, unless another one suspends it, too. @param undo of `suspendAgreementsInTx` */
    async undoSuspendAgreementsInTx(tx: Tx, undo: unknown, note: Note) {
      const { reference, agreement_ids: ids } = SuspensionUndo.parse(undo);
      let resumed = 0;
      for (const row of await rows.readAll(tx, ids)) resumed += (await resume(tx, row, reference, note)) ? 1 : 0;
      return resultOf(resumed, ids.length);
    },

    /** One server takes the place of another in its agreements; an agreement with one party left is ended. */
    async repointAgreementsInTx(tx: Tx, fromId: string, toId: string, note: Note): Promise<{ undo: RepointUndo }> {
      const from = await allIdsOf(tx, [fromId]);
      const into = await allIdsOf(tx, [toId]);
      const agreements: z.infer<typeof Repointed>[] = [];
      for (const row of await agreementsOf(tx, from)) {
        const before = partiesOf(row);
        const others = before.filter((id) => !from.includes(id));
        const after = others.some((id) => into.includes(id)) ? others : [...others, toId].toSorted();
        if (after.length > 1) await rows.setParties(tx, row, after, note);
        else await rows.end(tx, row, note);
        const isEnded = after.length < 2;
        agreements.push({ id: row.id, before, after: isEnded ? [] : after, ended_at: isEnded ? tx.now.toISOString() : null });
      }
      return { undo: { agreements } };
    },

    /** The parties are as they were, where nobody changed or ended the agreement since. @param undo of `repointAgreementsInTx` */
    async undoRepointInTx(tx: Tx, undo: unknown, note: Note) {
      const { agreements } = RepointUndo.parse(undo);
      const known = new Map(agreements.map((one) => [one.id, one]));
      let restored = 0;
      for (const row of await rows.readAll(tx, [...known.keys()])) {
        const was = known.get(row.id);
        if (was !== undefined && (await pointBack(tx, row, was, note))) restored += 1;
      }
      return resultOf(restored, agreements.length);
    },
  };
}

/** The requests that suspend an agreement. */
function holdersOf({ suspendedBy }: AgreementRow): string[] {
  return suspendedBy?.split(" ") ?? [];
}

function partiesOf({ parties }: AgreementRow): string[] {
  return parties.map(({ serverId }) => serverId).toSorted();
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id, index) => id === b[index]);
}

async function allIdsOf(tx: Tx, serverIds: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const id of serverIds) ids.push(id, ...((await idsOfServer(tx.db, id)) ?? []));
  return [...new Set(ids)];
}

function resultOf(done: number, all: number): Undone {
  if (done === all) return { restored: true, detail: say("servers.the-agreements-are-as-they-were-before") };
  return {
    restored: false,
    detail: say("servers.of-agreements-are-as-they-were-before", { done, all }),
  };
}
