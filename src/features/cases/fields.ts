import { say } from "../../kit/say.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import type { Tx } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { CaseSubject } from "../../generated/sqlite/client.ts";
import { addSeconds, never } from "../../kernel/clock.ts";
import { fieldError } from "../../kernel/errors.ts";
import { parseDuration } from "../../kernel/fields.ts";
import type { LinkReach } from "../links/reach.ts";
import { partial, type Ranks, type WholeCase } from "./cases.policy.ts";
import { namesOf } from "./presenter.ts";
import type { NewCase } from "./records.ts";
import type { UpdateCaseInput } from "./cases.schema.ts";

interface Subject {
  kind: "user" | "server";
  id: string;
}

/** A case to be opened; what is absent is empty. */
export interface CaseDraft {
  type: string;
  title: string;
  priority: string;
  subjects: readonly Subject[];
  lead?: string | null | undefined;
  team?: readonly string[] | undefined;
  confidential?: boolean | undefined;
  labels?: readonly string[] | undefined;
  policies?: readonly string[] | undefined;
  dueAt?: Date | null | undefined;
  retentionUntil?: Date | null | undefined;
  originReference?: string | null | undefined;
  openedBy: string | null;
  /** The permission that opens it; `cases.create` by default. */
  permission?: PermissionKey | undefined;
}

type SubjectRow = Omit<CaseSubject, "caseId">;

/** Subjects with their names; those the case had keep the name it had for them. */
async function subjectRows(
  tx: Tx,
  guildState: GuildState,
  subjects: readonly Subject[],
  had: readonly SubjectRow[] = [],
): Promise<SubjectRow[]> {
  const names = await namesOf(tx.db, guildState, subjects);
  return subjects.map(({ kind, id }) => {
    const kept = had.find((row) => row.kind === kind && row.subjectId === id);
    return { kind, subjectId: id, name: kept === undefined ? (names.get(`${kind}:${id}`) ?? null) : kept.name };
  });
}

/** A new case. The opener of a confidential one leads it unless it says otherwise: else they would not see it. */
export async function newCase(tx: Tx, guildState: GuildState, draft: CaseDraft): Promise<NewCase> {
  const isConfidential = draft.confidential ?? false;
  const lead = draft.lead === undefined && isConfidential ? draft.openedBy : draft.lead;
  const fields: NewCase["fields"] = {
    type: draft.type,
    title: draft.title,
    status: "open",
    priority: draft.priority,
    isConfidential,
    openedBy: draft.openedBy,
    leadId: lead ?? null,
    policies: [...(draft.policies ?? [])],
    originReference: draft.originReference ?? null,
    ...dueBy(draft.dueAt ?? null),
    retentionUntil: draft.retentionUntil ?? null,
  };
  const subjects = await subjectRows(tx, guildState, draft.subjects);
  return { fields, subjects, team: draft.team ?? [], labels: draft.labels ?? [] };
}

/** What a change sets, column by column; what was not sent stays. */
export async function changedColumns(tx: Tx, guildState: GuildState, row: WholeCase, input: ReturnType<typeof UpdateCaseInput.parse>) {
  const { subjects, team, labels } = input;
  const columns = {
    title: input.title,
    type: input.type,
    status: input.status,
    priority: input.priority,
    leadId: input.lead,
    isConfidential: input.confidential,
    policies: input.policies,
    originReference: input.origin_reference,
    ...(input.due_at !== undefined && dueBy(timeOf(input.due_at) ?? null)),
    retentionUntil: timeOf(input.retention_until),
    subjects: subjects && { deleteMany: {}, create: await subjectRows(tx, guildState, subjects, row.subjects) },
    members: team && { deleteMany: {}, create: team.map((userId) => ({ userId })) },
    labels: labels && { deleteMany: {}, create: labels.map((label) => ({ label })) },
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}

/** When a case is due, and its place among those that are. */
function dueBy(dueAt: Date | null): { dueAt: Date | null; dueOrder: Date } {
  return { dueAt, dueOrder: dueAt ?? never };
}

export function timeOf(at: string | null | undefined): Date | null | undefined {
  return typeof at === "string" ? new Date(at) : at;
}

/** A length of time from now on. */
export function dueAfter(now: Date, due: string): Date {
  return addSeconds(now, parseDuration(due) ?? 0);
}

interface Fit {
  subjects: readonly Subject[];
  lead: string | null;
  team: readonly string[];
  /** Who was in charge or in the team before: they need not be staff any more. */
  before?: ReadonlySet<string>;
}

/**
 * Whether people may be put on a case: they are staff, and it is not about them or an account of theirs.
 * @throws ProblemError validation_failed, conflict_of_interest
 */
export async function requireFitting(tx: Tx, access: Ranks, reach: Pick<LinkReach, "linkedAccountsOf">, fit: Fit): Promise<void> {
  const { subjects, lead, team, before = new Set() } = fit;
  const isStranger = (id: string): boolean => !before.has(id) && !access.of(id).isStaff;
  if (lead !== null && isStranger(lead)) throw fieldError("/lead", "not_staff", say("cases.only-staff-lead-a-case"));
  const stranger = team.findIndex(isStranger);
  if (stranger >= 0) throw fieldError(`/team/${stranger.toString()}`, "not_staff", say("cases.only-staff-are-in-the-team-of"));
  const people = new Set(lead === null ? team : [lead, ...team]);
  if (people.size === 0) return;
  for (const { id } of subjects.filter(({ kind }) => kind === "user")) {
    if ([id, ...(await reach.linkedAccountsOf(tx.db, id))].some((account) => people.has(account))) throw partial();
  }
}

/** What a caller wants a case to be about, as rows have it. */
export function asRows(subjects: readonly Subject[]): { kind: string; subjectId: string }[] {
  return subjects.map(({ kind, id }) => ({ kind, subjectId: id }));
}

export function subjectsOf(row: Pick<WholeCase, "subjects">): Subject[] {
  return row.subjects.map(({ kind, subjectId }) => ({ kind: kind as Subject["kind"], id: subjectId }));
}
