import { schemaAtTop, kinds } from "../kinds/kinds.ts";
import type { Database } from "../../../database/database.ts";
import { can, requirePermission, type Call } from "../../../kernel/call.ts";
import { workflowKinds, type WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { Effects } from "../effects/effects.ts";
import { defaultPolicy, policiesOf, type Policy } from "../policies/policies.ts";
import type { TypesView, TypeView } from "./types.schema.ts";
import { wordsFor } from "../requests/decision.ts";
import { CommonFields } from "../requests/fields.ts";
import { filingRights, readPermission } from "../requests/workflows.policy.ts";

export interface TypesDeps {
  database: Database;
  effects: Pick<Effects, "preview">;
  /** Gives every kind this one prefix. */
  referencePrefix: string | null | undefined;
}

/** The kinds of request, described for clients that know none of them. */
export function createTypes({ database, effects, referencePrefix }: TypesDeps) {
  const schemas = new Map<WorkflowKind | "common", Record<string, unknown>>();

  function schemaOf(name: WorkflowKind | "common"): Record<string, unknown> {
    const known = schemas.get(name);
    if (known !== undefined) return known;
    const schema = name === "common" ? CommonFields : kinds[name].payload;
    const examples = name === "common" ? {} : { examples: [kinds[name].example] };
    const made: Record<string, unknown> = { ...schemaAtTop(schema), ...examples };
    if (name !== "common") made["required"] = neededOf(name, made["required"]);
    schemas.set(name, made);
    return made;
  }

  function present(call: Call, type: WorkflowKind, policy: Policy): TypeView {
    const { label, summary, aliases, assumed = {}, payload, example, filedForOneself } = kinds[type];
    const permissions = {
      create: `workflows.${type}.create`,
      decide: `workflows.${type}.decide`,
      reverse: `workflows.${type}.reverse`,
    } as const;
    const own = filedForOneself === undefined ? undefined : call.actor?.id;
    return {
      type,
      path: `/workflows/${type}`,
      prefix: referencePrefix ?? policy.prefix,
      title: label,
      summary,
      payload: schemaOf(type),
      aliases: { ...aliases },
      assumed: Object.keys(assumed),
      permissions,
      may: {
        create: can(call, permissions.create, { own }),
        decide: can(call, permissions.decide),
        reverse: can(call, permissions.reverse),
      },
      policy,
      effects: effects.preview(kinds[type], payload.parse(assumedFor(type))),
      decisions: wordsFor(kinds[type]),
      example: { ...example },
    };
  }

  return {
    /** Every kind, with what the caller may do about it. @throws ProblemError permission_denied */
    async list(call: Call): Promise<TypesView> {
      if (!filingRights.some((permission) => can(call, permission))) requirePermission(call, readPermission);
      const policies = await policiesOf(database.read, workflowKinds);
      return {
        types: workflowKinds.map((type) => present(call, type, policies.get(type) ?? defaultPolicy(type))),
        common: schemaOf("common"),
      };
    },
  };
}

/** Needed fields without those that are assumed whatever else is sent. */
function neededOf(type: WorkflowKind, required: unknown): string[] {
  const { assumed = {} } = kinds[type];
  return ((required as string[] | undefined) ?? []).filter((field) => assumed[field]?.({}) === undefined);
}

/** The example of a kind with what would be assumed of it. */
function assumedFor(type: WorkflowKind): Record<string, unknown> {
  const { assumed = {}, example } = kinds[type];
  const sent: Record<string, unknown> = { ...example };
  const guesses = Object.entries(assumed).map(([field, guess]) => [field, sent[field] ?? guess(sent)] as const);
  return { ...sent, ...Object.fromEntries(guesses) };
}
