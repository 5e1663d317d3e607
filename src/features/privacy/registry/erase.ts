import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../../../database/database.ts";
import type { Column, Model, Redaction, Registry } from "./types.ts";
import { recordColumns } from "./records.ts";
import { scrubs } from "./scrubs.ts";

const notes = { redaction: "row", shown: { not: "staff" } } as const;
const gone = { redaction: "service", shown: { not: "staff" } } as const;
const profile = { redaction: "service", shown: "staff" } as const;
const member = { redaction: "service", shown: "memberships" } as const;
const request = { stays: "request" } as const;
const roster = { stays: "roster" } as const;

/** What is stored of people besides moderation: staff, members, what they shared, and the roster. */
const peopleColumns = {
  UserPermission: {
    about: (userId, createdAt) => ({ userId, createdAt }),
    columns: { permission: "code", effect: "code", reason: profile },
  },
  UserPermissionSet: { columns: {} },
  GuildMember: {
    about: (userId, updatedAt) => ({ userId, updatedAt }),
    columns: { username: member, globalName: member, nick: member, avatar: "code", roleIds: "id" },
  },
  StaffProfile: {
    about: (userId, updatedAt) => ({ userId, updatedAt }),
    columns: { department: profile, timezone: profile, availability: "code", quietHours: "code", leaveReason: profile },
  },
  AuthorizationSession: {
    columns: {
      purpose: "code",
      scopes: "code",
      detail: "code",
      locale: "code",
      returnTo: "other",
      requestedByClient: "id",
      requestedByUser: "id",
      verifier: "sealed",
      status: "code",
      failure: "code",
    },
  },
  Authorization: {
    columns: {
      status: "code",
      scopes: "code",
      detail: "code",
      purposes: "code",
      consentVersion: "code",
      accessToken: "sealed",
      refreshToken: "sealed",
    },
  },
  TokenRevocation: { columns: { token: "sealed" } },
  UserServer: { columns: { details: "sealed", relation: "code" } },
  Match: {
    about: (userId, firstSeenAt) => ({ userId, firstSeenAt }),
    columns: { kind: "code", severity: "code", status: "code", why: "sentence", suggestedAction: "code", resolution: gone },
  },
  ListCheck: { columns: { settles: "code" } },
  ListExemption: {
    about: (userId, createdAt) => ({ userId, createdAt }),
    columns: { reason: { redaction: { becomes: "" }, shown: { not: "staff" } } },
  },
  ListAction: {
    columns: { stance: "code", action: "code", state: "code", standingKey: "id", lastError: "sentence" },
  },
  AccountLink: {
    about: (userId, createdAt) => ({ OR: [{ userA: userId }, { userB: userId }], createdAt }),
    columns: { userA: "id", userB: "id", activeKey: "id", confidence: "code", kind: "code", basis: gone, status: "code", endReason: gone },
  },
  PrivacySession: { columns: { page: "code", about: "other", verifier: "sealed" } },
  DataRead: { columns: { what: "code" } },
  PoachIncident: {
    about: "offender_ids",
    columns: {
      offenderIds: "id",
      method: "code",
      status: "code",
      endReason: { redaction: { stays: "incident" }, shown: { not: "staff" } },
    },
  },
  PoachClearance: {
    about: (userId, createdAt) => ({ userId, createdAt }),
    columns: { status: "code", endReason: { redaction: { becomes: null }, shown: { not: "staff" } } },
  },
  RosterEntry: {
    about: (userId, updatedAt) => ({ userId, updatedAt }),
    isRevised: true,
    columns: {
      status: "code",
      statusBefore: "code",
      staffRole: "code",
      department: { redaction: roster, shown: "staff" },
      notes: { redaction: { becomes: null }, shown: { not: "staff" } },
      heldRoles: "code",
      nickname: { redaction: { becomes: null }, shown: "staff" },
    },
  },
  RosterEvent: {
    about: (userId, recordedAt) => ({ userId, recordedAt }),
    columns: {
      event: "code",
      before: { redaction: { loses: scrubs.nickname }, shown: { not: "copy" } },
      after: { redaction: { loses: scrubs.nickname }, shown: { not: "copy" } },
      formerRole: "code",
      staffRole: "code",
      pool: "code",
      callsign: "code",
      source: "code",
      reason: { redaction: roster, shown: { not: "staff" } },
    },
  },
  RosterAudit: {
    columns: { scope: "code", checks: "code", comparison: "code", status: "code", trigger: "code", summary: "code", comparedTo: "id" },
  },
  RosterFinding: {
    about: (userId, startedAt) => ({ userId, audit: { startedAt } }),
    columns: { key: "code", code: "code", severity: "code", detail: "sentence", facts: notes, fix: "sentence" },
  },
  RosterAcknowledgement: { about: (userId, at) => ({ userId, at }), columns: { key: "code", code: "code", reason: notes, by: "id" } },
  CallsignPool: {
    columns: {
      key: "code",
      name: "other",
      department: "other",
      template: "other",
      ranges: "code",
      reserved: "code",
      skip: "code",
      rankBands: "code",
      nicknameTemplate: "other",
      caseRule: "code",
    },
  },
  CallsignSlot: { columns: { pool: "code", callsign: "code", state: "code", liveKey: "id", holderKey: "id" } },
  CallsignRepair: {
    about: (_userId, at) => ({ at, undoneAt: null }),
    columns: {
      pool: "code",
      fixes: "code",
      undo: { redaction: { loses: scrubs.nicknamesOf }, shown: { not: "copy" } },
    },
  },
  RequestDraft: {
    about: (subjectId, createdAt) => ({ subjectKind: "user", subjectId, createdAt }),
    columns: { type: "code", payload: notes, subjectKind: "code", cause: notes, openKey: "code", status: "code" },
  },
  WorkflowRequest: {
    about: (userId, createdAt) => ({
      OR: [{ requesterId: userId }, { subjects: { some: { kind: "user", subjectId: userId } } }],
      createdAt,
    }),
    columns: {
      reference: "id",
      type: "code",
      status: "code",
      priority: "code",
      queueOrder: "code",
      title: { redaction: request, shown: { not: "others" } },
      summary: { redaction: request, shown: "requests" },
      payload: { redaction: request, shown: "requests" },
      extra: { redaction: request, shown: { not: "staff" } },
      requesterName: { redaction: "service", shown: "requests" },
      requestedVia: "code",
      origin: "id",
      evidence: { redaction: { stays: "evidence" }, shown: { not: "staff" } },
      related: "id",
      decision: { redaction: request, shown: { not: "staff" } },
      links: "id",
      checks: { redaction: "service", shown: "requests" },
      holdReason: { redaction: request, shown: { not: "staff" } },
      escalationReason: { redaction: request, shown: { not: "staff" } },
      questions: { redaction: request, shown: { not: "staff" } },
      told: "code",
    },
  },
  WorkflowSubject: { columns: { kind: "code" } },
  WorkflowVote: {
    about: (actorId, at) => ({ actorId, at }),
    columns: { about: "code", verdict: "code", note: { redaction: request, shown: { not: "staff" } } },
  },
  WorkflowStep: {
    about: (userId, at) => ({ request: { subjects: { some: { kind: "user", subjectId: userId } } }, at }),
    columns: {
      action: "code",
      via: "code",
      from: "code",
      to: "code",
      notePublic: { redaction: request, shown: "requests" },
      noteInternal: { redaction: request, shown: { not: "staff" } },
      data: { redaction: request, shown: { not: "copy" } },
    },
  },
  WorkflowComment: {
    about: (authorId, createdAt) => ({ authorId, createdAt }),
    columns: { body: { redaction: request, shown: "requests" }, visibility: "code" },
  },
  WorkflowEffect: {
    about: (targetId, at) => ({ targetId, at }),
    columns: {
      key: "code",
      status: "code",
      targetKind: "code",
      detail: "sentence",
      input: { redaction: request, shown: { not: "copy" } },
      undo: { redaction: request, shown: { not: "copy" } },
      lastError: "sentence",
    },
  },
} as const satisfies Partial<Registry>;

