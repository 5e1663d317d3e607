import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { z } from "zod";
import type { Tx } from "../../../database/database.ts";
import type { CaseTemplate } from "../../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { fieldError, recordNotFound } from "../../../kernel/errors.ts";
import { Duration, listQuery, Timestamp } from "../../../kernel/fields.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import { casesPolicy } from "../cases.policy.ts";
import { templateFields } from "../cases.schema.ts";

export const TemplateKey = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, say("callsigns.write-1-40-lower-case-letters-digits"))
  .meta({ description: "The key of a template", example: "harassment-report" });

const content = {
  ...z.object(templateFields).partial().shape,
  due: Duration.optional().meta({ description: "How long after opening it is due" }),
  points: z.int().min(0).max(10).optional().meta({ description: "How many points an action usually has; offered, not set" }),
};
export const PutTemplateInput = z.strictObject(content).meta({ id: "PutCaseTemplateInput" });
export type PutTemplateInput = z.input<typeof PutTemplateInput>;
export const TemplateView = z
  .object({
    key: TemplateKey,
    ...content,
    updated_by: z.string().nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
    revision: z.int(),
  })
  .meta({ id: "CaseTemplate", description: "What cases of one sort begin with" });
export type TemplateView = z.infer<typeof TemplateView>;
export const TemplatesQuery = z.strictObject(listQuery).meta({ id: "CaseTemplatesQuery" });
export type TemplatesQuery = z.input<typeof TemplatesQuery>;

export type CaseTemplatesDeps = Deps<"database" | "audit" | "cursors">;

type Content = ReturnType<typeof PutTemplateInput.parse>;

/** What a template says. */
const contentOf = (row: CaseTemplate): Content => PutTemplateInput.parse(row.content);

/** What cases of one sort begin with. */
export function createCaseTemplates({ database, audit, cursors }: CaseTemplatesDeps) {
  async function loadForUpdate(tx: Tx, key: string, ifMatch: number | undefined): Promise<CaseTemplate | null> {
    await tx.lock("case_templates");
    const row = await tx.db.caseTemplate.findUnique({ where: { key } });
    requireRevision(ifMatch, row?.revision ?? null);
    return row;
  }

  function recordChange(tx: Tx, key: string, verb: "create" | "update" | "delete", change: { before?: object; after?: object }): void {
    audit.record(tx, {
      action: `case_template.${verb}`,
      target: { kind: "case_template", id: key },
      ...change,
      permission: casesPolicy.templates,
    });
  }

  return {
    /** Templates in the order of their keys. */
    async list(call: Call, query: TemplatesQuery): Promise<Page<TemplateView>> {
      requirePermission(call, casesPolicy.read);
      const { limit, cursor, count } = TemplatesQuery.parse(query);
      const after = cursor === undefined ? undefined : cursors.decode("case_templates", {}, cursor)[1];
      const rows = await database.read.caseTemplate.findMany({
        where: after === undefined ? {} : { key: { gt: after } },
        orderBy: { key: "asc" },
        take: limit + 1,
      });
      const page = toPage(rows, limit, presentTemplate, (last) => cursors.encode("case_templates", {}, [0, last.key]));
      return withTotal(page, { count }, () => database.read.caseTemplate.count());
    },

    /** @throws ProblemError record_not_found */
    async get(call: Call, key: string): Promise<TemplateView> {
      requirePermission(call, casesPolicy.read);
      const row = await database.read.caseTemplate.findUnique({ where: { key } });
      if (row === null) throw recordNotFound();
      return presentTemplate(row);
    },

    /** Create or replace a template. @throws ProblemError precondition_failed */
    async put(call: Call, key: string, given: PutTemplateInput, ifMatch?: number): Promise<TemplateView> {
      requireWrite(call, casesPolicy.templates);
      const input = PutTemplateInput.parse(given);
      return await database.write(call, async (tx) => {
        const before = await loadForUpdate(tx, key, ifMatch);
        const told = before === null ? undefined : contentOf(before);
        if (before !== null && JSON.stringify(told) === JSON.stringify(input)) return presentTemplate(before);
        const fields = { content: input, updatedBy: call.actor?.id ?? null, updatedAt: tx.now };
        const row =
          before === null
            ? await tx.db.caseTemplate.create({ data: { key, ...fields, createdAt: tx.now } })
            : await tx.db.caseTemplate.update({ where: { key }, data: { ...fields, revision: before.revision + 1 } });
        recordChange(tx, key, before === null ? "create" : "update", { ...(told !== undefined && { before: told }), after: input });
        return presentTemplate(row);
      });
    },

    /** Delete a template; cases opened from it stay as they are. @returns the template as it was @throws ProblemError record_not_found, precondition_failed */
    async remove(call: Call, key: string, ifMatch?: number): Promise<TemplateView> {
      requireWrite(call, casesPolicy.templates);
      return await database.write(call, async (tx) => {
        const before = await loadForUpdate(tx, key, ifMatch);
        if (before === null) throw recordNotFound();
        await tx.db.caseTemplate.delete({ where: { key } });
        recordChange(tx, key, "delete", { before: contentOf(before) });
        return presentTemplate(before);
      });
    },
  };
}

/** What a named template fills. @throws ProblemError validation_failed for one that is not there */
export async function filledBy(tx: Tx, key: string | undefined): Promise<Content> {
  if (key === undefined) return {};
  const row = await tx.db.caseTemplate.findUnique({ where: { key } });
  if (row === null) throw fieldError("/template", "unknown_template", say("cases.there-is-no-such-template"));
  return contentOf(row);
}

function presentTemplate(row: CaseTemplate): TemplateView {
  return {
    key: row.key,
    ...contentOf(row),
    updated_by: row.updatedBy,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    revision: row.revision,
  };
}
