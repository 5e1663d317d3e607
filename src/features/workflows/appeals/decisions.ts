import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import type { BlacklistRecord, CaseAction, WorkflowRequest } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { blacklistReference, caseReference, jsonObject } from "../../../kernel/parsing.ts";
import type { AppealTarget } from "../effects/appeal-target.ts";
import { unannounced } from "../effects/notice-texts.ts";

type Reader = Pick<ReadClient | TransactionClient, "workflowRequest" | "blacklistRecord" | "caseAction">;

/** Something that was decided about a person, as that person may know of it. */
export interface OwnDecision {
  /** What an appeal against it names. */
  target: string;
  /** What the person knows it by. */
  reference: string;
  kind: "punishment" | "listing" | "action";
  /** What was done: the action of a punishment or of a case, or the category of a record. */
  what: string;
  /** What the bot did in Discord besides; null for nothing. */
  discord: string | null;
  /** The servers it is about; none: all of the community. */
  guildIds: readonly string[];
  /** The reason that was given to the person. */
  reason: string | null;
  decidedAt: Date;
  /** Until when it can be appealed; null: without an end. */
  appealUntil: Date | null;
}

/** The decisions about one person, and every name by which an appeal may mean one of them. */
export interface OwnDecisions {
  all: readonly OwnDecision[];
  /** The decision that a reference or an id means; undefined where none of the person's own does. */
  named(name: string): OwnDecision | undefined;
}

/** What is the staff's own matter, or takes nothing from the person. */
const untold: ReadonlySet<string> = new Set(unannounced);
/** The newest of each kind; nobody has as many. */
const most = 200;

/**
 * What was decided about a person and stands: punishments, records on the blacklist, and what is recorded in cases without a request.
 * What the person may not know of, such as confidential matters and notes, is not among them.
 */
export async function ownDecisions(db: Reader, userId: string): Promise<OwnDecisions> {
  const requests = await db.workflowRequest.findMany({
    where: { type: "punishment", status: "approved", isRestricted: false, subjects: { some: { kind: "user", subjectId: userId } } },
    orderBy: [{ decidedAt: "desc" }, { id: "desc" }],
    take: most,
  });
  const records = await db.blacklistRecord.findMany({
    where: { kind: "user", subjectId: userId, status: { in: ["active", "scheduled", "suspended"] } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: most,
  });
  const actions = await db.caseAction.findMany({
    where: { userId, voidedAt: null, case: { isConfidential: false, deletedAt: null } },
    include: { case: { select: { number: true } } },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: most,
  });
  const punishments = requests.map(punishmentOf).filter(({ what }) => !untold.has(what));
  const byRequest = new Map(punishments.map((one) => [one.reference, one]));
  const names = new Map<string, OwnDecision>();
  for (const { id, reference } of requests) name(names, byRequest.get(reference), [reference, id]);
  const listings = records.map((record) => {
    const own = listingOf(record);
    name(names, own, [own.reference, record.id, record.originReference]);
    return own;
  });
  const recorded = actions.flatMap((action) => {
    const own = actionOf(action);
    const of = action.originReference === null ? own : byRequest.get(action.originReference);
    if (of === undefined || untold.has(of.what)) return [];
    name(names, of, [action.id]);
    return of === own ? [own] : [];
  });
  const all = [...punishments, ...listings, ...recorded].toSorted((a, b) => b.decidedAt.getTime() - a.decidedAt.getTime());
  return { all, named: (given) => names.get(given.trim().toUpperCase()) };
}

/** The decision about one of some accounts that a name means: its own, or that of the case it stands in. */
export async function findOwnDecision(db: Reader, accounts: Iterable<string>, named: string): Promise<OwnDecision | undefined> {
  for (const account of accounts) {
    const decisions = await ownDecisions(db, account);
    const found = decisions.named(named) ?? decisions.all.find(({ reference }) => reference === named.trim().toUpperCase());
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Until when something can be appealed, whoever files the appeal; null: without an end. */
export async function appealEndOf(db: Reader, { kind, id }: Pick<AppealTarget, "kind" | "id">): Promise<Date | null> {
  const action = kind === "strike" ? await db.caseAction.findUnique({ where: { id }, select: { originReference: true } }) : null;
  const reference = action?.originReference ?? undefined;
  if (kind !== "request" && reference === undefined) return null;
  const request = await db.workflowRequest.findUnique({ where: reference === undefined ? { id } : { reference } });
  return request?.type === "punishment" && request.status === "approved" ? punishmentOf(request).appealUntil : null;
}

function name(names: Map<string, OwnDecision>, decision: OwnDecision | undefined, by: readonly (string | null | undefined)[]): void {
  for (const one of by)
    if (decision !== undefined && typeof one === "string" && !names.has(one.toUpperCase())) names.set(one.toUpperCase(), decision);
}

function punishmentOf(request: WorkflowRequest): OwnDecision {
  const { action, appeal_until: until, discord } = jsonObject(request.payload);
  const decidedAt = request.decidedAt ?? request.updatedAt;
  const { reason_public: reason } = jsonObject(request.decision);
  const { action: done, guild_ids: guildIds } = jsonObject(discord);
  return {
    target: request.reference,
    reference: request.reference,
    kind: "punishment",
    what: String(action),
    discord: typeof done === "string" && done !== "none" ? done : null,
    guildIds: Array.isArray(guildIds) ? guildIds.filter((id) => typeof id === "string") : [],
    reason: typeof reason === "string" ? reason : null,
    decidedAt,
    appealUntil: typeof until === "string" ? appealEnd(until, decidedAt) : null,
  };
}

function listingOf(record: BlacklistRecord): OwnDecision {
  const reference = blacklistReference(record.number);
  return {
    target: reference,
    reference,
    kind: "listing",
    what: record.category,
    discord: null,
    guildIds: [],
    reason: record.reasonPublic,
    decidedAt: record.createdAt,
    appealUntil: null,
  };
}

function actionOf(action: CaseAction & { case: { number: number } }): OwnDecision {
  return {
    target: action.id.toUpperCase(),
    reference: caseReference(action.case.number),
    kind: "action",
    what: action.kind,
    discord: null,
    guildIds: [],
    // What the staff wrote into a case was not written to the person.
    reason: null,
    decidedAt: action.at,
    appealUntil: null,
  };
}

/** Until when something can be appealed: a point in time, or a length from the decision. */
function appealEnd(text: string, decidedAt: Date): Date {
  const seconds = parseDuration(text);
  return seconds === undefined ? new Date(text) : addSeconds(decidedAt, seconds);
}
