import type { ReadClient } from "../../../database/database.ts";
import type { CallsignRepair } from "../../../generated/sqlite/client.ts";
import { z } from "zod";
import { isoOrNull } from "../../../kernel/fields.ts";
import { toPage, withTotal, type Cursors, type Page } from "../../../kernel/page.ts";
import { ListRepairsQuery, type RepairRecordView } from "./repair.schema.ts";

const list = "callsign_repairs";
const StoredFixes = z.array(z.object({ code: z.string() })).catch([]);
type Row = Omit<CallsignRepair, "undo" | "planHash">;

/** Repairs that were carried out, newest first. @throws ProblemError invalid_cursor */
export async function listRepairs(
  db: Pick<ReadClient, "callsignRepair">,
  cursors: Cursors,
  query: ListRepairsQuery,
): Promise<Page<RepairRecordView>> {
  const { limit, cursor, count } = ListRepairsQuery.parse(query);
  const [before, id] = cursor === undefined ? [] : cursors.decode(list, {}, cursor);
  const at = new Date(before ?? 0);
  const rows = await db.callsignRepair.findMany({
    ...(id !== undefined && { where: { OR: [{ at: { lt: at } }, { at, id: { lt: id } }] } }),
    omit: { undo: true, planHash: true },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: limit + 1,
  });
  const page = toPage(rows, limit, presentRepair, (last) => cursors.encode(list, {}, [last.at.toISOString(), last.id]));
  return await withTotal(page, { count }, () => db.callsignRepair.count());
}

function presentRepair({ id, pool, at, actorId, fixes, undoUntil, undoneAt, undoneBy }: Row): RepairRecordView {
  const counts: Record<string, number> = {};
  for (const { code } of StoredFixes.parse(fixes)) counts[code] = (counts[code] ?? 0) + 1;
  const undo = { undo_until: undoUntil.toISOString(), undone_at: isoOrNull(undoneAt), undone_by: undoneBy };
  return { id, pool, at: at.toISOString(), actor_id: actorId, counts, ...undo };
}
