import { inJson } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import { Readable } from "node:stream";
import { stringify } from "csv-stringify/sync";
import type { BlacklistRecord, Prisma } from "../../generated/sqlite/client.ts";
import { can, requirePermission, type Call } from "../../kernel/call.ts";
import type { AuditService } from "../audit/audit.service.ts";
import { cellsFor, columns } from "./cells.ts";
import { conditions } from "./filters.ts";
import { ExportBlacklistQuery, infoFields } from "./import/import.schema.ts";
import { presentRecord, recordsFor } from "./blacklist.policy.ts";
import type { BlacklistView } from "./blacklist.schema.ts";
import { searchCondition } from "./search.ts";

/** A file on its way. */
export interface BlacklistExport {
  body: Readable;
  format: "csv" | "ndjson";
}

export interface ExportDeps extends Deps<"database" | "clock"> {
  audit: AuditService;
}

/** Spreadsheets take a file for UTF-8 by it. */
const mark = "\uFEFF";
const slice = 500;
const none: ReadonlyMap<string, number> = new Map();

export function createExport({ database, audit, clock }: ExportDeps) {
  const { read } = database;

  async function* slices(where: Prisma.BlacklistRecordWhereInput, last: number): AsyncGenerator<BlacklistRecord[]> {
    for (let after = 0; ;) {
      const rows = await read.blacklistRecord.findMany({
        where: { AND: [where, { number: { gt: after, lte: last } }] },
        orderBy: { number: "asc" },
        take: slice,
      });
      if (rows.length > 0) yield rows;
      if (rows.length < slice) return;
      after = rows.at(-1)?.number ?? after;
    }
  }

  return {
    /**
     * The records that fit the filters, in the order of their numbers, as an import reads them again. The audit knows of it before
     * the first byte leaves.
     * @throws ProblemError permission_denied
     */
    async export(call: Call, query: ExportBlacklistQuery): Promise<BlacklistExport> {
      requirePermission(call, "blacklist.export");
      const { format, ...filters } = ExportBlacklistQuery.parse(query);
      const readsConfidential = can(call, "blacklist.read_confidential");
      const search = filters.q === undefined ? undefined : await searchCondition(read, { q: filters.q, readsConfidential });
      const now = clock.now();
      const where = conditions({ filters, now, search }, "list");
      const { _max, _count } = await read.blacklistRecord.aggregate({ where, _max: { number: true }, _count: true });
      await database.write(call, async (tx) => {
        audit.record(tx, { action: "blacklist.export", after: { format, filters, count: _count }, permission: "blacklist.export" });
      });
      const names = exportedNames(readsConfidential);
      const textOf = format === "csv" ? csvOf : ndjsonOf;

      async function* text(): AsyncGenerator<string> {
        if (format === "csv") yield mark + csvText([names]);
        for await (const rows of slices(where, _max.number ?? 0)) {
          const visible = recordsFor(call);
          yield textOf(
            rows.map((row) => exportedRecord(visible(presentRecord(row, now, none)), names)),
            names,
          );
        }
      }
      // One slice is made ahead of the reader at most.
      return { format, body: Readable.from(text(), { highWaterMark: 1 }) };
    },
  };
}

const confidential: ReadonlySet<string> = new Set(["reason_internal", "exempt_user_ids"]);

function exportedNames(readsConfidential: boolean): string[] {
  const [number, status, ...times] = infoFields;
  const told = Object.keys(columns).filter((name) => name !== "duration" && (readsConfidential || !confidential.has(name)));
  return [number, status, ...told, ...times];
}

/** A record in the words in which it is imported. What is not said is what an import takes it for. */
function exportedRecord(view: BlacklistView, names: readonly string[]): Record<string, unknown> {
  const grace = view.grace_period_seconds === null ? null : `PT${view.grace_period_seconds.toString()}S`;
  const told: Record<string, unknown> = {
    ...view,
    subject_name: view.subject_snapshot?.name,
    reason_public: view.reason_public ?? undefined,
    reason_internal: view.reason_internal ?? undefined,
    expires_at: view.expires_at ?? undefined,
    member_policy: view.kind === "server" ? view.member_policy : undefined,
    grace_period: view.kind === "server" ? grace : undefined,
  };
  return withoutEmpty(Object.fromEntries(names.map((name) => [name, told[name]])));
}

function withoutEmpty(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );
}

function csvOf(records: readonly Record<string, unknown>[], names: readonly string[]): string {
  return csvText(records.map((record) => cellsFor(record, names)));
}

function csvText(rows: readonly (readonly string[])[]): string {
  return stringify(
    rows.map((row) => [...row]),
    { quoted_string: true, quoted_empty: false },
  );
}

function ndjsonOf(records: readonly Record<string, unknown>[]): string {
  return records.map((record) => `${inJson(record)}\n`).join("");
}
