import { routesFor, type Route } from "../../operations/route.ts";
import {
  AuditLines,
  AuditNotes,
  AuditVerification,
  AuditView,
  CheckpointView,
  ExportAuditQuery,
  ListAuditQuery,
  ListOwnAuditQuery,
  VerifyAuditQuery,
} from "./audit.schema.ts";
import type { AuditService } from "./audit.service.ts";

const { get } = routesFor("audit");

/** HTTP routes for the audit. */
export function auditRoutes(audit: AuditService): Route[] {
  return [...listRoutes(audit), ...proofRoutes(audit)];
}

function listRoutes(audit: AuditService): Route[] {
  return [
    get("/audit", "listAudit", {
      summary: "List audit entries, newest first",
      description:
        "Where several filters are combined and each finds many entries, and where callers without `cases.confidential` ask for actions of cases, requests or drafts, a page looks at 20,000 positions of the chain. It can then be shorter than `limit`, or empty, and `meta.examined_to` says how far it came; `page.next_cursor` goes on from there.",
      access: { permission: "audit.read" },
      request: { query: ListAuditQuery },
      success: { status: 200, shape: "list", schema: AuditView, notes: AuditNotes, description: "A page of entries" },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => audit.list(call, query),
    }),
    get("/audit/mine", "listOwnAudit", {
      summary: "List what the acting user did, newest first",
      description: "A key that acts for nobody sees what itself did. Pages end as those of `GET /audit` do.",
      access: { permission: "audit.read_own" },
      request: { query: ListOwnAuditQuery },
      success: { status: 200, shape: "list", schema: AuditView, notes: AuditNotes, description: "A page of entries" },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => audit.listOwn(call, query),
    }),
    get("/audit/export", "exportAudit", {
      summary: "Export the audit as lines of JSON, oldest first",
      description:
        "The first line says where the export is from and whether it is complete, the last one how many entries there are. A complete export can be verified without the database: `provost audit verify --file`.",
      access: { permission: "audit.export" },
      limit: "export",
      request: { query: ExportAuditQuery },
      success: { status: 200, shape: "raw", schema: AuditLines, mediaType: "application/x-ndjson", description: "The lines" },
      refusals: ["unknown_parameter"],
      handle: async ({ call, query }) => ({
        headers: { "Content-Disposition": 'attachment; filename="audit.ndjson"' },
        body: await audit.export(call, query),
      }),
    }),
  ];
}

function proofRoutes(audit: AuditService): Route[] {
  return [
    get("/audit/verify", "verifyAudit", {
      summary: "Verify the hash chain of the audit",
      description:
        "Walks every entry, or a part of the chain, and compares it with the signed positions. `ok: false` names the first entry that was changed, removed, inserted or moved.",
      access: { permission: "audit.read" },
      request: { query: VerifyAuditQuery },
      success: {
        status: 200,
        shape: "single",
        schema: AuditVerification,
        description: "The state of the chain",
        example: { ok: true, entries: 200_000, checkpoints: 200 },
      },
      refusals: ["unknown_parameter"],
      handle: ({ call, query }) => audit.verify(call, query),
    }),
    get("/audit/checkpoint", "getAuditCheckpoint", {
      summary: "Read the youngest signed position of the audit chain",
      description: "Keep it where nobody who can write the database can write: it proves later that the chain up to there is the same.",
      access: { permission: "audit.read" },
      success: { status: 200, shape: "single", schema: CheckpointView, description: "The position, and the key that proves it" },
      handle: ({ call }) => audit.checkpoint(call),
    }),
  ];
}
