import type { Ground } from "./workflows-ground.ts";

const openMatches = ["grace", "open", "acknowledged", "confirmed"];
const openRequests = ["pending", "in_review", "needs_info", "escalated"];

/**
 * Everything that holds at a moment about some people, and about servers, records and requests altogether, in an order of its own.
 * What only grows (history, audit, versions, revisions, ids of rows, numbers) is not in it, nor are roster entries of those who have
 * left and callsigns that rest. So what an approval did and its reversal took back leaves two equal answers.
 */
export async function inForce(ground: Pick<Ground, "database" | "services">, userIds: readonly string[]) {
  const { read } = ground.database;
  const { roster, clock } = ground.services;
  const now = clock.now();
  const who = { userId: { in: [...userIds] } };
  const unended = { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  const parties = { parties: { select: { serverId: true }, orderBy: { serverId: "asc" } } } as const;
  const effects = await read.workflowEffect.findMany({ where: { status: "pending" }, select: { requestId: true, input: true } });
  const entries = await read.rosterEntry.findMany({
    where: who,
    select: {
      userId: true,
      status: true,
      statusBefore: true,
      staffRole: true,
      department: true,
      trialEndsAt: true,
      suspendedUntil: true,
      joinedAt: true,
    },
  });
  const found = {
    roster: entries.filter((entry) => roster.isLive(entry)),
    callsigns: await read.callsignSlot.findMany({
      where: { ...who, state: { in: ["reserved", "assigned", "retired", "blocked"] } },
      select: { userId: true, pool: true, number: true, callsign: true, state: true },
    }),
    permissions: await read.userPermission.findMany({
      where: { AND: [who, unended] },
      select: { userId: true, permission: true, effect: true, guildId: true, expiresAt: true },
    }),
    blacklist: await read.blacklistRecord.findMany({
      where: { activeKey: { not: null } },
      select: {
        kind: true,
        subjectId: true,
        scope: true,
        serverIds: true,
        category: true,
        severity: true,
        status: true,
        reasonPublic: true,
        reasonInternal: true,
        recommendedAction: true,
        memberPolicy: true,
        includeAlts: true,
        exemptUserIds: true,
        evidence: true,
        tags: true,
        approvedBy: true,
        expiresAt: true,
      },
    }),
    matches: await read.match.findMany({
      where: { status: { in: openMatches } },
      select: { userId: true, kind: true, recordReference: true, severity: true, status: true, viaUserId: true, serverId: true },
    }),
    strikes: await read.caseAction.findMany({
      where: { AND: [{ voidedAt: null }, unended] },
      select: { userId: true, kind: true, points: true, expiresAt: true },
    }),
    cases: await read.case.findMany({
      where: { status: { notIn: ["closed", "archived"] }, deletedAt: null },
      select: { type: true, isConfidential: true, subjects: { select: { kind: true, subjectId: true } } },
    }),
    holds: await read.workflowRequest.findMany({
      where: { isHeld: true, status: { in: openRequests } },
      select: { reference: true, holdBy: true, holdReference: true },
    }),
    drafts: await read.requestDraft.findMany({ where: { status: "open" }, select: { type: true, subjectId: true, causeReference: true } }),
    links: await read.accountLink.findMany({
      where: { status: "active" },
      select: { userA: true, userB: true, confidence: true, kind: true, propagates: true, primaryUserId: true },
    }),
    agreements: await read.agreement.findMany({
      where: { status: { not: "ended" } },
      select: { status: true, covers: true, startsAt: true, endsAt: true, suspendedBy: true, ...parties },
    }),
    incidents: await read.poachIncident.findMany({
      where: { status: "active" },
      select: { serverId: true, victimServerId: true, offenderIds: true, method: true },
    }),
    clearances: await read.poachClearance.findMany({
      where: { status: { in: ["active", "used"] } },
      select: { userId: true, fromServerId: true, toServerId: true, status: true, usedReference: true, validUntil: true },
    }),
    servers: await read.server.findMany({
      select: { id: true, status: true, mergedInto: true, ownerUserId: true, tags: true, aliases: { select: { aliasId: true } } },
    }),
    // Messages say what was, and change nothing.
    outward: effects.flatMap(({ input }): object[] => {
      const action = (input as { discord?: { kind: string; id?: string } } | null)?.discord;
      if (action === undefined) return [{ waits: true }];
      const { id: _id, ...rest } = action;
      return action.kind.startsWith("message_") ? [] : [rest];
    }),
  };
  return Object.fromEntries(Object.entries(found).map(([name, rows]) => [name, inOrder(rows)])) as unknown as InForce;
}

/** Rows of each part as JSON has them. */
export type InForce = Record<
  | "roster"
  | "callsigns"
  | "permissions"
  | "blacklist"
  | "matches"
  | "strikes"
  | "cases"
  | "holds"
  | "drafts"
  | "links"
  | "agreements"
  | "incidents"
  | "clearances"
  | "servers"
  | "outward",
  Record<string, unknown>[]
>;

function inOrder(rows: readonly unknown[]): unknown[] {
  const texts = rows.map((row) => JSON.stringify(row)).toSorted();
  return texts.map((text) => JSON.parse(text) as unknown);
}

/** What stands in one answer and not in the other, part by part; parts without a difference are left out. */
export function gained(after: InForce, before: InForce): Partial<InForce> {
  const parts = Object.entries(after).map(([name, rows]) => {
    const left = before[name as keyof InForce].map((row) => JSON.stringify(row));
    const fresh = rows.filter((row) => {
      const place = left.indexOf(JSON.stringify(row));
      if (place >= 0) left.splice(place, 1);
      return place < 0;
    });
    return [name, fresh] as const;
  });
  return Object.fromEntries(parts.filter(([, rows]) => rows.length > 0));
}
