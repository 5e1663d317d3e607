import { say } from "../../../kit/say.ts";
import type { CauseInForce, CauseSource, Place } from "../../../discord-actions/in-force.ts";
import type { Tx } from "../../../database/database.ts";
import { Prisma, type WorkflowEffect, type WorkflowRequest, type WorkflowSubject } from "../../../generated/sqlite/client.ts";
import { calledOff, Delivered, DiscordEffectInput, isAmends, mayBeDone, hasFailed } from "./discord-effect.ts";
import type { EventsService } from "../../events/events.service.ts";
import { causeIdOf, causeOf } from "./shared-actions.ts";
import { tellRecovered } from "../../../discord-actions/discord-actions.ts";
import { eventPermission, type Request } from "../requests/workflows.policy.ts";

/**
 * Report that an effect that had failed is done after all or called off; nothing for one that had not failed, or has not come to its end.
 * @param row the effect as it was before
 */
export function tellRecoveredEffect(
  events: Pick<EventsService, "emit">,
  tx: Tx,
  { request, row, status }: { request: Pick<Request, "id" | "reference" | "subjects">; row: WorkflowEffect; status: string },
): void {
  const action = DiscordEffectInput.safeParse(row.input).data?.discord;
  if (action === undefined || !hasFailed(row) || status === "failed" || status === "pending") return;
  const cause = { feature: "request", id: request.id, place: row.place, reference: request.reference } as const;
  tellRecovered(events, tx, { action, cause, permission: eventPermission(request) });
}

type Found = WorkflowEffect & { request: Pick<WorkflowRequest, "id" | "status" | "reference"> & { subjects: WorkflowSubject[] } };

/** What approvals in force have the bot do: each effect is a cause until its approval is taken back or its time is over. */
export function createRequestCauses(wake: () => void, events: Pick<EventsService, "emit">): CauseSource {
  /** Every effect that acts on the person there, with what it asks for. */
  async function effectsOf({ db }: Tx, { guildId, userId }: Place): Promise<{ row: Found; cause: CauseInForce }[]> {
    const rows = await db.workflowEffect.findMany({
      where: {
        status: { in: ["pending", "done", "failed", "reversed"] },
        input: { not: Prisma.DbNull },
        request: { subjects: { some: { kind: "user", subjectId: userId } } },
      },
      include: { request: { select: { id: true, status: true, reference: true, subjects: true } } },
      orderBy: [{ requestId: "asc" }, { place: "asc" }],
    });
    return rows.flatMap((row) => {
      const cause = isAmends(row) ? undefined : causeOf(row, row.request.reference);
      return cause?.guildId === guildId && cause.userId === userId ? [{ row, cause }] : [];
    });
  }

  return {
    feature: "request",

    async causesOf(tx, place) {
      const all = await effectsOf(tx, place);
      const left = all.filter(({ row }) => row.status === "reversed" && Delivered.safeParse(row.undo).data?.left === true);
      const inForce = all.filter(({ row }) => (row.status === "pending" || row.status === "done") && row.request.status === "approved");
      return inForce.map(({ cause }) => {
        const isHeir = left.some((one) => one.cause.kind === cause.kind && one.cause.roleId === cause.roleId);
        return isHeir ? { ...cause, changed: true } : cause;
      });
    },

    async isUnderWay({ db }, { guildId, userId }) {
      const rows = await db.workflowEffect.findMany({
        where: {
          status: "pending",
          key: { startsWith: "discord." },
          input: { not: Prisma.DbNull },
          request: { subjects: { some: { kind: "user", subjectId: userId } } },
        },
        select: { input: true },
      });
      return rows.some(({ input }) => {
        const action = DiscordEffectInput.safeParse(input).data?.discord;
        return action !== undefined && "guildId" in action && action.guildId === guildId && action.userId === userId;
      });
    },

    async signsOf(tx, place) {
      return (await effectsOf(tx, place)).flatMap(({ cause }) => (cause.kind === "ban" ? [cause.reference] : []));
    },

    async mark({ db }, id, { changed, until }) {
      const where = placeOf(id);
      const row = await db.workflowEffect.findUnique({ where: { requestId_place: where } });
      if (row === null || (row.status === "pending" && !changed)) return;
      const undo =
        row.status === "pending"
          ? { ...(row.undo as Prisma.InputJsonObject | null), changed, mayBeDone: true }
          : { changed, ...(until && { until: until.toISOString() }) };
      await db.workflowEffect.updateMany({ where: { ...where, status: row.status }, data: { undo } });
    },

    async end(tx, place, { kind, by }) {
      for (const { row, cause } of await effectsOf(tx, place)) {
        if (cause.kind !== kind || row.status === "reversed") continue;
        // A ban that had not been there before would be lifted again by what is due for it.
        const change =
          row.status !== "done"
            ? calledOff(row, tx.now)
            : { status: "reversed", detail: `${row.detail} ${say("lists.it-was-lifted-by", { reference: by })}` };
        const where = { ...placeOf(causeIdOf(row)), status: row.status };
        await tx.db.workflowEffect.updateMany({ where, data: { ...change, dueAt: change.dueAt ?? null, updatedAt: tx.now } });
        tellRecoveredEffect(events, tx, { request: row.request, row, status: change.status });
        if (row.status !== "done" && mayBeDone(row)) tx.afterCommit(wake);
      }
    },
  };
}

function placeOf(id: string): { requestId: string; place: number } {
  const at = id.lastIndexOf(":");
  return { requestId: id.slice(0, at), place: Number(id.slice(at + 1)) };
}
