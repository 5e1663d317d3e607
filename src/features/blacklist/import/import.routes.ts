import { z } from "zod";
import { routesFor, type Route } from "../../../operations/route.ts";
import type { BlacklistTransfer } from "./import.service.ts";
import { BlacklistImport, ExportBlacklistQuery, ImportBlacklistBody, ImportBlacklistQuery, maxBytes } from "./import.schema.ts";

/** What each format is on the wire. */
const exportTypes = { csv: "text/csv", ndjson: "application/x-ndjson" } as const;

const { get, post } = routesFor("blacklist");

/** HTTP routes that import and export records in bulk. */
export function blacklistTransferRoutes(transfer: BlacklistTransfer): Route[] {
  return [
    post("/blacklist/import", "importBlacklist", {
      summary: "Import up to 5,000 records",
      description:
        "Every line is checked on its own: wrong ones are named, right ones go in. An import that is repeated finds its records there and changes nothing. More records, and larger files, go through `provost blacklist import`.",
      access: { permission: "blacklist.import" },
      request: {
        query: ImportBlacklistQuery,
        body: ImportBlacklistBody,
        bodyLimit: maxBytes,
        byLine: ["records", "csv"],
        textBody: { type: "text/csv", field: "csv" },
        example: { records: [{ kind: "user", subject_id: "80351110224678912", category: "raid", severity: "high" }] },
      },
      success: { status: 200, shape: "single", schema: BlacklistImport, description: "What became of each line" },
      refusals: ["unknown_parameter"],
      handle: ({ call, query, body }) => transfer.import(call, query, body),
    }),
    get("/blacklist/export", "exportBlacklist", {
      summary: "Download records as CSV or NDJSON",
      description:
        "In the form in which an import reads them again. Confidential columns are there for holders of `blacklist.read_confidential`.",
      access: { permission: "blacklist.export" },
      limit: "export",
      request: { query: ExportBlacklistQuery },
      success: {
        status: 200,
        shape: "raw",
        mediaType: Object.values(exportTypes),
        schema: z.string(),
        description: "The records in the order of their numbers",
        example: "number,status,kind,subject_id\nBL-000123,active,user,80351110224678912\n",
      },
      refusals: ["unknown_parameter"],
      handle: async ({ call, query }) => {
        const { body, format } = await transfer.export(call, query);
        return { type: exportTypes[format], body, headers: { "Content-Disposition": `attachment; filename="blacklist.${format}"` } };
      },
    }),
  ];
}
