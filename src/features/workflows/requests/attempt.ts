import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../../../database/database.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import { can, notReadable } from "../../../kernel/call.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { LinkReach } from "../../links/reach.ts";
import { claimPermission } from "../state/table.ts";
import { contextOf, type Decider, type Ranks } from "./context.ts";
import type { DecisionInput } from "./decision.ts";
import { pointerIn, pointersTo, understandAmendment } from "./intake.ts";
import { kinds } from "../kinds/kinds.ts";
import { decidePermission, type Request } from "./workflows.policy.ts";
import { unreadableFields } from "./visibility.ts";
import { placed, type ServedServers } from "./where.ts";

/** Hold requests until the end of the transaction, in one order. */
export async function lockKept(tx: Tx, ids: readonly string[]): Promise<void> {
  for (const id of [...ids].toSorted()) await tx.lock(`workflow:${id}`);
}

interface Amending {
  request: Request;
  input: DecisionInput;
  /** Whether the caller is kept from deciding the request. */
  isPartial: boolean;
  served: ServedServers;
}

/**
 * The whole payload after an amendment: what is sent replaces, null takes away. Where it changes what is done or where, it says where.
 * @throws ZodError with paths below /payload, ProblemError permission_denied for fields that the caller may not read, validation_failed
 */
export async function amendedPayload(tx: Tx, { request, input, isPartial, served }: Amending): Promise<Record<string, unknown>> {
  const { call } = tx;
  const { body } = input;
  const type = request.type as WorkflowKind;
  const kind = kinds[type];
  const pointers = pointersTo(kind, body.payload ?? {}, unreadableFields(call, type, { requesterId: request.requesterId, isPartial }));
  if (pointers.length > 0) throw notReadable(call, pointers, kind.confidential ?? decidePermission(type));
  const [before, changes] = [jsonObject(request.payload), body.payload ?? {}];
  // As it is stored: what is not there has no name.
  const amended = JSON.parse(JSON.stringify(understandAmendment(kind, before, changes))) as Record<string, unknown>;
  const isAsBefore = (kind.place?.fields ?? []).every((field) => isDeepStrictEqual(before[field], amended[field]));
  if (isAsBefore) return amended;
  const example = ({ guild_ids }: { guild_ids?: unknown }) => ({ payload: { ...changes, guild_ids } });
  return placed(tx, { kind, payload: amended, served, pointerTo: pointerIn(kind, changes), example });
}

interface Assigning {
  access: Ranks;
  reach: Pick<LinkReach, "linkedAccountsOf">;
  request: Request;
  decider: Decider;
  input: DecisionInput;
}

/** Whom a request is to be assigned to, and whether that person could work on it. */
export async function assigneeFor(
  tx: Tx,
  { access, reach, request, decider, input }: Assigning,
): Promise<{ id: string; isEligible: boolean }> {
  const named = input.body.assignee;
  const id = named === undefined || named === "@me" ? decider.actorId : named;
  const person = access.of(id);
  const accounts = await reach.linkedAccountsOf(tx.db, id);
  const other = { call: decider.call, actorId: id, isOwner: person.isOwner, rank: person.rank, accounts };
  const context = await contextOf(tx.db, access, other, request);
  const permission = claimPermission;
  const mayClaim = id === decider.actorId ? can(decider.call, permission) : person.isStaff && person.decide(permission).allowed;
  return { id, isEligible: mayClaim && !context.isConflicted && !context.isOutranked };
}
