import type { Route } from "../../http/route.ts";
import { route } from "../../http/route.ts";
import { AuditVerification, AuditView, ListAuditQuery } from "./audit.schema.ts";
import type { AuditService } from "./audit.service.ts";

export function auditRoutes(audit: AuditService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/audit",
        operationId: "listAudit",
        tags: ["audit"],
        summary: "List audit entries, newest first",
        access: { permission: "audit.read" },
        request: { query: ListAuditQuery },
        success: { status: 200, shape: "list", schema: AuditView, description: "A page of entries" },
        refusals: ["invalid_cursor", "unknown_parameter"],
      },
      ({ call, query }) => audit.list(call, query),
    ),
    route(
      {
        method: "get",
        path: "/audit/verify",
        operationId: "verifyAudit",
        tags: ["audit"],
        summary: "Verify the hash chain of the audit",
        description: "Walks every entry. `ok: false` names the first entry that was changed, removed, inserted or moved.",
        access: { permission: "audit.read" },
        success: {
          status: 200,
          shape: "single",
          schema: AuditVerification,
          description: "The state of the chain",
          example: { ok: true, entries: 200_000, checkpoints: 0 },
        },
      },
      ({ call }) => audit.verify(call),
    ),
  ];
}
