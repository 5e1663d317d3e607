import { say, term } from "../../../kit/say.ts";
import { madeAt } from "../../../kernel/ids.ts";
import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import type { Deps } from "../../deps.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { LinkReach } from "../../links/reach.ts";
import type { RosterService } from "../../roster/roster.service.ts";
import type { RegistryService } from "../../servers/servers.service.ts";
import type { CheckView } from "../requests/workflows.schema.ts";

export interface Checks {
  /** @param reference of the request the checks are for, once it has one */
  of(db: CheckReader, userId: string, now: Date, reference?: string): Promise<CheckView[]>;
}
export type CheckReader = ReadClient | TransactionClient;
/** What a check comes to, in words that name nobody else. */
export type Finding = Pick<CheckView, "detail" | "through_accounts"> & { result: Exclude<CheckView["result"], "ended"> };

export interface ChecksDeps extends Deps<"servedGuilds"> {
  reach: Pick<LinkReach, "linkedAccountsOf">;
  registry: Pick<RegistryService, "findClearances">;
  roster: Pick<RosterService, "find" | "isLive" | "whyNotBegin">;
}

/** Whom a check is about. */
export interface Checked {
  db: CheckReader;
  userId: string;
  /** Their further accounts, as confirmed links have them. */
  accounts: readonly string[];
  now: Date;
  /** The request the checks are for, which is no ground of its own. */
  reference: string | undefined;
  parts: ChecksDeps;
}

const day = 86_400;
/** Older than this, what a person let the service read may have changed. */
const freshSeconds = 7 * day;
/** A young account is worth a look; by itself it keeps nobody out. */
const youngDays = 30;
/** Agreements and earlier denials are checks of their own. */
const ownChecks = ["no_poach", "prior_denial"];

interface Check {
  find: (checked: Checked) => Promise<Finding>;
  /** Whether it rests on what the person let the service read: then it ends with that. */
  isConsented?: true;
}

/** Every check there is, in the order people read them. */
const checks: Readonly<Record<string, Check>> = {
  authorization: { find: checkAuthorization, isConsented: true },
  matches: { find: checkMatches, isConsented: true },
  blacklist: { find: checkBlacklist },
  prior_denials: { find: checkDenials },
  no_poach: { find: checkNoPoach, isConsented: true },
  account_age: { find: checkAge },
  linked_accounts: { find: checkLinks },
  roster: { find: checkRoster },
};

/** What is known of the subject of a recruitment. */
export function createChecks(parts: ChecksDeps): Checks {
  return {
    async of(db: CheckReader, userId: string, now: Date, reference?: string): Promise<CheckView[]> {
      const checked = { db, userId, accounts: await parts.reach.linkedAccountsOf(db, userId), now, reference, parts };
      const hasGranted = (await db.authorization.findUnique({ where: { userId }, select: { userId: true } })) !== null;
      const found: CheckView[] = [];
      for (const [key, { find, isConsented = false }] of Object.entries(checks)) {
        const consent = isConsented && hasGranted ? { consent_of: userId } : {};
        found.push({ key, ...(await find(checked)), at: now.toISOString(), ...consent });
      }
      return found;
    },
  };
}

/** Servers and names are known as of the last reading. */
async function checkAuthorization({ db, userId, now }: Checked): Promise<Finding> {
  const grant = await db.authorization.findUnique({ where: { userId } });
  if (grant === null) return warn(say("workflows.they-never-let-us-read-their-servers"));
  if (grant.status !== "active") return warn(say("workflows.their-authorization-has-ended", { status: grant.status.replaceAll("_", " ") }));
  if (grant.expiresAt !== null && grant.expiresAt <= now) return warn(say("workflows.their-authorization-has-expired"));
  const isFresh = (grant.refreshedAt ?? grant.grantedAt) >= addSeconds(now, -freshSeconds);
  return isFresh
    ? pass(say("workflows.their-authorization-is-in-force-and-fresh"))
    : warn(say("workflows.their-servers-were-last-read-more-than"));
}

async function checkMatches({ db, userId }: Checked): Promise<Finding> {
  const where = { userId, status: { in: ["grace", "open", "acknowledged", "confirmed"] }, kind: { notIn: ownChecks } };
  const rows = await db.match.findMany({ where, select: { severity: true, viaUserId: true } });
  if (rows.length === 0) return pass(say("workflows.there-is-no-open-match"));
  const grave = rows.filter(({ severity }) => severity === "high" || severity === "critical").length;
  const detail = say("workflows.open-matches-of-them-grave", { count: rows.length, grave });
  const found = grave > 0 ? fail(detail) : warn(detail);
  return rows.some(({ viaUserId }) => viaUserId !== null) ? { ...found, through_accounts: true } : found;
}

