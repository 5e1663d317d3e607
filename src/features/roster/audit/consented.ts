import type { ConsentEnd } from "../../authorization/grants/consent-end.ts";
import type { AuditCode } from "./audit.schema.ts";

/** Findings that rest on what a person let the service read. */
const consentedCodes: AuditCode[] = ["open_match_on_staff", "stale_authorization"];

/** What audits of the roster found in what a person shared goes with their consent. */
export const dropConsentedFindings: ConsentEnd = async ({ db }, { userId, before }) => {
  const audit = { startedAt: before === undefined ? {} : { lte: before } };
  await db.rosterFinding.deleteMany({ where: { userId, code: { in: consentedCodes }, audit } });
};
