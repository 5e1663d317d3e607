import { ProblemError } from "../kernel/errors.ts";
import { header, type RequestInfo } from "./context.ts";

/**
 * Refuse a page of another site: by a name that leads to this machine (DNS rebinding) it could speak to a service that only this machine
 * reaches. Programs send no `Origin`.
 * @throws ProblemError permission_denied
 */
export function requireOwnOrigin(request: RequestInfo, ownAddress: string): void {
  const origin = header(request, "origin");
  if (origin === undefined || origin === new URL(ownAddress).origin) return;
  throw new ProblemError("permission_denied", { detail: "Pages of other sites may not call this address.", extra: { origin } });
}
