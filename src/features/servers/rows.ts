import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { can } from "../../kernel/call.ts";
import { fieldError, ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { MatchesService } from "../intelligence/matches/matches.service.ts";
import { byAnyId, hashesOf, type RegisteredServer } from "./known.ts";
import { difference, presentServer, registryPermissions } from "./servers.policy.ts";
import { relatedTo } from "./related.ts";
import type { CreateServerInput, UpdateServerInput } from "./servers.schema.ts";

export interface RowDeps extends Deps<"audit" | "events"> {
  matches: Pick<MatchesService, "applyServer">;
  hashOf: (serverId: string) => string;
}

type Created = ReturnType<typeof CreateServerInput.parse>;
/** A change that is written. */
interface Written {
  before: RegisteredServer | null;
  id: string;
  /** Every server whose members have to be compared again. */
  concerned: readonly string[];
  note: RegisterNote;
}
type Updated = ReturnType<typeof UpdateServerInput.parse>;
/** What allowed a change, and why it was made. */
export interface RegisterNote {
  permission: string;
  reason?: string;
}
export interface ServerRows {
  /** Read a server to change it, in the revision the caller knows. @throws ProblemError record_not_found, precondition_failed */
  open(tx: Tx, anyId: string, ifMatch: number | undefined): Promise<RegisteredServer>;
  /** @throws ProblemError duplicate_active_record, validation_failed */
  create(tx: Tx, input: Created, note?: RegisterNote): Promise<RegisteredServer>;
  /** Change a server read by `open`; nothing changed: nothing written. @throws ProblemError duplicate_active_record, validation_failed */
  change(tx: Tx, before: RegisteredServer, input: Updated, note?: RegisterNote): Promise<RegisteredServer>;
}

/** Anyone who changes the register holds it: ids and mergers are unique over all servers. */
export const registerLock = "servers";
const aliases = { aliases: true } as const;
const byManager: RegisterNote = { permission: registryPermissions.manage };

/** Writes of the register inside a given transaction: each is told, and the matches follow. */
export function createServerRows({ audit, events, matches, hashOf }: RowDeps): ServerRows {
  /** Tell of a change that is written. */
  async function persist(tx: Tx, { before, id, concerned, note }: Written): Promise<RegisteredServer> {
    const row = await tx.db.server.findUniqueOrThrow({ where: { id }, include: aliases });
    audit.record(tx, {
      action: before === null ? "server.create" : "server.update",
      target: { kind: "server", id },
      ...difference(before === null ? {} : presentServer(before, null, []), presentServer(row, null, [])),
      ...note,
    });
    events.emit(tx, { type: "server.changed", data: { server_id: id, status: row.status } });
    const reached = concerned.length === 0 ? [] : await idsAround(tx, row);
    if (concerned.length > 0) await matches.applyServer(tx, [...new Set([...concerned, ...reached])]);
    return row;
  }

  function aliasRows(serverId: string, ids: readonly string[]) {
    return ids.map((aliasId) => ({ aliasId, aliasHash: hashOf(aliasId), serverId }));
  }

  return {
    async open(tx: Tx, anyId: string, ifMatch: number | undefined): Promise<RegisteredServer> {
      await tx.lock(registerLock);
      const row = await tx.db.server.findFirst({ where: byAnyId(anyId), include: aliases });
      if (row === null) throw recordNotFound();
      requireRevision(ifMatch, row.revision);
      return row;
    },

    async create(tx: Tx, input: Created, note = byManager): Promise<RegisteredServer> {
      await tx.lock(registerLock);
      const others = aliasesOf(input.id, input.aliases ?? []);
      await requireFree(tx, input.id, [input.id, ...others]);
      const createdBy = tx.call.actor?.id ?? null;
      const told = { contacts: [], tags: [], ...toldOf(input) };
      const times = { createdAt: tx.now, updatedAt: tx.now };
      await tx.db.server.create({
        data: { id: input.id, hash: hashOf(input.id), ...told, status: input.status, createdBy, ...times },
      });
      await tx.db.serverAlias.createMany({ data: aliasRows(input.id, others) });
      return persist(tx, { before: null, id: input.id, concerned: [input.id, ...others], note });
    },

    async change(tx: Tx, before: RegisteredServer, input: Updated, note = byManager): Promise<RegisteredServer> {
      const known = before.aliases.map(({ aliasId }) => aliasId);
      const wanted = input.aliases === undefined ? known : aliasesOf(before.id, input.aliases);
      const fresh = wanted.filter((id) => !known.includes(id));
      const gone = known.filter((id) => !wanted.includes(id));
      await requireFree(tx, before.id, fresh);
      const statusFields = await standingOf(tx, before, input);
      const changes = { ...toldOf(input), ...statusFields, ...inviteOf(before, input) };
      const { status, mergedInto } = before;
      const isMatching = fresh.length + gone.length > 0 || statusFields.status !== status || statusFields.mergedInto !== mergedInto;
      const after = { ...before, ...(changes as Partial<RegisteredServer>) };
      if (!isMatching && JSON.stringify(presentServer(after, null, [])) === JSON.stringify(presentServer(before, null, []))) return before;
      const concerned = isMatching ? await idsAround(tx, before) : [];
      await tx.db.server.update({ where: { id: before.id }, data: { ...changes, revision: { increment: 1 }, updatedAt: tx.now } });
      if (gone.length > 0) await tx.db.serverAlias.deleteMany({ where: { serverId: before.id, aliasId: { in: gone } } });
      if (fresh.length > 0) await tx.db.serverAlias.createMany({ data: aliasRows(before.id, fresh) });
      return persist(tx, { before, id: before.id, concerned, note });
    },
  };
}

/** The columns that are written as they are told; what was not sent stays. */
function toldOf(input: Partial<Created> | Updated) {
  const { name, icon, owner_user_id: ownerUserId, contacts, tags, note, invite_code: inviteCode } = input;
  const told = { name, icon, ownerUserId, contacts, tags: tags === undefined ? undefined : [...new Set(tags)], note, inviteCode };
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined));
}

