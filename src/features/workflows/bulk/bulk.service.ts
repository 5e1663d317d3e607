import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { z } from "zod";
import { requireWrite, type Call } from "../../../kernel/call.ts";
import { callerOf, isDenial, requiredBy } from "../../../kernel/denied.ts";
import { ProblemError, recordNotFound, validationProblem } from "../../../kernel/errors.ts";
import { fieldErrors } from "../../../kernel/validation.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import { BulkBody, type BulkAnswer, type BulkResult } from "./bulk.schema.ts";
import type { Acting } from "../requests/act.ts";
import { understandDecision } from "../requests/decision.ts";
import { kindOf, kinds } from "../kinds/kinds.ts";
import { canSee, viewerOf } from "../requests/workflows.policy.ts";
import { visibleDecision } from "../requests/visibility.ts";

export interface BulkDeps extends Deps<"database" | "reach"> {
  audit: Pick<AuditService, "noteDenied">;
  decide: Acting["decide"];
}

const permission = "workflows.bulk";

/** One request of many, with its own decision. */
interface Item {
  asked: string;
  type: string | undefined;
  body: Record<string, unknown>;
  /** Where it stands in the body. */
  place: (string | number)[];
}

interface Found {
  id: string;
  type: WorkflowKind;
}

/** Decisions about many requests, one after the other: each has its own transaction and its own result. */
export function createBulk({ database, audit, reach, decide }: BulkDeps) {
  /** The requests that are named and that the caller may see, by the name that was used. */
  async function find(call: Call, items: readonly Item[]): Promise<Map<string, Found>> {
    const ids = items.map(({ asked }) => asked.toLowerCase());
    const references = items.map(({ asked }) => asked.toUpperCase());
    const rows = await database.read.workflowRequest.findMany({
      where: { OR: [{ id: { in: ids } }, { reference: { in: references } }] },
      select: { id: true, reference: true, type: true, requesterId: true, subjects: true },
    });
    const viewer = await viewerOf(database.read, reach, call);
    const visible = rows.filter((row) => canSee(viewer, row));
    return new Map(
      visible.flatMap(({ id, reference, type }) => [id, reference.toLowerCase()].map((name) => [name, { id, type: type as WorkflowKind }])),
    );
  }

  async function decideOne(call: Call, { asked, type, body }: Item, found: Found | undefined, isDryRun: boolean): Promise<BulkResult> {
    try {
      if (found === undefined || (type !== undefined && kindOf(type) !== found.type)) throw recordNotFound();
      const input = understandDecision(kinds[found.type], body);
      // The answer to all of them is kept with the key, not the answer to one.
      const answer = await decide({ ...call, idempotency: null, replayed: false }, found.type, found.id, input, { isDryRun });
      return {
        asked,
        ok: answer.blockers === undefined || answer.blockers.length === 0,
        id: answer.id,
        reference: answer.reference,
        status: answer.status,
        answer,
      };
    } catch (error) {
      const problem = error instanceof z.ZodError ? validationProblem(fieldErrors(error.issues, "body")) : error;
      if (!(problem instanceof ProblemError)) throw error;
      noteDenied(call, asked, problem);
      return { asked, ok: false, problem: presentProblem(problem) };
    }
  }

  /** The transport sees only refusals of the whole. */
  function noteDenied(call: Call, asked: string, problem: ProblemError): void {
    if (!isDenial(problem)) return;
    const action = requiredBy(problem) ?? "decideWorkflows";
    audit.noteDenied({ caller: callerOf(call), action, code: problem.code, target: { kind: "workflow", id: asked }, isAboutRecord: true });
  }

  return {
    /**
     * Decide about up to 100 requests. What is refused keeps nothing else from being done.
     * @throws ZodError, ProblemError permission_denied, acting_user_required, roster_stale, validation_failed, idempotency_key_reused
     */
    async decideMany(call: Call, given: unknown, { isDryRun = false }: { isDryRun?: boolean } = {}): Promise<BulkAnswer> {
      requireWrite(call, permission);
      if (call.actor === null)
        throw new ProblemError("acting_user_required", { detail: say("workflows.a-decision-is-a-persons-name-them") });
      const items = itemsOf(BulkBody.parse(given, { reportInput: true }));
      const replay = isDryRun ? undefined : await database.findReplay(call);
      if (replay !== undefined) return visible(call, replay.value as BulkAnswer, await find(call, items));
      const found = await find(call, items);
      refuseTwins(items, found);
      const results: BulkResult[] = [];
      for (const item of items) results.push(await decideOne(call, item, found.get(item.asked.toLowerCase()), isDryRun));
      const decided = results.filter(({ ok }) => ok).length;
      const answer: BulkAnswer = {
        success: true,
        decided,
        refused: results.length - decided,
        ...(isDryRun && { dry_run: true as const }),
        results,
      };
      if (!isDryRun && call.idempotency !== null) await database.write(call, () => Promise.resolve(answer));
      return visible(call, answer, found);
    },
  };
}

/** Every answer without what the caller may not see of it now. */
function visible(call: Call, { results, ...rest }: BulkAnswer, found: ReadonlyMap<string, Found>): BulkAnswer {
  const cut = results.map(({ answer, ...result }): BulkResult => {
    const type = found.get(result.asked.toLowerCase())?.type;
    return { ...result, ...(answer !== undefined && type !== undefined && { answer: visibleDecision(call, type, answer) }) };
  });
  return { ...rest, results: cut };
}

function itemsOf({ items, references = [], ...shared }: BulkBody): Item[] {
  if (items !== undefined) return items.map(({ id, type, ...body }, index) => ({ asked: id, type, body, place: ["items", index, "id"] }));
  return references.map((asked, index) => ({ asked, type: undefined, body: shared, place: ["references", index] }));
}

/** A request that stands twice would be decided twice in one go. @throws ZodError */
function refuseTwins(items: readonly Item[], found: ReadonlyMap<string, Found>): void {
  const names = items.map(({ asked }) => found.get(asked.toLowerCase())?.id ?? asked.toLowerCase());
  const twins = items.filter((_, index) => names.indexOf(names[index] ?? "") !== index);
  if (twins.length === 0) return;
  throw new z.ZodError(
    twins.map(({ place }) => ({
      code: "custom",
      path: place,
      message: "This request stands twice.",
      params: { code: "duplicate" },
      input: undefined,
    })),
  );
}

function presentProblem({ code, status, message, errors }: ProblemError): NonNullable<BulkResult["problem"]> {
  const wrong = errors?.map(({ pointer, code: fault, detail }) => ({ pointer, code: fault, detail }));
  return { code, status, detail: message, ...(wrong !== undefined && { errors: wrong }) };
}
