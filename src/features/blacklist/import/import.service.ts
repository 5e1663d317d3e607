import { readCsv } from "../csv.ts";
import { linesOf } from "../import-lines.ts";
import { createExport, type ExportDeps } from "../export.ts";
import { createImport, type ImportDeps } from "./import.ts";
import { readJsonArray, readNdjson } from "../import-json.ts";

export type BlacklistTransfer = ReturnType<typeof createBlacklistTransfer>;

/** How the text of each format is read, piece by piece. CSV throws ProblemError validation_failed when its header is wrong. */
const readers = { csv: readCsv, json: readJsonArray, ndjson: readNdjson, plain: linesOf };

/** Records in bulk: in from files of others, and out again. */
export function createBlacklistTransfer(deps: ImportDeps & ExportDeps) {
  return { ...createImport(deps), ...createExport(deps), readers };
}
