import { z } from "zod";
import { type WorkflowKind, workflowKinds } from "../../../kernel/vocabulary.ts";
import { altRequest } from "./alt-request.ts";
import { appeal } from "./appeal.ts";
import { blacklistServer } from "./blacklist-server.ts";
import { blacklistUser } from "./blacklist-user.ts";
import { investigation } from "./investigation.ts";
import { poach } from "./poach.ts";
import { punishment } from "./punishment.ts";
import { recruitment } from "./recruitment.ts";
import { serverMerge } from "./server-merge.ts";
import type { Kind } from "./kind.ts";

/** The kinds of request: all that sets one apart stands in its file. */
export const kinds: Readonly<Record<WorkflowKind, Kind>> = {
  "blacklist-server": blacklistServer,
  "blacklist-user": blacklistUser,
  investigation,
  recruitment,
  "server-merge": serverMerge,
  "alt-request": altRequest,
  punishment,
  poach,
  appeal,
};

/** The kind a path or an option names: hyphen or underscore, any case. */
export function kindOf(type: string): WorkflowKind | undefined {
  const name = type.toLowerCase().replaceAll("_", "-");
  return workflowKinds.find((known) => known === name);
}

/** The JSON Schema of what is sent, its own fields at the top and what they refer to in `$defs`. */
export function schemaAtTop(schema: z.ZodType): Record<string, unknown> {
  const { $ref = "", $defs = {}, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const name = $ref.split("/").at(-1) ?? "";
  const others = Object.fromEntries(Object.entries($defs).filter(([key]) => key !== name));
  return { ...rest, ...$defs[name], ...(Object.keys(others).length > 0 && { $defs: others }) };
}

/** The name of a kind as a part of other names: `BlacklistUser`. */
export function pascalCase(kind: WorkflowKind): string {
  return kind.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The operation that files a kind. */
export function filingOperation(kind: WorkflowKind): string {
  return `create${pascalCase(kind)}Request`;
}