async function checkBlacklist({ db, userId, accounts, now }: Checked): Promise<Finding> {
  const rows = await db.blacklistRecord.findMany({
    where: {
      kind: "user",
      subjectId: { in: [userId, ...accounts] },
      startsAt: { lte: now },
      OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
    },
    select: { subjectId: true, status: true },
  });
  const inForce = rows.filter(({ status }) => status === "active" || status === "scheduled");
  if (inForce.some(({ subjectId }) => subjectId === userId)) return fail(say("workflows.they-are-on-the-blacklist"));
  return inForce.length > 0
    ? fail(say("workflows.a-confirmed-linked-account-of-theirs-is"))
    : pass(say("workflows.they-are-not-on-the-blacklist"));
}

async function checkDenials({ db, userId, reference }: Checked): Promise<Finding> {
  const where = {
    type: "recruitment",
    status: "denied",
    subjects: { some: { kind: "user", subjectId: userId } },
    ...(reference !== undefined && { reference: { not: reference } }),
  };
  const count = await db.workflowRequest.count({ where });
  const newest = await db.workflowRequest.findFirst({
    where,
    orderBy: [{ decidedAt: "desc" }, { id: "desc" }],
    select: { reference: true },
  });
  return newest === null
    ? pass(say("workflows.no-recruitment-of-them-was-denied"))
    : warn(say("workflows.denied-before-last-in", { count, reference: newest.reference }));
}

function checkAge({ userId, now }: Checked): Promise<Finding> {
  const days = Math.floor((now.getTime() - madeAt(userId)) / (day * 1000));
  const detail = say("workflows.the-account-is-days-old", { days: Math.max(0, days) });
  return Promise.resolve(days < youngDays ? warn(detail) : pass(detail));
}

async function checkLinks({ db, userId, accounts }: Checked): Promise<Finding> {
  const where = { status: "active", confidence: "probable", OR: [{ userA: userId }, { userB: userId }] };
  const probable = await db.accountLink.count({ where });
  if (accounts.length + probable === 0) return pass(say("workflows.no-other-account-is-linked-to-theirs"));
  return warn(say("workflows.linked-accounts-confirmed-probable", { confirmed: accounts.length, probable }));
}

async function checkRoster({ db, userId, parts: { roster } }: Checked): Promise<Finding> {
  const entry = await roster.find(db, userId);
  if (entry !== null && roster.isLive(entry)) return fail(say("workflows.they-are-on-the-roster-already", { status: term(entry.status) }));
  const refusal = roster.whyNotBegin(entry);
  return refusal === null ? pass(say("workflows.they-are-not-on-the-roster")) : warn(refusal);
}

export const pass = (detail: string): Finding => ({ result: "pass", detail });
export const warn = (detail: string): Finding => ({ result: "warn", detail });
export const fail = (detail: string): Finding => ({ result: "fail", detail });

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
  if (bars.length === 0) return { result: "pass", detail: say("workflows.no-agreement-between-servers-concerns-them") };
  const clearances = await parts.registry.findClearances(db, userId, now);
  const named = [...bars.flatMap(({ from, to }) => [...from, ...to]), ...clearances.flatMap((one) => [one.fromServerId, one.toServerId])];
  const serverOf = await ownIds(db, named);
  const has = (ids: readonly string[], id: string): boolean => ids.some((one) => serverOf(one) === serverOf(id));
  const used = bars.map(({ from, to }) =>
    // Somebody may come from several parties of one agreement: each is to be cleared.
    from.map((id) => clearances.find((one) => has([id], one.fromServerId) && has(to, one.toServerId))),
  );
  if (used.flat().some((clearance) => clearance === undefined)) {
    return { result: "fail", detail: say("workflows.an-agreement-between-servers-keeps-us-from") };
  }
  const references = [...new Set(used.flat().flatMap((clearance) => (clearance === undefined ? [] : [clearance.originReference])))];
  return { result: "pass", detail: say("workflows.cleared-by", { references: references.join(", ") }) };
}

/** The agreements of this community's servers with one somebody is in, or left less than its cooling-off ago, or matches. */
async function barsOf(checked: Checked): Promise<Bar[]> {
  const { db, userId, now, parts } = checked;
  const own = [...parts.servedGuilds];
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
    const others = parties.filter(({ serverId }) => !parts.servedGuilds.has(serverId));
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
