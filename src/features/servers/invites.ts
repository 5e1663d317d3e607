import type { Deps } from "../deps.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { forEachIsolated, requireNoneFailed } from "../../kernel/isolated.ts";
import { registryPermissions } from "./servers.policy.ts";
import type { InviteStatus } from "./servers.schema.ts";
import { registerLock } from "./rows.ts";

/** The server an invite leads to; null when the invite is not valid. */
export type ReadInvite = (code: string) => Promise<{ serverId: string; name: string } | null>;

export interface InviteDeps extends Deps<"database" | "audit" | "events" | "clock" | "logger"> {
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
export function createInviteSweep({ database, audit, events, clock, logger, readInvite }: InviteDeps) {
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
