import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { GuildPreview } from "../../../kernel/guild-preview.ts";
import { Snowflake, ToldMessage } from "../../../kernel/fields.ts";
import { CreateBlacklistInput, ListBlacklistQuery } from "../blacklist.schema.ts";

/** Records of one request; more go through the command line. */
export const maxRecords = 5000;
/** Bytes of one request. */
export const maxBytes = 4 * 1024 * 1024;

export const importModes = ["skip", "merge", "replace"] as const;
export type ImportMode = (typeof importModes)[number];

/** What an export says of a record that an import leaves unread. */
export const infoFields = ["number", "status", "created_at", "updated_at"] as const;

/** Evidence as records that came from requests have it, too. */
const Evidence = z.strictObject({
  ...CreateBlacklistInput.shape.evidence.unwrap().element.shape,
  message: ToldMessage.optional(),
});

/** One record to be imported: what creating one takes, with room for records that grew by merging. */
export const ImportRecord = CreateBlacklistInput.safeExtend({
  server_ids: z.array(Snowflake).max(1000).optional(),
  evidence: z.array(Evidence).max(50).optional(),
});
export type ImportRecord = z.input<typeof ImportRecord>;

export const ImportBlacklistQuery = z.strictObject({
  dry_run: z.enum(["true", "false"]).default("false").meta({ description: "`true` tells what would happen and writes nothing" }),
  mode: z.enum(importModes).default("skip").meta({
    description:
      "What becomes of a line whose subject has an active record in its scope already: `skip` leaves the record as it is, `merge` strengthens it, `replace` puts a new record in its place",
  }),
});
export type ImportBlacklistQuery = z.input<typeof ImportBlacklistQuery>;

export const ImportBlacklistBody = z
  .strictObject({
    records: z
      .array(z.unknown().meta({ description: "A record as POST /blacklist takes it; what is none is refused by itself" }))
      .min(1)
      .max(maxRecords, say("blacklist.at-most-records-go-into-one-request", { most: maxRecords }))
      .optional()
      .meta({ description: "Records; each is checked on its own" }),
    csv: z.string().min(1).optional().meta({ description: "The same as CSV; a body of type text/csv is this text alone" }),
  })
  .refine(({ records, csv }) => (records === undefined) !== (csv === undefined), {
    path: ["records"],
    message: say("blacklist.send-records-or-csv"),
  })
  .meta({ id: "ImportBlacklistInput" });
export type ImportBlacklistBody = z.input<typeof ImportBlacklistBody>;

export const outcomes = ["created", "merged", "replaced", "skipped", "unchanged", "refused", "failed"] as const;
export type ImportOutcome = (typeof outcomes)[number];

const LineErrorView = z.object({
  pointer: z.string().meta({ description: "The field, such as `/severity`; empty for the line as a whole" }),
  code: z.string(),
  detail: z.string(),
  value: z.string().optional().meta({ description: "What stands there, cut to 100 characters", example: "1.23E+17" }),
});

export const ImportedLine = z
  .object({
    line: z.int().meta({ description: "Of CSV: the line of the text, its header being 1. Of JSON: the place in the list, from 1" }),
    outcome: z.enum(outcomes),
    number: z.string().optional().meta({ description: "The record that was made, changed or met", example: "BL-000123" }),
    subject_id: z.string().optional(),
    errors: z.array(LineErrorView).optional(),
  })
  .meta({ id: "ImportedBlacklistLine" });
export type ImportedLine = z.infer<typeof ImportedLine>;

const count = z.int().min(0);
export const ImportCounts = z
  .object({
    created: count,
    merged: count,
    replaced: count,
    skipped: count,
    unchanged: count,
    refused: count,
    failed: count,
  } satisfies Record<ImportOutcome, z.ZodType>)
  .meta({ id: "BlacklistImportCounts" });
export type ImportCounts = z.infer<typeof ImportCounts>;

export const BlacklistImport = z
  .object({
    dry_run: z.boolean(),
    mode: z.enum(importModes),
    lines: count,
    counts: ImportCounts,
    results: z.array(ImportedLine).meta({ description: "What became of each line, in their order" }),
    results_complete: z.boolean().meta({
      description:
        "false when a repeated Idempotency-Key is answered and the results were too many to be kept: the counts stand alone then",
    }),
    guilds: z
      .array(GuildPreview)
      .optional()
      .meta({ description: "Of a dry run: what each server would do about those of its members whom the import lists" }),
  })
  .meta({ id: "BlacklistImport" });
export type BlacklistImport = z.infer<typeof BlacklistImport>;

export const ExportBlacklistQuery = z
  .strictObject({
    format: z.enum(["csv", "ndjson"]).default("csv"),
    ...ListBlacklistQuery.omit({ limit: true, cursor: true, count: true }).shape,
  })
  .meta({ id: "ExportBlacklistQuery" });
export type ExportBlacklistQuery = z.input<typeof ExportBlacklistQuery>;
