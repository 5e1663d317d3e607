import { addSeconds } from "../../../kernel/clock.ts";
import type { Checked, CheckReader, Finding } from "./checks.ts";

const day = 86_400;

/** An agreement in force that concerns somebody. */
interface Bar {
  /** Its parties they are or were in. */
  from: string[];
  /** Its other parties. */
  to: string[];
}

/** Whether an agreement keeps this community from recruiting somebody, and no clearance lets it. */
export async function checkNoPoach(checked: Checked): Promise<Finding> {
  const { db, userId, now, parts } = checked;
  const bars = await barsOf(checked);
  if (bars.length === 0) return { result: "pass", detail: "No agreement between servers concerns them." };
  const clearances = await parts.registry.findClearances(db, userId, now);
  const named = [...bars.flatMap(({ from, to }) => [...from, ...to]), ...clearances.flatMap((one) => [one.fromServerId, one.toServerId])];
  const serverOf = await ownIds(db, named);
  const has = (ids: readonly string[], id: string): boolean => ids.some((one) => serverOf(one) === serverOf(id));
  const used = bars.map(({ from, to }) =>
    // Somebody may come from several parties of one agreement: each is to be cleared.
    from.map((id) => clearances.find((one) => has([id], one.fromServerId) && has(to, one.toServerId))),
  );
  if (used.flat().some((clearance) => clearance === undefined)) {
    return { result: "fail", detail: "An agreement between servers keeps us from recruiting them." };
  }
  const references = [...new Set(used.flat().flatMap((clearance) => (clearance === undefined ? [] : [clearance.originReference])))];
  return { result: "pass", detail: `Cleared by ${references.join(", ")}.` };
}

/** The agreements of this community's servers with one somebody is in, or left less than its cooling-off ago, or matches. */
async function barsOf(checked: Checked): Promise<Bar[]> {
  const { db, userId, now, parts } = checked;
  const own = parts.guildState.guilds().map(({ id }) => id);
  const seen = await db.userServer.findMany({ where: { userId }, select: { serverHash: true, relation: true, leftAt: true } });
  const where = { userId, kind: "no_poach", status: { in: ["grace", "open", "acknowledged", "confirmed"] } };
  const matches = await db.match.findMany({ where, select: { recordId: true, serverId: true } });
  const agreements = await agreementsInForce(checked, {
    own,
    ids: matches.map(({ recordId }) => recordId),
    hashes: seen.map(({ serverHash }) => serverHash),
  });
  return agreements.flatMap(({ id, covers, coolingOffDays, parties }): Bar[] => {
    const since = addSeconds(now, -coolingOffDays * day);
    const concerned = seen.filter((one) => isCovered(covers, one.relation) && (one.leftAt === null || one.leftAt > since));
    const hashes = new Set(concerned.map(({ serverHash }) => serverHash));
    const matched = new Set(matches.flatMap(({ recordId, serverId }) => (recordId === id ? [serverId] : [])));
    const others = parties.filter(({ serverId }) => !own.includes(serverId));
    const from = others.flatMap(({ serverId, serverHash }) => (hashes.has(serverHash) || matched.has(serverId) ? [serverId] : []));
    const to = parties.flatMap(({ serverId }) => (from.includes(serverId) ? [] : [serverId]));
    return from.length === 0 ? [] : [{ from, to }];
  });
}

/** Agreements that count now: named ones, and those of one of our own servers with one of others. */
function agreementsInForce({ db, now }: Checked, { own, ids, hashes }: { own: string[]; ids: string[]; hashes: string[] }) {
  const between = [{ parties: { some: { serverHash: { in: hashes } } } }, { parties: { some: { serverId: { in: own } } } }];
  return db.agreement.findMany({
    where: {
      status: { in: ["scheduled", "active"] },
      startsAt: { lte: now },
      AND: [{ OR: [{ endsAt: null }, { endsAt: { gt: now } }] }, { OR: [{ id: { in: ids } }, { AND: between }] }],
    },
    include: { parties: true },
    orderBy: { id: "asc" },
  });
}

/** Who owns or manages a server is its staff, as far as anybody outside can tell. */
function isCovered(covers: string, relation: string): boolean {
  return covers === "both" || covers === (relation === "member" ? "members" : "staff");
}

/** @returns the id a server is registered under, for any id of it */
async function ownIds(db: CheckReader, ids: readonly string[]): Promise<(id: string) => string> {
  const aliases = await db.serverAlias.findMany({
    where: { aliasId: { in: [...new Set(ids)] } },
    select: { aliasId: true, serverId: true },
  });
  const known = new Map(aliases.map(({ aliasId, serverId }) => [aliasId, serverId]));
  return (id) => known.get(id) ?? id;
}
