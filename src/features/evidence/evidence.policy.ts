import type { PermissionKey } from "../../kernel/permissions.ts";
import { can, type Call } from "../../kernel/call.ts";
import type { HostKind } from "./hosts.ts";

/** What the service methods need, besides that the caller may know of the record. */
export const evidencePolicy = { add: "evidence.add", read: "evidence.read", redact: "evidence.redact" } as const;

/** What reading, and making, confidential evidence of each kind of record needs. */
export const confidentialPermission: Readonly<Record<HostKind, PermissionKey>> = {
  case: "cases.confidential",
  blacklist: "blacklist.read_confidential",
  request: "cases.confidential",
};

/** What each kind of record is called in the audit. */
export const auditKinds: Readonly<Record<HostKind, string>> = { case: "case", blacklist: "blacklist", request: "workflow" };

export function readsConfidential(call: Call, kind: HostKind): boolean {
  return can(call, confidentialPermission[kind]);
}