/** What was found about another invite says nothing of this one. */
function inviteOf(before: RegisteredServer, { invite_code: code }: Updated) {
  return code === undefined || code === before.inviteCode ? {} : { inviteStatus: null, inviteCheckedAt: null };
}

/** @throws ProblemError validation_failed when a server is its own alias */
function aliasesOf(id: string, given: readonly string[]): string[] {
  const own = given.indexOf(id);
  if (own !== -1) throw fieldError(`/aliases/${own.toString()}`, "invalid_value", say("servers.a-server-is-not-an-alias-of"));
  return [...new Set(given)];
}

/** @throws ProblemError duplicate_active_record when one of the ids is registered, alone or as an alias */
async function requireFree(tx: Tx, id: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const server = await tx.db.server.findFirst({ where: { id: { in: [...ids] } }, select: { id: true } });
  const alias = await tx.db.serverAlias.findFirst({ where: { aliasId: { in: [...ids] } } });
  const taken = server?.id ?? alias?.serverId;
  if (taken === undefined) return;
  throw new ProblemError("duplicate_active_record", {
    detail: taken === id ? say("servers.this-server-is-registered-already") : say("servers.one-of-these-ids-belongs-to-a"),
    ...(can(tx.call, registryPermissions.read) && { extra: { server_id: taken } }),
  });
}

/** The status a change leads to, and what the server is part of then. @throws ProblemError validation_failed */
async function standingOf(tx: Tx, before: RegisteredServer, input: Updated): Promise<{ status: string; mergedInto: string | null }> {
  const status = input.status ?? before.status;
  if (status !== "merged") {
    if (input.merged_into !== undefined) throw wrongTarget(say("servers.only-a-server-of-the-status-merged"));
    return { status, mergedInto: null };
  }
  const mergedInto = input.merged_into ?? before.mergedInto;
  if (mergedInto === null) throw fieldError("/merged_into", "required", say("servers.name-the-server-it-is-part-of"));
  if (mergedInto === before.mergedInto) return { status, mergedInto };
  if (mergedInto === before.id) throw wrongTarget(say("servers.a-server-cannot-be-merged-into-itself"));
  const target = await tx.db.server.findUnique({ where: { id: mergedInto }, select: { status: true } });
  if (target === null) throw wrongTarget(say("servers.register-this-server-first"));
  // Anyone who goes into a server that is part of none can never come round to itself.
  if (target.status === "merged") throw wrongTarget(say("servers.this-server-is-part-of-another-one"));
  return { status, mergedInto };
}

function wrongTarget(detail: string): ProblemError {
  return fieldError("/merged_into", "invalid_value", detail);
}

/** Every id of a server, and of those it is merged with. */
async function idsAround(tx: Tx, row: RegisteredServer): Promise<string[]> {
  const related = await relatedTo(tx.db, hashesOf(row));
  return [...new Set([row.id, ...row.aliases.map(({ aliasId }) => aliasId), ...related.map(({ serverId }) => serverId)])];
}
