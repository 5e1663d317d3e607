import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { LinkReach } from "../../links/reach.ts";
import type { RosterService } from "../../roster/roster.service.ts";
import type { RegistryService } from "../../servers/servers.service.ts";
import { checkNoPoach } from "./no-poach.ts";
import type { CheckView } from "../requests/workflows.schema.ts";

export type Checks = ReturnType<typeof createChecks>;
export type CheckReader = ReadClient | TransactionClient;
/** What a check comes to, in words that name nobody else. */
export type Finding = Pick<CheckView, "result" | "detail">;

export interface ChecksParts {
  reach: Pick<LinkReach, "groupOf">;
  registry: Pick<RegistryService, "findClearances">;
  roster: Pick<RosterService, "find" | "isLive" | "whyNotBegin">;
  guildState: Pick<GuildState, "guilds">;
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
  parts: ChecksParts;
}

const day = 86_400;
/** Older than this, what a person let the service read may have changed. */
const freshSeconds = 7 * day;
const discordEpoch = 1_420_070_400_000n;
/** A young account is worth a look; by itself it keeps nobody out. */
const youngDays = 30;
/** Agreements and earlier denials are checks of their own. */
const ownChecks = ["no_poach", "prior_denial"];

/** Every check there is, in the order people read them. */
const checks: Readonly<Record<string, (checked: Checked) => Promise<Finding>>> = {
  authorization: checkAuthorization,
  matches: checkMatches,
  blacklist: checkBlacklist,
  prior_denials: checkDenials,
  no_poach: checkNoPoach,
  account_age: checkAge,
  linked_accounts: checkLinks,
  roster: checkRoster,
};

/** What is known of the subject of a recruitment. */
export function createChecks(parts: ChecksParts) {
  return {
    /** @param reference of the request the checks are for, once it has one */
    async of(db: CheckReader, userId: string, now: Date, reference?: string): Promise<CheckView[]> {
      const checked = { db, userId, accounts: await parts.reach.groupOf(db, userId), now, reference, parts };
      const found: CheckView[] = [];
      for (const [key, check] of Object.entries(checks)) found.push({ key, ...(await check(checked)), at: now.toISOString() });
      return found;
    },
  };
}

/** Servers and names are known as of the last reading. */
async function checkAuthorization({ db, userId, now }: Checked): Promise<Finding> {
  const grant = await db.authorization.findUnique({ where: { userId } });
  if (grant === null) return warn("They never let us read their servers.");
  if (grant.status !== "active") return warn(`Their authorization has ended: ${grant.status.replaceAll("_", " ")}.`);
  if (grant.expiresAt !== null && grant.expiresAt <= now) return warn("Their authorization has expired.");
  const isFresh = (grant.refreshedAt ?? grant.grantedAt) >= addSeconds(now, -freshSeconds);
  return isFresh ? pass("Their authorization is in force and fresh.") : warn("Their servers were last read more than seven days ago.");
}

async function checkMatches({ db, userId }: Checked): Promise<Finding> {
  const where = { userId, status: { in: ["grace", "open", "acknowledged", "confirmed"] }, kind: { notIn: ownChecks } };
  const rows = await db.match.findMany({ where, select: { severity: true } });
  if (rows.length === 0) return pass("There is no open match.");
  const grave = rows.filter(({ severity }) => severity === "high" || severity === "critical").length;
  const detail = `Open matches: ${rows.length.toString()}, of them grave: ${grave.toString()}.`;
  return grave > 0 ? fail(detail) : warn(detail);
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
  if (inForce.some(({ subjectId }) => subjectId === userId)) return fail("They are on the blacklist.");
  return inForce.length > 0 ? fail("A confirmed linked account of theirs is on the blacklist.") : pass("They are not on the blacklist.");
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
    ? pass("No recruitment of them was denied.")
    : warn(`Denied before: ${count.toString()}, last in ${newest.reference}.`);
}

/** The time an account was made stands in its id. */
function checkAge({ userId, now }: Checked): Promise<Finding> {
  const madeAt = Number((BigInt(userId) >> 22n) + discordEpoch);
  const days = Math.floor((now.getTime() - madeAt) / (day * 1000));
  const detail = `The account is ${Math.max(0, days).toString()} days old.`;
  return Promise.resolve(days < youngDays ? warn(detail) : pass(detail));
}

async function checkLinks({ db, userId, accounts }: Checked): Promise<Finding> {
  const where = { status: "active", confidence: "probable", OR: [{ userA: userId }, { userB: userId }] };
  const probable = await db.accountLink.count({ where });
  if (accounts.length + probable === 0) return pass("No other account is linked to theirs.");
  return warn(`Linked accounts: ${accounts.length.toString()} confirmed, ${probable.toString()} probable.`);
}

async function checkRoster({ db, userId, parts: { roster } }: Checked): Promise<Finding> {
  const entry = await roster.find(db, userId);
  if (entry !== null && roster.isLive(entry)) return fail(`They are on the roster already: ${entry.status}.`);
  const refusal = roster.whyNotBegin(entry);
  return refusal === null ? pass("They are not on the roster.") : warn(refusal);
}

export const pass = (detail: string): Finding => ({ result: "pass", detail });
export const warn = (detail: string): Finding => ({ result: "warn", detail });
export const fail = (detail: string): Finding => ({ result: "fail", detail });
