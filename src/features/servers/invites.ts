import type { Deps } from "../deps.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { registryPermissions } from "./servers.policy.ts";
import type { InviteStatus } from "./servers.schema.ts";
import { registerLock } from "./rows.ts";

/** The server an invite leads to; null when the invite is not valid. */
export type ReadInvite = (code: string) => Promise<{ serverId: string; name: string } | null>;

export interface InviteDeps extends Deps<"database" | "audit" | "events" | "clock"> {
  readInvite: ReadInvite;
}

interface Due {
  id: string;
  inviteCode: string;
}

/** Discord allows few look-ups without credentials. */
const atOnce = 5;
const day = 86_400;

/** Looks up where the invites of registered servers lead, each once a day. */
export function createInviteSweep({ database, audit, events, clock, readInvite }: InviteDeps) {
  async function findDue(): Promise<Due[]> {
    const before = addSeconds(clock.now(), -day);
    const rows = await database.read.server.findMany({
      where: { inviteCode: { not: null }, OR: [{ inviteCheckedAt: null }, { inviteCheckedAt: { lte: before } }] },
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

  return {
    /** Look a few invites up; answers how many. An outage of Discord ends the round, and nothing is noted of the rest. */
    async sweepInvites(call: Call): Promise<number> {
      let checked = 0;
      for (const due of await findDue()) {
        try {
          await note(call, due, (await readInvite(due.inviteCode))?.serverId ?? null);
        } catch (error) {
          if (!(error instanceof ProblemError)) throw error;
          if (error.code !== "discord_error") return checked;
          await note(call, due, undefined);
        }
        checked += 1;
      }
      return checked;
    },
  };
}

function statusOf(leadsTo: string | null, ids: readonly string[]): InviteStatus {
  if (leadsTo === null) return "invalid";
  return ids.includes(leadsTo) ? "valid" : "other_server";
}
