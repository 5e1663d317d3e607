import { say } from "../../kit/say.ts";
import { z } from "zod";
import { idOrPattern, Duration, listQuery, Snowflake, Timestamp, text } from "../../kernel/fields.ts";
import { caseTypes } from "./outcomes.ts";
import { suggestedKinds } from "./suggestions.ts";
import { caseStatuses } from "./states.ts";

export const priorities = ["low", "normal", "high", "critical"] as const;
export const linkRels = ["related", "duplicates", "spawned", "appeals", "supersedes"] as const;
export const linkKinds = ["case", "request", "blacklist"] as const;
export type LinkKind = (typeof linkKinds)[number];

export const CaseKey = z
  .string()
  .regex(idOrPattern("case-\\d{6,9}"), say("cases.name-the-case-by-its-id-or"))
  .meta({ description: "Id or number", example: "CASE-000123" });

const Subject = z.strictObject({ kind: z.enum(["user", "server"]), id: Snowflake });
const Subjects = z
  .array(Subject)
  .min(1)
  .max(20)
  .refine(
    (subjects) => new Set(subjects.map(({ kind, id }) => `${kind}:${id}`)).size === subjects.length,
    say("cases.name-every-subject-once"),
  )
  .meta({ description: "Who and what it is about" });

const Title = text(3, 120);
const Label = z
  .string()
  .trim()
  .toLowerCase()
  .max(40)
  .refine((label) => /^[\p{L}\p{N}][\p{L}\p{N}_-]*$/u.test(label), say("cases.a-label-is-one-word-of-letters"))
  .meta({ example: "harassment" });
const Labels = z
  .array(Label)
  .max(20)
  .transform((labels) => [...new Set(labels)].toSorted());
const Team = z
  .array(Snowflake)
  .max(25)
  .transform((team) => [...new Set(team)].toSorted())
  .meta({ description: "Who works on it besides the lead; staff only" });
const Policies = z.array(text(1, 300)).max(20).meta({ description: "The rules it is about, in words" });
const type = z.enum(caseTypes);
const priority = z.enum(priorities);

const editable = {
  title: Title,
  priority,
  subjects: Subjects,
  lead: Snowflake.nullable().meta({ description: "Who is in charge; staff only" }),
  team: Team,
  confidential: z
    .boolean()
    .meta({ description: "Only for its lead, its team and holders of cases.confidential, never for those it is about" }),
  labels: Labels,
  policies: Policies,
  due_at: Timestamp.nullable(),
  retention_until: Timestamp.nullable().meta({ description: "A closed case is archived then" }),
  origin_reference: text(3, 60).nullable().meta({ description: "Reference of what it came from", example: "INV-REQ-000042" }),
};

export const CreateCaseInput = z
  .strictObject({
    ...z.object(editable).partial().shape,
    subjects: Subjects,
    type: type.optional(),
    due: Duration.optional().meta({ description: "Instead of due_at: how long from now" }),
    template: z.string().max(40).optional().meta({ description: "Key of a template that fills what is not sent" }),
  })
  .refine((input) => input.due === undefined || input.due_at === undefined, {
    path: ["due"],
    message: say("cases.send-due-at-or-due-not-both"),
  })
  .meta({ id: "CreateCaseInput" });
export type CreateCaseInput = z.input<typeof CreateCaseInput>;

export const UpdateCaseInput = z
  .strictObject({
    ...z.object(editable).partial().shape,
    type: type.optional(),
    status: z.enum(["active", "waiting", "archived"]).optional().meta({
      description: "Only along the moves of docs/cases.md; closing and reopening have routes of their own",
    }),
  })
  .meta({ id: "UpdateCaseInput" });
export type UpdateCaseInput = z.input<typeof UpdateCaseInput>;

const Reason = text(3, 1000);
export const CloseCaseInput = z
  .strictObject({
    outcome: z.string().max(40).meta({ description: "What came of it; which ones there are depends on the type", example: "resolved" }),
    reason: Reason.optional(),
    spawn: z
      .array(z.enum(suggestedKinds))
      .max(5)
      .refine((kinds) => new Set(kinds).size === kinds.length, say("cases.name-every-kind-once"))
      .optional()
      .meta({ description: "Kinds of request to suggest about the subjects; each waits until a person files or dismisses it" }),
  })
  .meta({ id: "CloseCaseInput" });
export type CloseCaseInput = z.input<typeof CloseCaseInput>;
export const ReopenCaseInput = z.strictObject({ reason: Reason }).meta({ id: "ReopenCaseInput" });
export type ReopenCaseInput = z.input<typeof ReopenCaseInput>;
export const DeleteCaseInput = z.strictObject({ reason: Reason });
export const DeleteReason = Reason.optional().meta({ description: "Why it is put into the bin" });

