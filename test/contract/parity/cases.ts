import { alts } from "./alts.ts";
import { audit } from "./audit.ts";
import { blacklistEvidence } from "./blacklist-evidence.ts";
import { blacklist } from "./blacklist.ts";
import { callsigns } from "./callsign.ts";
import { caseCases } from "./case-parts.ts";
import { confirmations } from "./confirm.ts";
import { intel } from "./intel.ts";
import { follows } from "./follows.ts";
import { permissions } from "./permission.ts";
import { authors, drafts } from "./request-authors.ts";
import { direct } from "./direct.ts";
import { filings } from "./request.ts";
import { reviews } from "./review-lists.ts";
import { roster } from "./roster.ts";
import type { Case } from "./scene.ts";
import { registered } from "./server.ts";
import { setup } from "./setup.ts";
import { staff } from "./staff.ts";
import { staffroles } from "./staffrole.ts";

/** Cases by what they are about; those of one list are done in their order, on two worlds of their own, as later ones build on earlier ones. */
export const cases: Readonly<Record<string, readonly Case[]>> = {
  "callsigns, the roster and the audit": [...callsigns, ...roster, ...audit],
  "the blacklist": blacklist,
  "lists of others": follows,
  "evidence of the blacklist": blacklistEvidence,
  "linked accounts": alts,
  cases: caseCases,
  "what people grant": intel,
  staff,
  "staff roles": staffroles,
  permissions,
  "the setup": setup,
  "moderation in one step": direct,
  "what is filed": filings,
  "what is decided": reviews,
  "what authors do": [...authors, ...drafts],
  "changes that are held": confirmations,
  "the register of servers and changed comments": registered,
};

/** Of lists that need it: the settings of their worlds. */
export const environments: Readonly<Record<string, Record<string, string>>> = {
  "changes that are held": { SECOND_PERSON_FOR_DANGER: "true" },
};

/** Commands that cannot be compared so, each with the reason. */
export const withoutCase: Readonly<Record<string, string>> = {
  help: "it runs no operation: it says which commands somebody may use",
  "setup backup": "it runs no operation: it only says what to do",
};