/**
 * Every text column there is and what it holds, by model: what a redaction erases, what stays and why, and what a person's own export
 * shows. A column that is added to `prisma/schema.prisma` has to be added here, too: without it this does not compile.
 */
export const registry: Registry = { ...peopleColumns, ...recordColumns };

/**
 * Whose data goes. With `before` only what is older: a deletion that is caught up with must not take what was given since.
 */
export interface WipeTarget {
  userId: string;
  before?: Date;
}

type Where = Readonly<Record<string, unknown>>;
type Columns = Readonly<Record<string, Column>>;

/** What is asked of the rows of any model here. */
interface Rows {
  findMany(query: { where: Where }): Promise<({ id: string } & Record<string, unknown>)[]>;
  update(change: { where: { id: string }; data: object }): Promise<unknown>;
  updateMany(change: { where: Where; data: object }): Promise<{ count: number }>;
  deleteMany(which: { where: Where }): Promise<{ count: number }>;
}

/**
 * Erase every text about a person that the registry says a redaction erases, but for what services erase themselves.
 * @returns in how many places
 */
export async function eraseTexts(tx: Tx, { userId, before }: WipeTarget): Promise<number> {
  tx.erases();
  let count = 0;
  for (const model of Object.keys(registry) as Model[]) {
    const entry = registry[model];
    if (!("about" in entry) || typeof entry.about === "string") continue;
    const where = entry.about(userId, before === undefined ? {} : { lte: before }) as Where;
    const place = { rows: rowsOf(tx, model), where, userId, revision: entry.isRevised === true ? { revision: { increment: 1 } } : {} };
    count += await eraseIn(place, entry.columns);
  }
  return count;
}

interface Place {
  rows: Rows;
  where: Where;
  userId: string;
  revision: object;
}

async function eraseIn(place: Place, columns: Columns): Promise<number> {
  const texts = Object.entries(columns).flatMap(([name, column]) => (typeof column === "string" ? [] : [{ name, ...column }]));
  if (texts.some(({ redaction }) => redaction === "row")) return (await place.rows.deleteMany({ where: place.where })).count;
  let count = 0;
  for (const { name, redaction } of texts) count += await eraseColumn(place, name, redaction);
  return count;
}

async function eraseColumn(place: Place, name: string, redaction: Redaction): Promise<number> {
  const { rows, where, userId, revision } = place;
  if (typeof redaction === "string" || "stays" in redaction) return 0;
  if ("becomes" in redaction) {
    const { becomes } = redaction;
    const filled = becomes === null ? { [name]: { not: null } } : {};
    return (await rows.updateMany({ where: { AND: [where, filled] }, data: { [name]: becomes, ...revision } })).count;
  }
  let count = 0;
  for (const row of await rows.findMany({ where })) {
    const value = redaction.loses(row[name], userId);
    if (isDeepStrictEqual(value, row[name])) continue;
    await rows.update({ where: { id: row.id }, data: { [name]: value, ...revision } });
    count += 1;
  }
  return count;
}

/** The client has a table for each model, under its name with a small first letter. */
function rowsOf({ db }: Tx, model: Model): Rows {
  const tables = db as unknown as Readonly<Record<string, Rows>>;
  const rows = tables[model.charAt(0).toLowerCase() + model.slice(1)];
  if (rows === undefined) throw new Error(`there is no table of ${model}`);
  return rows;
}
