import { say } from "../../../kit/say.ts";
import type { RequestChanges, Request } from "../requests/workflows.policy.ts";
import { urgencyFactor } from "../requests/timers.ts";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { text } from "../../../kernel/fields.ts";
import type { Policy } from "../policies/policies.ts";
import type { Context } from "../state/transition.ts";
import { amendPermission } from "../state/table.ts";
import { priorities } from "../requests/fields.ts";
import { nameOf } from "../requests/intake-names.ts";
import type { Kind } from "../kinds/kind.ts";

/** What only describes a request: no vote lapses when it changes. */
const described = {
  title: text(3, 120).optional(),
  summary: text(0, 2000).optional(),
  priority: z.enum(priorities).optional().meta({ description: "Staff with workflows.review" }),
  urgent: z.boolean().optional().meta({ description: "Divides the time limits by four; staff with workflows.review" }),
  external_id: text(1, 200).nullable().optional().meta({ description: "The client's own id of this request; null: none" }),
  related: z.array(text(1, 100)).max(20).optional().meta({ description: "References of related requests and records" }),
};
const Described = z.strictObject(described);
export type Described = z.output<typeof Described>;

export const AmendBody = z
  .object({
    ...described,
    payload: z.record(z.string(), z.unknown()).optional().meta({ description: "The fields of the kind that change; earlier votes lapse" }),
    reason_public: text(1, 1000).optional().meta({ description: "Why, shown to the requester; beside `payload` it may be called reason" }),
    reason_internal: text(1, 2000).optional().meta({ description: "Why, shown to deciders only" }),
  })
  .meta({ id: "WorkflowAmendBody" });

/** An amendment, understood as far as it goes without the request. */
export interface Amendment {
  described: Described;
  /** Under the names the client uses; undefined: the payload stays. */
  payload: Record<string, unknown> | undefined;
  /** Whether the fields of the payload stood beside the others. */
  isFlat: boolean;
  reasonPublic: string | null;
  reasonInternal: string | null;
}

const own = new Set(Object.keys(AmendBody.shape));

/**
 * Understand an amendment: the fields of the kind flat or in `payload`, in snake_case or camelCase.
 * @throws ZodError with paths as the client spelled them
 */
export function understandAmend(kind: Kind, body: unknown): Amendment {
  const given = z.record(z.string(), z.unknown()).parse(body, { reportInput: true });
  const isFlat = !Object.hasOwn(given, "payload");
  // Many kinds have a reason of their own: flat, the name is theirs.
  const meaning = (key: string): string => {
    const name = nameOf(key);
    return name === "reason" && !(isFlat && Object.hasOwn(kind.payload.shape, "reason")) ? "reason_public" : name;
  };
  const known = Object.entries(given).filter(([key]) => own.has(meaning(key)));
  const rest = Object.fromEntries(Object.entries(given).filter(([key]) => !own.has(meaning(key))));
  const spelled = new Map(known.map(([key]) => [meaning(key), key]));
  const parsed = AmendBody.safeParse(Object.fromEntries(known.map(([key, value]) => [meaning(key), value])), { reportInput: true });
  const issues = (parsed.error?.issues ?? []).map((issue) => ({
    ...issue,
    path: issue.path.map((step) => spelled.get(String(step)) ?? step),
  }));
  if (!isFlat) issues.push(...Object.keys(rest).map((key) => unknownField(key)));
  else if (Object.keys(given).length === 0) issues.push(refused([], "required", say("workflows.send-what-changes")));
  if (spelled.size < known.length) issues.push(refused([], "conflicting_fields", say("workflows.a-field-stands-twice")));
  if (!parsed.success || issues.length > 0) throw new z.ZodError(issues);
  const { payload, reason_public: shown = null, reason_internal: internal = null, ...fields } = parsed.data;
  const changes = isFlat ? rest : payload;
  const isEmpty = changes === undefined || Object.keys(changes).length === 0;
  if (isEmpty && Object.keys(fields).length === 0) throw new z.ZodError([refused([], "required", say("workflows.send-what-changes"))]);
  return { described: fields, payload: isEmpty ? undefined : changes, isFlat, reasonPublic: shown, reasonInternal: internal };
}

function unknownField(key: string): z.core.$ZodIssue {
  return refused([key], "unknown_field", say("workflows.beside-payload-only-what-describes-a-request"));
}

function refused(path: string[], code: string, message: string): z.core.$ZodIssue {
  return { code: "custom", path, message, params: { code }, input: undefined };
}

/** What an amendment writes besides the payload, and what it was before. */
export interface Redescribed {
  changes: RequestChanges;
  before: Record<string, unknown>;
}

/** The descriptive fields that differ. @param policy of the request's kind */
export function redescribe(request: Request, fields: Described, policy: Policy): Redescribed {
  const stands: Described & { external_id: string | null } = {
    title: request.title,
    summary: request.summary,
    priority: request.priority as Described["priority"],
    urgent: request.urgent,
    external_id: request.externalId,
    related: request.related as string[],
  };
  const names = (Object.keys(fields) as (keyof Described)[]).filter((name) => !isDeepStrictEqual(fields[name], stands[name]));
  const changes = names.map((name) => columns[name](fields, { request, policy }));
  return {
    changes: Object.assign({}, ...changes) as RequestChanges,
    before: Object.fromEntries(names.map((name) => [name, stands[name]])),
  };
}

type Column = (fields: Described, ground: { request: Request; policy: Policy }) => RequestChanges;

const columns: Readonly<Record<keyof Described, Column>> = {
  title: ({ title = "" }) => ({ title }),
  summary: ({ summary = "" }) => ({ summary }),
  priority: ({ priority = "normal" }) => ({ priority }),
  urgent: ({ urgent = false }, ground) => ({ urgent, ...hastened(ground.request, ground.policy, urgent) }),
  external_id: ({ external_id: externalId = null }) => ({ externalId }),
  related: ({ related = [] }) => ({ related }),
};

/** The time limits with or without haste: as from the beginning, and what a clock stood still in between is kept. */
function hastened({ dueFirstTouchAt, dueDecisionAt, createdAt }: Request, policy: Policy, isUrgent: boolean) {
  const spared = 1 - 1 / urgencyFactor;
  const moved = (at: Date | null, seconds: number): Date | null => {
    if (at === null) return null;
    const shifted = addSeconds(at, (isUrgent ? -1 : 1) * seconds * spared);
    return shifted < createdAt ? createdAt : shifted;
  };
  return {
    dueFirstTouchAt: moved(dueFirstTouchAt, policy.first_touch_seconds),
    dueDecisionAt: moved(dueDecisionAt, policy.decision_seconds),
  };
}

const forStaff = new Set(["priority", "urgent"]);
const review = "workflows.review";

/** Anyone who reviews sets how much haste there is; everything else is the requester's and of those who edit any request. */
export function amenderOf(context: Context, payload: unknown, fields: Described): Context {
  const isHasteOnly = payload === undefined && Object.keys(fields).every((name) => forStaff.has(name));
  const edit = amendPermission;
  return isHasteOnly
    ? { ...context, can: (permission) => context.can(permission) || (permission === edit && context.can(review)) }
    : context;
}

/** @throws ProblemError permission_denied for a requester who is not staff and sets the haste */
export function requireHaste({ can }: Context, fields: Described): void {
  if (!Object.keys(fields).some((name) => forStaff.has(name)) || can(review) || can(amendPermission)) return;
  const detail = say("workflows.priority-and-urgency-are-set-by-staff");
  throw new ProblemError("permission_denied", { detail, extra: { required: review, missing_in: "acting_user" } });
}
