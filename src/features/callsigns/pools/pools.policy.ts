import { say } from "../../../kit/say.ts";
import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import type { CallsignPool } from "../../../generated/sqlite/client.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import { within } from "../fill.ts";
import { countFree } from "../free.ts";
import { lasting } from "../keys.ts";
import { numbersOf } from "../numbers.ts";
import { PoolRules, type PoolView } from "./pools.schema.ts";
import { isSame } from "../template.ts";

type Reader = Pick<ReadClient | TransactionClient, "callsignPool" | "callsignSlot">;

/** So many callsigns are named in a warning. */
const maxNamed = 10;

/** What a pool says, as it is sent and answered. */
export function rulesOf(pool: CallsignPool): PoolRules {
  const { name, department, template, ranges, reserved, skip } = pool;
  const same = { name, department, template, ranges, reserved, skip };
  return PoolRules.parse({
    ...same,
    rank_bands: pool.rankBands,
    hold_days: pool.holdDays,
    reservation_minutes: pool.reservationMinutes,
    nickname_template: pool.nicknameTemplate,
    case_rule: pool.caseRule,
  });
}

export function columnsOfPool(rules: PoolRules) {
  const { name, department, template, ranges, reserved, skip } = rules;
  const same = { name, department, template, ranges, reserved, skip };
  return {
    ...same,
    rankBands: rules.rank_bands,
    holdDays: rules.hold_days,
    reservationMinutes: rules.reservation_minutes,
    nicknameTemplate: rules.nickname_template,
    caseRule: rules.case_rule,
  };
}

/** What stands of a pool, by state; what time has freed does not count. */
export async function countsOf(db: Reader, pool: CallsignPool, now: Date): Promise<PoolView["counts"]> {
  const numbers = numbersOf(pool);
  const where = { pool: pool.key, liveKey: { not: null }, ...lasting(now) };
  const rows = await db.callsignSlot.groupBy({ by: ["state"], where, _count: { id: true } });
  const count = (state: string): number => rows.find((row) => row.state === state)?._count.id ?? 0;
  return {
    capacity: numbers.capacity,
    assigned: count("assigned"),
    reserved: count("reserved"),
    held: count("held"),
    retired: count("retired"),
    blocked: count("blocked"),
    free: await countFree(db, pool.key, numbers, now),
  };
}

export async function presentPool(db: Reader, pool: CallsignPool, now: Date): Promise<PoolView> {
  return {
    key: pool.key,
    ...rulesOf(pool),
    counts: await countsOf(db, pool, now),
    created_at: pool.createdAt.toISOString(),
    updated_at: pool.updatedAt.toISOString(),
    revision: pool.revision,
  };
}

/** What a pool as it stands now leaves to look after. */
export async function warningsOf(db: Reader, pool: CallsignPool): Promise<string[]> {
  const noDepartment = pool.template.includes("{dept}") && pool.department === null;
  return [
    ...(noDepartment ? [say("callsigns.the-template-names-a-department-and-the")] : []),
    ...(await outsiders(db, pool)),
    ...(await likenesses(db, pool)),
  ];
}

async function outsiders(db: Reader, { key, ranges }: CallsignPool): Promise<string[]> {
  const { spans } = numbersOf({ ranges, reserved: [], skip: [], rankBands: {} });
  const where = { pool: key, state: "assigned", NOT: { OR: within(spans) } };
  const count = await db.callsignSlot.count({ where });
  if (count === 0) return [];
  const rows = await db.callsignSlot.findMany({ where, orderBy: { number: "asc" }, take: maxNamed, select: { callsign: true } });
  const names = rows.map(({ callsign }) => callsign).join(", ");
  return [say("callsigns.outside-ranges", { count, names: `${names}${count > rows.length ? ", …" : ""}` })];
}

/** Other pools whose callsigns differ from those of this one by their case at most. */
async function likenesses(db: Reader, pool: CallsignPool): Promise<string[]> {
  const others = await db.callsignPool.findMany({ where: { key: { not: pool.key } }, orderBy: { key: "asc" } });
  const { spans } = numbersOf(pool);
  const isAlike = (other: CallsignPool): boolean =>
    isSame(shapeOf(pool), shapeOf(other)) &&
    numbersOf(other).spans.some(([first, last]) => spans.some(([start, end]) => first <= end && last >= start));
  return others.filter(isAlike).map(({ key }) => say("callsigns.callsigns-of-the-pool-differ-from-these", { key }));
}

function shapeOf({ template, department }: CallsignPool): string {
  return template.replaceAll("{dept}", () => department ?? "");
}

/** Staff roles whose callsigns come from a pool. */
export function rolesFrom(access: Pick<AccessDirectory, "roles">, pool: string): string[] {
  return access.roles().flatMap((role) => (role.callsignPool === pool ? [role.key] : []));
}
