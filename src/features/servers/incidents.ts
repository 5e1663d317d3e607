import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Database, Tx } from "../../database/database.ts";
import type { PoachIncident } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { newestFirst } from "../../kernel/keyset.ts";
import { listPage, type Page } from "../../kernel/page.ts";
import { textsOf } from "../../kernel/parsing.ts";
import { idsOfServer } from "./known.ts";
import { registryPermissions } from "./servers.policy.ts";
import { ListIncidentsQuery, type IncidentView } from "./poaching/poaching.schema.ts";
import { relatedTo } from "./related.ts";

export interface IncidentDeps extends Deps<"database" | "audit" | "events" | "cursors"> {
  hashOf: (serverId: string) => string;
}

/** An incident that an approved report leads to. */
export interface ReportedIncident {
  serverId: string;
  victimServerId: string;
  offenderIds: readonly string[];
  method: string;
  occurredAt: Date;
  originReference: string;
  /** The permission that approved it. */
  permission: string;
}

interface Note {
  permission: string;
  reason?: string;
}

/** For how many seconds an incident counts. */
const counted = 180 * 86_400;
/** Anyone who counts waits for those who add: the one that reaches a number knows it. */
const lock = "poach_incidents";

/** Servers that recruited from others. */
export function createIncidents({ database, audit, events, cursors, hashOf }: IncidentDeps) {
  function recordChange(tx: Tx, row: PoachIncident, verb: "record" | "void", note: Note): void {
    const { id, serverId, victimServerId, status, originReference } = row;
    const after = { status, server_id: serverId, victim_server_id: victimServerId, request: originReference };
    audit.record(tx, { action: `poach_incident.${verb}`, target: { kind: "poach_incident", id }, after, ...note });
    events.emit(tx, { type: "poach_incident.changed", data: { incident_id: id, server_id: serverId, status } });
  }

  /** How many incidents count against a server now, under any of its ids and those it was merged with. */
  async function countOf(tx: Tx, serverId: string): Promise<number> {
    const related = await relatedTo(tx.db, [hashOf(serverId)]);
    const ids = [serverId, ...related.map((one) => one.serverId)];
    const since = addSeconds(tx.now, -counted);
    return tx.db.poachIncident.count({ where: { serverId: { in: ids }, status: "active", occurredAt: { gt: since } } });
  }

  return {
    /** Count an incident against a server. @returns how many count against it now, this one included if it is recent */
    async recordIncidentInTx(tx: Tx, { permission, offenderIds, ...told }: ReportedIncident) {
      await tx.lock(lock);
      const id = uuid7(tx.now.getTime());
      const data = { ...told, id, offenderIds: [...offenderIds], status: "active", createdAt: tx.now };
      recordChange(tx, await tx.db.poachIncident.create({ data }), "record", { permission });
      return { id, count: await countOf(tx, told.serverId), undo: { incident_id: id } };
    },

    /** An incident does not count any more; one that was voided stays so. @throws ProblemError record_not_found */
    async voidIncidentInTx(tx: Tx, id: string, note: { reason: string; permission: string }) {
      await tx.lock(lock);
      const row = await tx.db.poachIncident.findUnique({ where: { id } });
      if (row === null) throw recordNotFound();
      if (row.status !== "active") return { restored: false, detail: say("servers.the-incident-was-voided-already") };
      const data = { status: "voided", endedAt: tx.now, endReason: note.reason };
      recordChange(tx, await tx.db.poachIncident.update({ where: { id }, data }), "void", note);
      return { restored: true, detail: say("servers.the-incident-does-not-count-any-more") };
    },

    /** The incidents of a server under any of its ids, newest first, voided ones included. @throws ProblemError record_not_found */
    async listIncidents(call: Call, serverId: string, query: ListIncidentsQuery): Promise<Page<IncidentView>> {
      requirePermission(call, registryPermissions.read);
      const asked = ListIncidentsQuery.parse(query);
      const wanted = { serverId: { in: await idsOf(database, serverId) } };
      return listPage({
        cursors,
        list: "incidents",
        filters: { serverId },
        query: asked,
        keyset: newestFirst,
        find: ({ after, take }) =>
          database.read.poachIncident.findMany({ where: { AND: [wanted, after] }, orderBy: newestFirst.orderBy, take }),
        count: () => database.read.poachIncident.count({ where: wanted }),
        present: present,
      });
    },
  };
}

/** @throws ProblemError record_not_found for a server that is neither registered nor has any incident */
async function idsOf({ read }: Database, serverId: string): Promise<string[]> {
  const ids = await idsOfServer(read, serverId);
  if (ids !== null) return ids;
  if ((await read.poachIncident.findFirst({ where: { serverId } })) === null) throw recordNotFound();
  return [serverId];
}

function present(row: PoachIncident): IncidentView {
  return {
    id: row.id,
    status: row.status === "active" ? "active" : "voided",
    server_id: row.serverId,
    victim_server_id: row.victimServerId,
    offenders: textsOf(row.offenderIds).length,
    method: row.method,
    occurred_at: row.occurredAt.toISOString(),
    origin_reference: row.originReference,
    created_at: row.createdAt.toISOString(),
    ended: row.endedAt === null ? null : { at: row.endedAt.toISOString(), reason: row.endReason },
  };
}
