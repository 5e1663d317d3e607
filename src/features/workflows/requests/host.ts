import type { Deps } from "../../deps.ts";
import type { ReadClient } from "../../../database/database.ts";
import type { Source } from "../../../database/parts.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import type { EvidenceHost, Host } from "../../evidence/hosts.ts";
import type { LinkReach } from "../../links/reach.ts";
import { isOpenStatus } from "../state/table.ts";
import { contextOf, deciderOf, type Ranks } from "./context.ts";
import { kindOf } from "../kinds/kinds.ts";
import {
  canSee,
  eventPermission,
  statusAt,
  subjectsOf,
  viewerOf,
  getWholeRequest,
  wholeRequest,
  type Request,
} from "./workflows.policy.ts";

interface RequestHostDeps extends Deps<"database" | "reach"> {
  access: Ranks;
}

/**
 * Evidence on requests: read by anyone who may know of the request, added while it is open by its requester and those who review.
 * Keys are ids, or `<kind>/<id or reference>`: then the kind has to be the request's own.
 */
export function createRequestHost({ database, access, reach }: RequestHostDeps): EvidenceHost {
  async function find(
    source: Source & { db: Pick<ReadClient, "workflowRequest"> & Parameters<LinkReach["linkedAccountsOf"]>[0] },
    call: Call,
    key: string,
  ): Promise<Request> {
    const [type, name] = key.includes("/") ? key.split("/", 2) : [undefined, key];
    const kind = type === undefined ? undefined : kindOf(type);
    if (name === undefined || (type !== undefined && kind === undefined)) throw recordNotFound();
    const where = { ...(kind !== undefined && { type: kind }), OR: [{ id: name.toLowerCase() }, { reference: name.toUpperCase() }] };
    const row = await wholeRequest(source, await source.db.workflowRequest.findFirst({ where }));
    if (row === null || !canSee(await viewerOf(source.db, reach, call), row)) throw recordNotFound();
    return row;
  }

  return {
    async read(call, key) {
      requirePermission(call, "workflows.read");
      return hostOf(await find({ db: database.read, dialect: database.dialect }, call, key));
    },

    async open(tx, key) {
      const { id } = await find(tx, tx.call, key);
      await tx.lock(`workflow:${id}`);
      const row = await getWholeRequest(tx, id);
      if (row.requesterId !== tx.call.actor?.id) requirePermission(tx.call, "workflows.review");
      const status = statusAt(row, tx.now);
      if (!isOpenStatus(status))
        throw new ProblemError("invalid_transition", { extra: { from: status, action: "add_evidence", allowed: [] } });
      return hostOf(row);
    },

    async requireRedactable(tx, key) {
      const row = await find(tx, tx.call, key);
      const decider = deciderOf(tx.call, await reach.linkedAccountsOf(tx.db, tx.call.actor?.id ?? ""));
      if (decider === null) return;
      const context = await contextOf(tx.db, access, decider, row);
      if (context.isConflicted) throw new ProblemError("conflict_of_interest");
      if (context.isOutranked) throw new ProblemError("hierarchy_violation");
    },
  };
}

/** A confidential request is told of to those who may read confidential matters. */
function hostOf(row: Request): Host {
  const narrowed = eventPermission(row);
  const people = subjectsOf(row).filter(({ kind }) => kind === "user");
  return {
    id: row.id,
    reference: row.reference,
    subjectUserId: people.length === 1 ? (people[0]?.id ?? null) : null,
    ...(narrowed !== undefined && { eventPermission: narrowed }),
  };
}
