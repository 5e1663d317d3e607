import { say } from "../../kit/say.ts";
import { z } from "zod";
import type { ReadClient, Tx, TransactionClient } from "../../database/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { unended } from "./agreements/agreement-rows.ts";
import type { createAgreementsInTx } from "./agreements/in-tx.ts";
import { byAnyId, type RegisteredServer } from "./known.ts";
import { agreementStatusAt } from "./servers.policy.ts";
import { registerLock, type ServerRows } from "./rows.ts";
import { storedStatuses } from "./servers.schema.ts";

export interface MergeDeps {
  rows: ServerRows;
  agreements: Pick<ReturnType<typeof createAgreementsInTx>, "lockAgreementsOf">;
  clock: Clock;
}

/** A merger that an approved request leads to. */
export interface RequestedMerge {
  sourceId: string;
  targetId: string;
  /** The permission that approved it. */
  permission: string;
  /** The request. */
  causeReference: string;
}

const MergeUndo = z.strictObject({ source_id: z.string(), target_id: z.string(), status: z.enum(storedStatuses) });
export type MergeUndo = z.infer<typeof MergeUndo>;

interface ServerFact {
  id: string;
  status: string;
  merged_into: string | null;
  aliases: string[];
}

/** What the plan of a merger depends on; a plan that is carried out later compares it with what it was. Plain JSON. */
export interface MergeFacts {
  source: ServerFact;
  target: ServerFact;
  /** Ids of the agreements of the source that are not over. */
  agreements: string[];
}

type Reader = Pick<ReadClient | TransactionClient, "server" | "agreement">;
const aliases = { aliases: true } as const;

/** Mergers inside other features' transactions. Those features have checked rights and conflicts. */
export function createMerges({ rows, agreements, clock }: MergeDeps) {
  /** The server under any of its ids; nobody registered it: it is now. */
  async function registered(tx: Tx, id: string, note: { permission: string; reason: string }): Promise<RegisteredServer> {
    const row = await tx.db.server.findFirst({ where: byAnyId(id), include: aliases });
    return row ?? (await rows.create(tx, { id, status: "known" }, note));
  }

  return {
    /**
     * One server becomes part of another; both are registered if they were not, and stay so.
     * @throws ProblemError invalid_transition when one is merged already, the target is gone, or both are the same server
     */
    async mergeInTx(tx: Tx, { sourceId, targetId, permission, causeReference }: RequestedMerge): Promise<{ undo: MergeUndo }> {
      const note = { permission, reason: `Approval of ${causeReference}` };
      await tx.lock(registerLock);
      const known = await tx.db.server.findFirst({ where: byAnyId(sourceId), include: aliases });
      const ids = known === null ? [sourceId] : [known.id, ...known.aliases.map(({ aliasId }) => aliasId)];
      await agreements.lockAgreementsOf(tx, ids);
      const found = await tx.db.server.findFirst({ where: byAnyId(targetId) });
      requireMergeable(known ?? { id: sourceId, status: "known" }, found ?? { id: targetId, status: "known" });
      const source = await registered(tx, sourceId, note);
      const target = await registered(tx, targetId, note);
      await rows.change(tx, source, { status: "merged", merged_into: target.id }, note);
      return { undo: { source_id: source.id, target_id: target.id, status: z.enum(storedStatuses).parse(source.status) } };
    },

    /** The source stands for itself again, unless it was changed since. @param undo of `mergeInTx` */
    async undoMergeInTx(tx: Tx, undo: unknown, note: { reason: string; permission: string }) {
      const { source_id: sourceId, target_id: targetId, status } = MergeUndo.parse(undo);
      await tx.lock(registerLock);
      const source = await tx.db.server.findUnique({ where: { id: sourceId }, include: aliases });
      if (source?.status !== "merged" || source.mergedInto !== targetId)
        return { restored: false, detail: say("servers.the-server-was-taken-out-of-the") };
      await rows.change(tx, source, { status }, note);
      return { restored: true, detail: say("servers.the-server-stands-for-itself-again") };
    },

    /** @param at the moment the plan is for: agreements that are over then do not count */
    async mergeFacts(db: Reader, sourceId: string, targetId: string, at: Date = clock.now()): Promise<MergeFacts> {
      const source = await factOf(db, sourceId);
      const ids = [...new Set([sourceId, source.id, ...source.aliases])];
      const where = { status: { in: [...unended] }, parties: { some: { serverId: { in: ids } } } };
      const found = await db.agreement.findMany({ where, orderBy: { id: "asc" } });
      const running = found.filter((row) => agreementStatusAt(row, at) !== "ended");
      return { source, target: await factOf(db, targetId), agreements: running.map(({ id }) => id) };
    },
  };
}

/** A server nobody registered counts as one that is merely known: registering it changes no plan. */
async function factOf(db: Reader, anyId: string): Promise<ServerFact> {
  const row = await db.server.findFirst({ where: byAnyId(anyId), include: aliases });
  if (row === null) return { id: anyId, status: "known", merged_into: null, aliases: [] };
  const { id, status, mergedInto } = row;
  return { id, status, merged_into: mergedInto, aliases: row.aliases.map(({ aliasId }) => aliasId).toSorted() };
}

interface Party {
  id: string;
  status: string;
}

/** Anyone who goes into a server that is part of none can never come round to itself. */
function requireMergeable(source: Party, target: Party): void {
  const rules: readonly [isBroken: boolean, from: string, detail: string][] = [
    [source.id === target.id, source.status, say("servers.a-server-cannot-be-merged-into-itself")],
    [source.status === "merged", source.status, say("servers.the-source-is-part-of-another-server")],
    [target.status === "merged", target.status, say("servers.the-target-is-part-of-another-server")],
    [target.status === "defunct", target.status, say("servers.the-target-is-gone")],
  ];
  const broken = rules.find(([isBroken]) => isBroken);
  if (broken === undefined) return;
  throw new ProblemError("invalid_transition", { detail: broken[2], extra: { from: broken[1], action: "merge", allowed: [] } });
}