export const CreateLinkInput = z
  .strictObject({
    rel: z.enum(linkRels),
    reference: text(3, 60).meta({
      description: "Number of a case or a blacklist record, or reference of a request",
      example: "CASE-000007",
    }),
  })
  .meta({ id: "CreateCaseLinkInput" });
export type CreateLinkInput = z.input<typeof CreateLinkInput>;

const flag = z.enum(["true", "false"]).optional();
const Person = z.union([Snowflake, z.literal("@me")]).optional();

export const ListCasesQuery = z
  .strictObject({
    ...listQuery,
    status: z.enum(caseStatuses).optional(),
    type: type.optional(),
    priority: priority.optional(),
    label: Label.optional(),
    subject: Snowflake.optional().meta({ description: "Id of a user or server it is about" }),
    include_alts: flag.meta({ description: "With subject: the accounts of the same person, too; needs users.links.read" }),
    lead: Person.meta({ description: "Id, or @me", example: "@me" }),
    opened_by: Person.meta({ description: "Id, or @me", example: "@me" }),
    member: Person.meta({ description: "Lead or in the team: id, or @me", example: "@me" }),
    confidential: flag,
    overdue: flag.meta({ description: "Whether it is past due and not closed" }),
    origin_reference: z.string().trim().min(3).max(60).optional(),
    q: z.string().trim().min(2).max(100).optional().meta({ description: "Words of the title and the notes, or their beginnings" }),
    deleted: flag.meta({ description: "`true`: those in the bin; needs cases.delete" }),
    from: Timestamp.optional().meta({ description: "Opened not before this time" }),
    to: Timestamp.optional().meta({ description: "Opened before this time" }),
    sort: z.enum(["-created_at", "due_at"]).default("-created_at").meta({ description: "Newest first, or what is due first" }),
  })
  .refine((query) => query.include_alts !== "true" || query.subject !== undefined, {
    path: ["include_alts"],
    message: say("cases.name-the-subject-whose-accounts-are-meant"),
  })
  .meta({ id: "ListCasesQuery" });
export type ListCasesQuery = z.input<typeof ListCasesQuery>;

const person = z.string().nullable();
const when = Timestamp.nullable();

export const CaseLinkView = z
  .object({
    id: z.string(),
    rel: z.enum(linkRels),
    kind: z.enum(linkKinds),
    target_id: z.string(),
    reference: z.string().meta({ example: "CASE-000007" }),
    created_by: person,
    created_at: Timestamp,
  })
  .meta({ id: "CaseLink" });
export type CaseLinkView = z.infer<typeof CaseLinkView>;

const Suggestion = z
  .object({ reference: z.string(), type: z.string(), status: z.string() })
  .meta({ id: "CaseSuggestion", description: "An open request about one of the subjects, offered for linking" });
export type Suggestion = z.infer<typeof Suggestion>;

const count = z.int().nonnegative();

export const CaseView = z
  .object({
    id: z.string(),
    number: z.string().meta({ example: "CASE-000123" }),
    type,
    title: z.string(),
    status: z.enum(caseStatuses),
    priority,
    subjects: z.array(
      z.object({
        kind: z.enum(["user", "server"]),
        id: Snowflake,
        name_snapshot: z.string().nullable().meta({ description: "Its name when the case named it" }),
        name_current: z.string().nullable().meta({ description: "Its name now, where it is known" }),
      }),
    ),
    opened_by: person,
    lead: person,
    team: z.array(z.string()),
    confidential: z.boolean(),
    labels: z.array(z.string()),
    policies: z.array(z.string()),
    origin_reference: z.string().nullable(),
    links: z.array(CaseLinkView).meta({ description: "Those the caller may know of" }),
    outcome: z.string().nullable(),
    outcome_reason: z.string().nullable(),
    closed_by: person,
    closed_at: when,
    due_at: when,
    overdue: z.boolean(),
    retention_until: when,
    deleted_at: when,
    deleted_by: person,
    notes_count: count,
    evidence_count: count,
    actions_count: count,
    points_in_force: count.meta({ description: "Points of its actions that are neither voided nor past their end" }),
    suggestions: z.array(Suggestion).optional().meta({ description: "Only in the answer to opening" }),
    revision: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp.meta({ description: "Also when something was added to it, which leaves the revision alone" }),
  })
  .meta({ id: "Case" });
export type CaseView = z.infer<typeof CaseView>;

/** The fields of a case that a template can fill. */
export const templateFields = { title: Title, type, labels: Labels, priority, policies: Policies };
