import { z } from "zod";
import { workflowKinds } from "../../../kernel/vocabulary.ts";
import { Policy } from "../policies/policies.ts";
import { actions } from "../state/table.ts";
import { filingRights, readPermission } from "../requests/workflows.policy.ts";

/** Anyone who may read requests or file one kind of them. */
export const typesAccess = { permission: readPermission, either: filingRights } as const;

const JsonSchema = z.record(z.string(), z.unknown());
const texts = z.record(z.string(), z.string());

export const TypeView = z
  .object({
    type: z.enum(workflowKinds),
    path: z.string().meta({ description: "Where requests of the kind are filed", example: "/workflows/blacklist-user" }),
    prefix: z.string().meta({ description: "What references begin with", example: "BLU" }),
    title: z.string().meta({ example: "Blacklist a user" }),
    summary: z.string(),
    payload: JsonSchema.meta({ description: "JSON Schema of the payload, as it is filed" }),
    aliases: texts.meta({ description: "Other names clients may use, each with the payload's own; camelCase is understood besides" }),
    assumed: z.array(z.string()).meta({ description: "Needed fields that are taken from others when they are left out" }),
    permissions: z.object({ create: z.string(), decide: z.string(), reverse: z.string() }),
    may: z
      .object({ create: z.boolean(), decide: z.boolean(), reverse: z.boolean() })
      .meta({ description: "Whether the caller holds them; a conflict of interest or a rank can still forbid a single decision" }),
    policy: Policy,
    effects: z
      .array(z.object({ key: z.string(), detail: z.string() }))
      .meta({ description: "What an approval of the example does; other payloads can have others, which their filing answers" }),
    decisions: z
      .record(z.string(), z.enum(actions))
      .meta({ description: "The words a decision understands, each with the action it stands for" }),
    example: JsonSchema.meta({ description: "A payload that can be filed" }),
  })
  .meta({ id: "WorkflowType", description: "All that sets one kind of request apart" });
export type TypeView = z.infer<typeof TypeView>;

export const TypesView = z
  .object({
    types: z.array(TypeView),
    common: JsonSchema.meta({ description: "JSON Schema of what every kind takes beside its payload" }),
  })
  .meta({ id: "WorkflowTypes" });
export type TypesView = z.infer<typeof TypesView>;
